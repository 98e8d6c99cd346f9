"""Postal addresses of twelve locales: street, number, postcode and place in the order that each country writes them."""

import re
from collections.abc import Iterator
from functools import cache

from rag_core.core.model import PiiSpan

UPPER = "A-ZÀ-ÖØ-ÞĄĆĘŁŃŚŹŻ"
LOWER = r"[^\W\d_]"
WORD = rf"[{UPPER}]{LOWER}{{0,24}}(?:['’-]{LOWER}{{1,24}}){{0,2}}\.?"
PARTICLES = (
    "de|de la|de las|de los|del|du|des|la|le|les|l'|d'|di|dei|della|delle|degli|da|do|das|dos|of|the|van|von"
    "|der|den|dem|y|e|i|am|an|bei|im|in|sur|sous|en|lès|a|II|III"
)
NAME = (
    rf"(?:(?:{PARTICLES}) |[ld]'){{0,2}}{WORD}(?:[ -](?:(?:{PARTICLES})[ -]|[ld]'){{0,2}}(?:{WORD}"
    rf"|[IVX]{{1,4}}\b)){{0,4}}"
)
PLACE = rf"[{UPPER}]{LOWER}{{1,24}}\.?(?:[ -](?:(?:{PARTICLES})[ -])?[{UPPER}]{LOWER}{{0,24}}){{0,3}}"
NUMBER = (  # of a house: no length
    r"\d{1,5}(?: ?(?:bis|ter|quater|[A-Za-z])(?!\w|\. ?\d))?(?:[/-](?:\d{1,4}|[A-Za-z]{1,3}))?(?![\w%°]|[.,]\d)"
    r"(?!(?i: (?:k?m|[cm]m|meter|metern|metros|metri|mètres|metrów|kilom\w*)\b(?!\. ?\d)))"
)
SEPARATOR = r"(?:,? {1,2}|,?\n)"
US_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
ENGLISH_STREETS = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Way|Terrace|Highway|Hwy|Parkway|Pkwy|Crescent"
    "|Mews"
)
ENGLISH_WORDS = "Close|Gardens|Grove|Place|Pl|Square|Sq|Circle|Cir|Hill|Row|Walk|Marg|Nagar|Path"  # with a place only
UK_POSTCODE = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}(?!\w)"
ENGLISH_PLACE = (
    rf"(?:(?:{SEPARATOR}{PLACE}){{0,3}}?(?:{SEPARATOR}(?:{US_STATES}) \d{{5}}(?:-\d{{4}})?(?!\d)"
    rf"|{SEPARATOR}{UK_POSTCODE}|(?: - ?|[ -])\d{{6}}(?!\d))|, {{1,2}}{PLACE}(?=[.,;)\n]|\Z))"
)


def _end_word(endings: str) -> str:
    """Return a pattern of a capitalised word, or words joined by dashes, with one of the endings."""
    ending = "|".join(f"(?<={ending})" for ending in endings.split())
    return rf"[{UPPER}]{LOWER}{{2,24}}(?:-[{UPPER}]{LOWER}{{1,24}}){{0,3}}(?:{ending})"


HOUSE_NUMBER = r"\d{1,6}[A-Za-z]?(?:[/-]\d{1,4})?"
ENGLISH_NAME = rf",?(?: [NSEW]\.?)?(?: (?:[{UPPER}][\w'.-]{{1,24}}|\d{{1,3}}(?:st|nd|rd|th))){{1,4}}"
UNIT = r"(?:,? (?:Apt|Suite|Ste|Unit|Apartment|Flat|Floor|#)\.? ?#?\w{1,6})?"
GERMAN_STREET = (
    rf"(?:{_end_word('straße strasse str gasse allee weg stieg chaussee')}\.?"
    rf"|(?!(?:D[ie][er]s?e?|Das|Eine|Jede) ){WORD}[ -](?:Straße|Strasse|Str\.|Allee|Weg|Gasse))"
)
GERMAN_PLACE_NAME = (
    rf"(?:{_end_word('platz damm ufer ring markt hof graben tor')}|{WORD}[ -](?:Platz|Ring|Damm|Ufer|Markt|Hof)"
    rf"|(?:Am|An der|An den|Im|In der|Auf dem|Auf der|Zum|Zur|Unter den|Hinter der) {WORD}(?: {WORD})?)"
)
DUTCH_STREET = (
    rf"(?:(?:{WORD} ){{0,2}}{_end_word('straat laan plein kade gracht singel dijk steeg')}"
    rf"|(?:Laan|Plein|Kade|Singel|Dijk) (?:van|van de|van der|van den|van het|der|op) {WORD}(?: {WORD})?)"
)
DUTCH_PLACE_NAME = rf"(?:{WORD} ){{0,2}}{_end_word('hof dreef pad weg park baan markt')}"
SWEDISH_STREET = rf"(?:{WORD} )?{_end_word('gatan vägen stigen gränd torget allén backen gata')}"


def _start_word(pattern: str) -> str:
    return rf"(?<![\w-]){pattern}"


@cache
def compile_address_form(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when a text first needs it, for a quick cold start."""
    return re.compile(pattern)


CONTINENTAL_PLACE = (
    rf"(?:{SEPARATOR}(?:[A-Z]{{1,2}}-)?\d{{4,5}} {PLACE}(?: (?:Cedex(?: \d{{1,2}})?|[A-Z]{{2}})"
    r"| ?\([A-Z]{2}\))?(?!\w))"
)
# stems, one of which a text in lower case must have for its pattern to be tried
ADDRESS_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        tuple(f" {word.lower()}" for word in f"{ENGLISH_STREETS}|{ENGLISH_WORDS}".split("|")),
        _start_word(
            rf"(?:(?:Flat|Unit|Apt|Suite|H\.? ?No)\.? ?[\w/-]{{1,8}},? )?(?:[NSEW]\.? )?"
            rf"(?:\d{{2,6}}[A-Za-z]?{ENGLISH_NAME} (?:{ENGLISH_STREETS})\b\.?{UNIT}{ENGLISH_PLACE}?"
            rf"|{HOUSE_NUMBER}{ENGLISH_NAME} (?:{ENGLISH_STREETS}|{ENGLISH_WORDS})\b\.?{UNIT}{ENGLISH_PLACE})"
        ),
    ),
    (
        ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),  # up to three parts before a British postcode
        _start_word(rf"(?:[{UPPER}][\w'. -]{{2,40}}+, ){{1,3}}{PLACE} {UK_POSTCODE}"),
    ),
    (
        ("flat", "h.no", "h. no", "plot", "door no"),
        _start_word(
            r"(?:Flat|Plot|H\.? ?No\.?|Door No\.?)(?: No\.?)? ?[\w/-]{1,12}, "
            rf"(?:[{UPPER}][\w'. -]{{2,40}}+,? ){{0,4}}{PLACE}(?:,? |,? ?- ?)\d{{6}}(?!\d)"
        ),
    ),
    (
        ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),  # house and block before an Indian PIN code
        _start_word(
            rf"[A-Z]{{0,2}}-?\d{{1,4}}(?:/\d{{1,4}})?[A-Z]?, "
            rf"(?:[{UPPER}][\w'. -]{{2,40}}+, ){{1,3}}{PLACE}(?: - ?|[ -])\d{{6}}(?!\d)"
        ),
    ),
    (
        ("box", "postfach", "postbus", "apdo", "apartado", "casella", "caixa postal", "skr", "bp "),
        _start_word(
            r"(?:(?i:P\.? ?O\.? ?Box|Box|Postfach|Postbus|Apdo\.?(?: de Correos)?|Apartado(?: de Correos)?"
            r"|Casella Postale"
            rf"|Caixa Postal|skr\. ?poczt\.)|BP) \d{{1,6}}(?: \d{{2}}){{0,2}}(?!\w)"
            rf"(?:{SEPARATOR}\d{{2,5}}(?:[ -]\d{{2,3}})?(?: [A-Z]{{2}})? {PLACE}(?: Cedex| - [A-Z]{{2}})?"
            rf"|{SEPARATOR}{PLACE}, (?:{US_STATES}) \d{{5}})"
        ),
    ),
    (("p.o. box", "po box", "p o box", "p.o.box"), (r"(?i)\bP\.? ?O\.? ?Box \d{1,6}\b")),
    (
        (
            "str",
            "weg",
            "platz",
            "allee",
            "gasse",
            "ring",
            "damm",
            "ufer",
            "markt",
            "am ",
            "an de",
            "im ",
            "zu",
            "unter",
        ),
        _start_word(
            rf"(?:{GERMAN_STREET} {NUMBER}(?: ?- ?\d{{1,4}}[a-z]?)?{CONTINENTAL_PLACE}?"
            rf"|{GERMAN_PLACE_NAME} {NUMBER}(?: ?- ?\d{{1,4}}[a-z]?)?{CONTINENTAL_PLACE})"
        ),
    ),
    (
        (
            "rue ",
            "avenue",
            "av. ",
            "boulevard",
            "bd ",
            "place ",
            "chemin",
            "allée",
            "impasse",
            "quai",
            "cours ",
            "route ",
        ),
        _start_word(
            rf"(?:(?:Résidence|Résid\.|Bâtiment|Bât\.|Immeuble|Lotissement) [\w' -]{{1,30}}+, )?{NUMBER},? "
            r"(?:rue|avenue|av\.|boulevard|bd|place|chemin|allée|allées|impasse|quai|cours|route|square|passage"
            r"|sentier) "
            rf"{NAME}(?:{CONTINENTAL_PLACE})?"
        ),
    ),
    (
        ("calle", "c/", "avda", "av.", "avenida", "plaza", "pza", "paseo", "carrer", "camino", "ronda", "travesía"),
        _start_word(
            rf"(?:Calle|C/|Avda\.?|Av\.|Avenida|Plaza|Pza\.?|Paseo|Pº|Carrer|Camino|Ronda|Travesía|calle"
            rf"|avenida|plaza) ?{NAME},? "
            rf"(?:(?:nº|n\.º|núm\.?|no\.?) ?)?{NUMBER}(?:,? \d{{1,2}}\.?[ºª] ?\w{{0,4}})?{CONTINENTAL_PLACE}?"
        ),
    ),
    (
        ("via ", "viale", "piazza", "p.za", "corso", "largo", "vicolo", "strada", "c.so", "v.le"),
        _start_word(
            rf"(?:Via|Viale|Piazza|Piazzale|P\.za|Corso|Largo|Vicolo|Strada|C\.so|V\.le|(?<=in )via|viale"
            rf"|piazza|corso) {NAME},? "
            rf"(?:n\.? ?)?{NUMBER}{CONTINENTAL_PLACE}?"
        ),
    ),
    (
        ("rua ", "r. ", "av", "praça", "travessa", "alameda", "rodovia", "estrada", "largo"),
        _start_word(
            rf"(?:Rua|R\.(?= d[aeo]s? )|Avenida|Av\.|Praça|Travessa|Alameda|Rodovia|Estrada|Largo|rua|avenida"
            rf"|praça) {NAME},? (?:nº ?)?{NUMBER}"
            rf"(?:,? (?:apto?\.?|apartamento|bloco|sala|casa) ?\w{{1,6}}){{0,2}}"
            rf"(?:,? ?-? ?{PLACE}(?!\w| - ?[A-Z]{{2}}| d[aeo]s? )){{0,2}}"
            rf"(?:{SEPARATOR}\d{{5}}-\d{{3}} {PLACE}"
            rf"|{SEPARATOR}{PLACE})?(?: ?[-/] ?[A-Z]{{2}}(?!\w))?(?:,? \d{{5}}-?\d{{3}}(?!\d))?"
        ),
    ),
    (
        ("straat", "laan", "plein", "kade", "gracht", "singel", "dijk", "hof", "steeg", "dreef", "pad", "weg", "park"),
        _start_word(
            rf"(?:{DUTCH_STREET} {NUMBER}(?:{SEPARATOR}\d{{4}} ?[A-Z]{{2}} {PLACE})?"
            rf"|{DUTCH_PLACE_NAME} {NUMBER}{SEPARATOR}\d{{4}} ?[A-Z]{{2}} {PLACE})"
        ),
    ),
    (
        ("ul. ", "ul.", "al. ", "aleja", "pl. ", "plac ", "os. ", "osiedle", "ulica"),
        _start_word(
            rf"(?:[uU]l\.|(?<!et )[aA]l\.|[aA]leja|[pP]l\.|[pP]lac|[oO]s\.|[oO]siedle"
            rf"|[uU]lica) ?(?:\d{{1,2}} )?{NAME} {NUMBER}"
            rf"(?: ?(?:m\.|lok\.|/) ?\d{{1,4}})?(?:{SEPARATOR}\d{{2}}-\d{{3}} {PLACE})?"
        ),
    ),
    (
        ("gatan", "vägen", "stigen", "gränd", "torget", "allén", "backen", "gata"),
        _start_word(
            rf"{SWEDISH_STREET} \d{{1,4}}(?: ?[A-Za-z](?!\w))?"
            rf"(?:,? lgh ?\d{{1,4}})?(?:{SEPARATOR}(?:SE-)?\d{{3}} ?\d{{2}} {PLACE})?"
        ),
    ),
    (
        ("〒", "都", "道", "府", "県", "市"),
        (
            r"(?:〒? ?\d{3}-\d{4} ?)?(?:東京都|北海道|京都府|大阪府|[一-龯]{2,3}県"
            r"|[一-龯]{1,4}市)[一-龯々ぁ-んァ-ヶー]{0,20}"
            r"\d{1,4}(?:丁目|番地?|号|条[東西南北]?|[-の])(?:\d{1,4}(?:丁目|番地?|号|条[東西南北]?|[-の])?){0,4}"
        ),
    ),
    (
        ("पता", "मार्ग", "नगर", "रोड"),
        (r"(?<!\w)\d{1,5}(?:[/-]\d{1,4})?,? [\u0900-\u097f ,]{3,80}? \d{6}(?!\d)"),
    ),
)
MAX_BEFORE_STREET = 60  # characters
BEFORE_STREET = re.compile(  # "c/o Lindner, " and the name of a house
    rf"(?<!\w)(?:c/o [^,;\n]{{2,40}}|(?:The Old {WORD}|(?:{WORD} ){{1,3}}(?:House|Cottage|Lodge|Farm|Hall|Barn|Mill"
    r"|Building|Towers?|Block|Residency|Apartments|Chambers|Mansions)))(?:,? |,?\n)\Z"
)
ASCII_ADDRESS_FORMS = tuple(
    (ascii_stems, pattern) for stems, pattern in ADDRESS_FORMS if (ascii_stems := tuple(filter(str.isascii, stems)))
)
ANNOUNCED = re.compile(  # the rest of the line after "Address:", when it has a number and a part after a comma
    r"(?i)(?<!mail )(?<!ip )(?<!mac )(?<!web )(?<![^\W])"
    r"(?:\w{3,15}(?=adr|anschrift)|(?:home|postal|mailing|delivery|street) )?"
    r"(?:address|adresse|anschrift|dirección|domicilio|indirizzo|adres|endereço|adress|पता) ?: ?"
    r"([^\W\d_][^\n|;@]{3,50},[^\n|;@]{2,60}|\d[^\n|;@.]{3,50},[^\n|;@]{2,60})"
)


def find_postal_addresses(text: str) -> Iterator[PiiSpan]:
    """Yield the addresses in a text. One needs a street word with a number, a box with a place, or a word before it."""
    lowered = text.lower()
    if not any(map(str.isdigit, text)):
        return
    for stems, pattern in ASCII_ADDRESS_FORMS if lowered.isascii() else ADDRESS_FORMS:
        if [stem for stem in stems if stem in lowered]:  # three times as quick as any()
            for match in compile_address_form(pattern).finditer(text):
                before = BEFORE_STREET.search(text, max(0, match.start() - MAX_BEFORE_STREET), match.start())
                yield PiiSpan(before.start() if before else match.start(), match.end(), "ADDRESS", 0.75)
    if ":" in text:
        for match in ANNOUNCED.finditer(text):
            if any(map(str.isdigit, match[1])):
                yield PiiSpan(match.start(1), match.start(1) + len(match[1].rstrip(" .")), "ADDRESS", 0.7)
