"""What the parts of abbreviated names mean, as people who make databases shorten words.

Written by hand from conventions of naming that any data dictionary has; a part that means one thing here and another
there ("st", "min", "dr") stays as it is.
"""

from rag_core.text.identifiers import split_identifier

_MEANINGS = """
acct account | addr address | adj adjustment | alloc allocation | amt amount | appt appointment | arr arrival |
attr attribute | avail available | avg average | bal balance | bday birthday | bkg booking | bldg building |
brn branch | cat category | cd code | cert certificate | chg charge | chk check | cls class | cmt comment |
cncl cancelled | cnt count | cntct contact | cntry country | coord coordinate | corp corporation | cr credit |
ctg category | ctr center | ctry country | cur currency | curr current | cust customer | dep departure |
dept department | desc description | dest destination | diff difference | disc discount | div division | dlv delivery |
dlvr delivery | dob date of birth | doc document | dt date | dur duration | eff effective | emp employee |
equip equipment | est estimated | evt event | exp expiry | fac facility | flg flag | flr floor | flt flight |
fname first name | freq frequency | fst first | gov government | grp group | hdr header | hosp hospital | hr hour |
hrs hours | ht height | img image | ins insurance | inst institution | inv invoice | itm item | lang language |
lat latitude | lbl label | len length | lim limit | lmt limit | lname last name | lng longitude | loc location |
lon longitude | lst last | lvl level | maint maintenance | max maximum | mbr member | mfr manufacturer | mgr manager |
mkt market | mo month | msg message | msmt measurement | mth month | mthd method | mths months | mtg meeting |
nbr number | nm name | no number | num number | opp opportunity | ord order | org organization |
orig origin | pct percent | perf performance | ph phone | pkg package | pmt payment | pop population | pos position |
prc price | prd product | prev previous | prgm program | prio priority | proc procedure | prod product | proj project |
prov province | purch purchase | qty quantity | rcpt receipt | rcv received | ref reference | reg region |
rep representative | req requested | resv reservation | rev revenue | rgn region | rm room | rsn reason | rsv reserved |
rt rate | rte route | sal salary | sched schedule | seq sequence | sess session | shp shipping | shpmt shipment |
sls sales | spec specialty | src source | stat status | std standard | stk stock | sts status | subj subject |
subscr subscription | supp supplier | svc service | sys system | tel telephone | temp temperature | tkt ticket |
tm time | tot total | trans transaction | trn transaction | ts timestamp | txn transaction | typ type | unt unit |
upd updated | usr user | val value | veh vehicle | ver version | vol volume | wgt weight | wh warehouse |
whs warehouse | whse warehouse | wk week | wt weight | yr year | yrs years
"""
ABBREVIATIONS = {
    short: meaning.strip() for short, _, meaning in (x.strip().partition(" ") for x in _MEANINGS.split("|"))
}


def expand_identifier(name: str) -> str:
    """Return the words of a name as `split_identifier` does, abbreviations in full: "customer name" of "cust_nm"."""
    return expand_words(split_identifier(name))


def expand_words(words: str) -> str:
    """Return words with the abbreviations among them in full."""
    return " ".join(ABBREVIATIONS.get(word, word) for word in words.split())
