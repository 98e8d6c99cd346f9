"""Words that exclude each other in the same place of a sentence, and the strength of quantifiers and modal verbs.

Each line of the lists has two sides: a text with a word of one side, where another text has one of the other side, says
the opposite. Written by hand for the checking of claims; no part of it is taken from a lexicon.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from rag_core.text.normalization import parse_word_forms

Side = tuple[int, Literal[0, 1]]  # the line of a word and the side on which it stands

_OPPOSITIONS = """increase rise grow climb expand gain raise jump surge rose grew risen grown heighten boost | decrease
 fall drop decline shrink reduce lower fell cut diminish shrank lessen dwindle plunge plummet lose
higher | lower
upward up upwards | down downward downwards
more | less fewer
most | least fewest
morethan over above exceed exceeds beyond | lessthan under below
atleast minimum | atmost maximum upto
larger bigger greater | smaller lesser
largest biggest greatest highest most top | smallest lowest least
longer | shorter
longest | shortest
faster quicker | slower
fast quick rapid | slow
earlier sooner | later
early | late
earliest | latest
oldest older | newest newer youngest younger
first | last final
before prior precede preceding until ahead beforehand | after following follow subsequently afterwards since
preceded | followed succeeded
begin start commence launch open | end finish stop cease conclude terminate close halt
beginning | ending
began | ended
include included including covers covered contain | exclude excluded excluding omit
covered | uncovered excluded
with | without
allow permit authorize let enable approve permitted | prohibit forbid ban prevent disallow block bar disable
allowed | prohibited forbidden banned
approve accept agree | reject refuse deny decline disapprove
required mandatory compulsory obligatory | optional voluntary
always | never rarely seldom sometimes
usually often frequently commonly | rarely seldom never
all every | no none
everyone everybody | nobody
both | neither
internal internally inside indoor | external externally outside outdoor
public publicly | private privately secret
positive positively | negative negatively
able | unable
possible | impossible
likely | unlikely
legal lawful | illegal unlawful
safe | unsafe dangerous
correct right | incorrect wrong
true | false
same identical | different
equal | unequal
active | inactive passive
direct directly | indirect indirectly
permanent permanently | temporary temporarily
manual manually | automatic automatically
static | dynamic
synchronous | asynchronous
online | offline
open | closed
present | absent
strong stronger | weak weaker
strengthen improve enhance better | weaken worsen impair worse
improved better | worsened
best | worst
heavy heavier | light lighter
hot hotter warm | cold colder cool
wet | dry
high | low
rich | poor
near closer | far farther
north northern | south southern
east eastern | west western
left | right
upper | lower
front | rear back
top | bottom
add | remove delete subtract
encrypt | decrypt
connect attach | disconnect detach
buy purchase bought | sell sold
import | export
send sent | receive received
lend lent | borrow borrowed
win won victory beat | lose lost defeat loss
succeed success | fail failure failed
profit surplus | loss deficit
asset | liability
income revenue | expense expenditure cost
input | output
short | long
gain | loss
support supported favor | oppose opposed against
agree | disagree
enter join joined arrive | leave left exit depart
accelerate | slow
simple easy easier | complex difficult hard harder
cheap cheaper | expensive costly
free | paid
full | empty
major majority | minor minority
male men man boy | female women woman girl
parent | child
mother | father
son | daughter
brother | sister
husband | wife
employer | employee
buyer customer | seller vendor supplier
teacher | student
day daytime | night nighttime
morning | evening afternoon
summer | winter
spring | autumn
conscious | unconscious
voluntary | involuntary
intrinsic | extrinsic
dependent | independent
primary | secondary
subsonic | supersonic
laminar | turbulent
upstream | downstream
theoretical theoretically | experimental experimentally
horizontal | vertical
maximum | minimum
ascending | descending
acute | chronic
introvert introverted | extravert extroverted extrovert
aware | unaware
known | unknown
visible | invisible
alive living | dead
ally | enemy
war | peace
old | new
past | future
domestic | foreign
individual | group collective
on | off
same | opposite
within | beyond outside
rich wealthy | poor
in-network | out-of-network
retain keep kept | discard lose
hire hired | fire fired dismiss
encourage | discourage
promote | demote hinder
advantage benefit | disadvantage drawback
pass passed | fail failed
unanimous unanimously | split
sufficient enough adequate | insufficient inadequate
normal | abnormal
regular | irregular
complete | incomplete partial
formal | informal
exceed | miss"""

_QUANTIFIERS = {
    "all": "all every each always entire whole everyone everybody fully entirely completely universally throughout",
    "most": "most majority mostly largely mainly usually primarily predominantly generally",
    "some": "some several various many certain sometimes part partly few partially numerous occasionally minority",
    "only": "only solely exclusively merely alone sole just",
}
_MODALS = {
    "must": "must shall required mandatory compulsory obligatory require needs need obliged obligated requirement",
    "should": "should recommended ought encouraged advised recommend advise",
    "may": "may might could optional optionally possibly perhaps potentially voluntary",
}
_NEGATIONS = "not no never none nor neither nobody nothing without hardly nowhere"


def _generate_sides() -> Iterator[tuple[str, Side]]:
    for line, entry in enumerate(_OPPOSITIONS.replace("\n ", " ").splitlines()):
        left, right = entry.split("|")
        yield from ((form, (line, 0)) for form in parse_word_forms(left))
        yield from ((form, (line, 1)) for form in parse_word_forms(right))


def _group_sides() -> Mapping[str, tuple[Side, ...]]:
    sides: dict[str, list[Side]] = {}
    for form, side in _generate_sides():
        sides.setdefault(form, []).append(side)
    return {form: tuple(dict.fromkeys(found)) for form, found in sides.items()}


SIDES_BY_FORM: Mapping[str, tuple[Side, ...]] = _group_sides()
QUANTIFIER_BY_FORM: Mapping[str, str] = {
    form: name for name, words in _QUANTIFIERS.items() for form in parse_word_forms(words)
}
MODAL_BY_FORM: Mapping[str, str] = {form: name for name, words in _MODALS.items() for form in parse_word_forms(words)}
NEGATION_FORMS = parse_word_forms(_NEGATIONS)


def are_opposites(form: str, other: str) -> bool:
    """Return whether two normalized words stand on the two sides of a line."""
    others = SIDES_BY_FORM.get(other, ())
    return any((line, 1 - side) in others for line, side in SIDES_BY_FORM.get(form, ()))
