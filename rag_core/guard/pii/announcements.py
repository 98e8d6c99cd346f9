"""Values that have no format of their own and are known by the word before them, in the languages of twelve locales.

The same words name the column of a table (`rag_core/guard/pii/tables.py`).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rag_core.core.model import PiiSpan
from rag_core.guard.pii import dates, validators

CJK = "\u3041-\u30fe\u3400-\u9fff"  # signs of Japanese words, between which there is no space
CJK_SIGN = re.compile(f"[{CJK}]")
NOT_AFTER_LETTER, NOT_BEFORE_LETTER = rf"(?<![^\W{CJK}])", rf"(?![^\W{CJK}])"
FILLERS = (
    "number|num|nr|no|n|seria|série|serie|n\\.º|nº|n°|id|code|card|is|was|are|of|on|at|it'?s|the|me|us|him|her|them|reads|photocard|per"
    "|ist|war|lautet|unter|am|der|die|den|dem|des|sie|mich|uns|bitte|est|le|la|les|de|du|des|moi|nous|au|numéro|es|el|en|del"
    "|número|è|il|al|lo|numero|op|het|nummer|mij|ons|jest|to|pod|na|numer|o|os|sob|pelo|um|den|på|är|mig|till|oss|a|à|i"
)
LEAD = (
    rf"(?:(?:[^\w\n]{{0,3}}(?<!\w)(?:{FILLERS})(?!\w)){{0,4}}|(?:の?(?:番号)?(?:は|が|を)?))"
    r"(?:[^\w\n+@*]{0,4}|: ?\n ?)"
)
OF_WHOM = r"(?: [^\W\d_]{1,12}){1,3} ?: ?"  # between an unmistakable word and its value: "of the tenant: "
BIRTH_PLACE = r"(?:[^\w\n]{1,3}(?:(?:in|at|a|à|en|em|te|zu|w|i)[ ])?[A-ZÀ-ÝŁŚŻ]\w{1,20}(?:[ -][A-ZÀ-ÝŁŚŻ]\w{1,20})?,?)?"
WHOLE_WORD = re.compile(r"[a-zß-ÿā-ž]+")  # of the Latin alphabet, in lower case

# groups of letters and digits; each but the first has a digit near its beginning, the last may be one letter
DOCUMENT_NUMBER = (
    r"(?:[A-Z]{1,2}[ ./-]|[A-Z]{1,6}[./-]?)?(?=[A-Z]{0,6}\d)[A-Z0-9]{1,18}"
    r"(?:[ ./-](?=[A-Z]{0,4}\d)[A-Z0-9]{1,12}){0,7}(?:[ -][A-Z](?![A-Z]))?"
)
PLATE_NUMBER = r"(?-i:[A-ZÄÖÜ0-9]{1,8}(?:[ ·-][A-ZÄÖÜ0-9]{1,5}){0,3})"
ANNOUNCED_PHONE = r"\+?\(?\d(?:[ .()/-]{0,3}\d){5,14}(?: ?(?:x|ext\.?) ?\d{1,6})?"
USER_NAME = r"@?[A-Za-zÀ-ž][A-Za-zÀ-ž0-9_.-]{1,30}[A-Za-zÀ-ž0-9]"
NO_PLATE = r"(?:AMG|BMW|CO2|DIN|EUR|GTI|IEC|IEEE|ISO|KIA|MAN|RPM|SAE|SEK|SUV|USB|USD)(?![A-Z])"
PLATE_FORMS = "|".join(
    (
        r"[A-ZÄÖÜ]{1,3}[ -][A-ZÄÖÜ]{1,2}[ -]?\d{1,4}(?: ?[EH])?",  # Germany
        r"[A-Z]{2}[ -]?\d{3}[ -]?[A-Z]{2}|\d{1,4} ?[A-Z]{2,3} ?\d{2}",  # France and Italy; France until 2009
        r"\d{4}[ -]?[BCDFGHJ-NPR-TV-Z]{3}|[A-Z]{1,2}-\d{4}-[A-Z]{1,2}",  # Spain
        r"[A-Z]{2}\d{2} ?[A-Z]{3}|[A-Z]\d{1,3} ?[A-Z]{3}",  # United Kingdom
        r"(?=[A-Z0-9-]{8}(?![A-Z0-9-]))(?:(?:[A-Z]{1,3}|\d{1,3})-){2}(?:[A-Z]{1,3}|\d{1,3})",  # Netherlands
        r"[A-Z]{3}[ -]?\d[A-Z0-9]\d{2}|[A-Z]{3}[ -]?\d{2}[A-Z0-9]|\d[A-Z]{3}\d{3}",  # Brazil; Sweden; United States
        r"[A-Z]{2}[ -]?\d{1,2}[ -]?[A-Z]{1,3}[ -]?\d{4}",  # India
    )
)

NOT_OF_A_NAME = re.compile(  # "case-sensitive", "users.csv"
    "(?:in)?sensitive|specific|based|only|mail|wide|free|safe|less|generated|defined|provided|dependent|encoded"
    "|separated|like|style|side|friendly|com|org|net|txt|csv|json|x?ml|html?|php|py|js|md"
)


def is_document_number(value: str) -> bool:
    """Return whether a value has 6 to 20 letters and digits, at least three of them digits, and is no date."""
    signs = [sign for sign in value if sign.isalnum()]
    return 6 <= len(signs) <= 20 and sum(map(str.isdigit, signs)) >= 3 and not dates.is_date(value)


def is_plate_number(value: str) -> bool:
    """Return whether a value has 4 to 9 signs, both letters and digits."""
    signs = [sign for sign in value if sign.isalnum()]
    return 4 <= len(signs) <= 9 and any(map(str.isdigit, signs)) and any(map(str.isalpha, signs))


def is_announced_phone_number(value: str) -> bool:
    """Return whether a value is a telephone number, and no version or address such as 2.14.0.1187."""
    return validators.is_phone_number(value) and not re.fullmatch(r"\d{1,4}(?:\.\d{1,4}){3}", value)


def is_user_name(value: str) -> bool:
    """Return whether a value has three letters and what a word does not have: a digit, an underscore or an at sign."""
    return bool(re.search(r"[\d_@]", value)) and sum(map(str.isalpha, value)) >= 3


def is_joined_name(value: str) -> bool:
    """Return whether two parts are no adjective such as "case-sensitive" and no file name."""
    return not NOT_OF_A_NAME.fullmatch(re.split("[.-]", value.lower())[1])


@dataclass(frozen=True)  # without slots: its patterns are compiled when first needed, for a quick cold start
class Announcement:
    """A type of personal data with the words that announce it; `*` stands for the rest of a word.

    `lead` is a pattern of what may stand between word and value. In a column named by one of the words, a cell that is
    a `value` altogether is one.
    """

    type: str
    score: float
    words: str
    value: str
    is_valid: Callable[[str], bool] = bool
    lead: str = LEAD
    excluded_before: re.Pattern[str] | None = None

    @cached_property
    def whole_words(self) -> frozenset[str]:
        return frozenset(word for word in self.words.split("|") if WHOLE_WORD.fullmatch(word))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The longest part of each word that is not of the Latin alphabet altogether; a text without any has none."""
        words = (word for word in self.words.split("|") if word not in self.whole_words)
        return tuple(dict.fromkeys(max(word.partition("*")[0].split(" "), key=len) for word in words))

    @cached_property
    def ascii_stems(self) -> tuple[str, ...]:
        return tuple(filter(str.isascii, self.stems))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?i){self._cue}{self.lead}({self.value}){NOT_BEFORE_LETTER}")

    @cached_property
    def header(self) -> re.Pattern[str]:
        return re.compile(rf"(?i){self._cue}(?:{NOT_BEFORE_LETTER}|番号)")

    @cached_property
    def cell(self) -> re.Pattern[str]:
        return re.compile(rf"(?i)(?:{self.value})")

    @property
    def _cue(self) -> str:
        words = sorted(self.words.split("|"), key=len, reverse=True)
        cue = "|".join(re.escape(word).replace(r"\*", r"\w{0,10}").replace(r"\ ", "[ -]?") for word in words)
        return rf"{NOT_AFTER_LETTER}(?:{cue})"

    def find_spans(self, text: str, lowered: str, words: frozenset[str]) -> Iterator[PiiSpan]:
        """Yield the values after one of the words; `lowered` and `words` are the text and its words in lower case."""
        stems = self.ascii_stems if lowered.isascii() else self.stems
        if self.whole_words.isdisjoint(words) and not [stem for stem in stems if stem in lowered]:
            return
        for match in self.pattern.finditer(text):
            excluded = self.excluded_before and self.excluded_before.search(
                text, max(0, match.start() - 40), match.start()
            )
            if not excluded and self.is_valid(match[1]):
                yield PiiSpan(*match.span(1), self.type, self.score)


NO_COMPANY = re.compile(  # what is founded is "born" in several languages
    r"(?i)\b(?:company|firm|business|start-?up|société|entreprise|empresa|compañía|companhia|sociedade|società|azienda"
    r"|verein|unternehmen|firma|bedrijf|vereniging|spółka|bolaget|företaget|team|club|project|idea)\b[^.\n]{0,25}\Z"
)
ANNOUNCEMENTS = (
    Announcement(
        "PHONE",
        0.85,
        "tel|tél|tfn|telefon*|telephone|téléphone|teléfono|telefono|telefoon*|phone|cellphone|landline|mobile|mobil*|mobiel"
        "|mobiele|handy*|portable|cellulare|celular|móvil|movil|komórka|komórkowy|kom|rufnummer|festnetz|durchwahl"
        "|anrufen|rufen|erreichbar|erreichen|appelez|appeler|joindre|llame|llamar|llámeme|llámame|chiamare|chiami|chiamate"
        "|joignable|contatt*|kontakt*|bel|bellen|bereiken|bereikbaar|ligue|ligar|ring|ringa|nås|dzwonić|zadzwoń|zap|whatsapp|fax|call|dial|sms"
        "|mon numéro|mio numero|mi número|meu número|meine nummer|mijn nummer|mój numer|mitt nummer|numer telefonu"
        "|電話|電話番号|携帯|携帯電話|連絡先|ファックス|फ़ोन|फ़ोन|फोन|मोबाइल|मोबाइल नंबर|दूरभाष",
        ANNOUNCED_PHONE,
        is_announced_phone_number,
        lead=rf"(?:{LEAD}| [^\W\d_]{{2,12}} (?=\+|\(?0))",
    ),
    Announcement(  # a mistyped number is still somebody's
        "CREDIT_CARD",
        0.85,
        "credit card|debit card|card|kreditkarte*|karte|carte|carte bleue|carte bancaire|tarjeta|carta di credito"
        "|creditcard|karta|karty|kartą|cartão|kort|kreditkort|カード"
        "|カード番号",
        r"[2-68]\d{3}(?:[ -]\d{4}){3}|3[47]\d\d(?:[ -]\d{6}[ -]\d{5}|(?:[ -]\d{4}){2}[ -]\d{3})",
    ),
    Announcement(
        "PASSPORT",
        0.85,
        "passport|reisepass*|pass|passeport|pasaporte|passaporto|paspoort*|paszport*|passaporte|passnummer|passnr|旅券"
        "|パスポート|पासपोर्ट|पासपोर्ट नंबर",
        DOCUMENT_NUMBER,
        is_document_number,
    ),
    Announcement(
        "DRIVER_LICENSE",
        0.9,
        "driver license|driver's license|drivers license|drivers' license|driver licence|driver's licence"
        "|driving licence"
        "|driving license|dl no|dl number|dl#|führerschein*|permis de conduire|de permis|permiso de conducir"
        "|permiso de conducción|carné de conducir|carnet de conducir|licencia de conducir|patente n|patente di guida"
        "|fahrerlaubnis*|licencia de manejo|licencia de chofer|førerkort*"
        "|kørekort*|rijbewijs*|prawo jazdy|prawa jazdy|cnh|carteira de habilitação|carteira de motorista"
        "|carta de condução|körkort*"
        "|運転免許証|免許証|運転免許|ड्राइविंग लाइसेंस",
        DOCUMENT_NUMBER,
        is_document_number,
        lead=rf"(?:{LEAD}|{OF_WHOM})",
    ),
    Announcement(
        "NATIONAL_ID",
        0.9,
        "national insurance|nino|ni number|national id|identity card|steuer id|steuer idnr"
        "|steueridentifikationsnummer|idnr"
        "|identifikationsnummer|sozialversicherungsnummer|rentenversicherungsnummer|personalausweis*|ausweisnummer"
        "|sécurité sociale|numéro de sécu|sécu|carte d'identité|dni|d.n.i.|nif|n.i.f."
        "|seguridad social|codice fiscale|cod. fisc"
        "|carta d'identità|bsn|burgerservicenummer|sofinummer|identiteitskaart|pesel|nip|dowód osobisty"
        "|dowodu osobistego"
        "|cpf|rg|identidade|personnummer|personnr|pnr|samordningsnummer|マイナンバー|個人番号|pan card",
        DOCUMENT_NUMBER,
        is_document_number,
        lead=rf"(?:{LEAD}|{OF_WHOM})",
    ),
    Announcement("NATIONAL_ID", 0.9, "aadhaar|aadhar|uid|आधार|आधार संख्या|आधार नंबर", r"\d{4}[ -]?\d{4}[ -]?\d{4}"),
    Announcement("MRN", 0.9, "nhs|patient no|patientennummer", r"\d{3}[ -]?\d{3}[ -]?\d{4}"),
    Announcement(
        "PLATE",
        0.85,
        "license plate|licence plate|number plate|plate number|plate no|plaque d'immatriculation|numerze rejestracyjnym"
        "|numer rejestracyjny|rejestracja|rejestracyjny|nr rej|tablic*",
        PLATE_NUMBER,
        is_plate_number,
    ),
    Announcement(
        "PLATE",
        0.85,
        "plate|registration|reg|vehicle|vehicle number|car|kennzeichen|pkw|kfz|fahrzeug|auto|immatriculé*"
        "|immatriculation"
        "|plaque|véhicule|voiture|matrícula|matricula|vehículo|coche|targa|targato|targata|kenteken*|voertuig|placa|placas"
        "|veículo|carro|registreringsnummer|regnummer|regnr|reg.nr|bil|bilen|ナンバー|車両番号|गाड़ी नंबर"
        "|गाड़ी नंबर|वाहन संख्या",
        f"(?-i:(?!{NO_PLATE})(?:{PLATE_FORMS}))",
    ),
    Announcement(
        "VIN",
        0.95,
        "vin|chassi*|fahrgestell*|fahrzeug ident*|fin|châssis|bastidor|telaio|nadwozia|vehicle id*|車台番号"
        "|車体番号|चेसिस",
        "[A-HJ-NPR-Z0-9]{17}",
        lambda value: sum(map(str.isdigit, value)) >= 3,
        lead=rf"[^\n]{{0,40}}?{NOT_AFTER_LETTER}",
    ),
    Announcement(
        "USERNAME",
        0.85,
        "username|user name|user id|userid|user account|login|login name|handle|screen name|nickname|benutzername"
        "|benutzerkennung|benutzerkonto|nutzerkonto|compte utilisateur|cuenta de usuario|account utente"
        "|conta de usuário"
        "|konto użytkownika|signed in as|sign in as|logged in as|log in as|logged on as|angemeldet als|anmelden als"
        "|eingeloggt als|connecté en tant que|ingelogd als|inloggen als|zaloguj się jako|zalogowano jako|inloggad som"
        "|logga in som|conectado como|sesión como|logado como|accedi come|ユーザ名"
        "|gebruikersaccount|användarkonto|nutzername|anmeldename|identifiant|nom d'utilisateur|pseudo"
        "|usuario|nombre de usuario|nome utente|utente"
        "|gebruikersnaam|nazwa użytkownika|użytkownik|usuário|nome de usuário|utilizador|användarnamn|användare"
        "|ユーザー名|ユーザーid|ログインid|ログイン名|アカウント|उपयोगकर्ता नाम",
        rf"(?=[A-Za-zÀ-ž0-9.-]{{0,30}}[\d_@]){USER_NAME}",
        is_user_name,
        lead=rf"(?![,;\t]){LEAD}",  # nor is the next header of a table one
    ),
    Announcement(  # two parts that a sentence would not join, as in "handle is rkowal-dev"
        "USERNAME",
        0.8,
        "username|user name|login|login name|handle|nickname|benutzername|nom d'utilisateur|identifiant|pseudo|usuario"
        "|nome utente|gebruikersnaam|nazwa użytkownika|usuário|användarnamn",
        r"[A-Za-zÀ-ž]{1,30}[.-][A-Za-zÀ-ž]{2,30}(?![.-]\w)",
        is_joined_name,
        lead=r" (?:is|ist|lautet|est|es|è|to|jest|é|är):? ",
    ),
    Announcement(
        "USERNAME",
        0.8,
        "login|login name|user id|userid|handle|nickname|screen name|benutzerkennung|identifiant",
        USER_NAME,
        lead="(?!)",  # the column of a table alone
    ),
    Announcement(
        "USERNAME",
        0.8,
        "user|account name|account|skype|telegram|discord|github|github user|alias|nick|kontoname|compte|cuenta",
        rf"(?=[A-Za-zÀ-ž0-9.-]{{0,30}}[\d_@]){USER_NAME}",
        is_user_name,
        lead=" ?[:=] ?",
    ),
    Announcement(
        "USERNAME",
        0.8,
        "username|user name|benutzername|nom d'utilisateur|identifiant|pseudo|nombre de usuario|nome utente"
        "|gebruikersnaam"
        "|nazwa użytkownika|nome de usuário|usuario|usuário|användarnamn|ユーザー名",
        rf"{USER_NAME}(?=\s{{0,2}}(?:[,;|.]|\n|\Z))",
        lead=" ?[:：] ?",
    ),
    Announcement(
        "DOB",
        0.95,
        "born|nació|nasceu|nacque|nacqui|naquit|urodził*|föddes|d.o.b|dob|date of birth|birth date"
        "|birthday|of birth|birth:|geboren*|geb|geburtsdatum|geburtstag|né|née"
        "|date de naissance|naissance|nacido|nacida|fecha de nacimiento|f. nac|nacimiento|nac|nato|nata|data di nascita"
        "|nascita|geboortedatum|urodzon*|ur"
        "|fødselsdato|født|födelsedat*|data urodzenia|nascido|nascida|nascimento|nasc|född|födelsedatum|födelsedag"
        "|生年月日|誕生日|生まれ|जन्म तिथि|जन्मतिथि|जन्म|जन्म दिनांक|जन्म तारीख",
        dates.DATE_FORMS,
        dates.is_date,
        lead=rf"(?:(?: \([^()\n]{{1,20}}\))?{BIRTH_PLACE}{LEAD}|[^:;|\n]{{1,40}}: ?)",  # "as in the passport: "
        excluded_before=NO_COMPANY,
    ),
)
BIRTH_MARK = re.compile(  # "*12.10.1971", "b. 3 Feb 1955"
    rf"(?:(?<![\w*])\*(?=\d)|(?<!\w)[fb]\. (?=\d{{1,2}} \w))((?i:{dates.DATE_FORMS})){NOT_BEFORE_LETTER}"
)
JAPANESE_PLATE = re.compile(r"[一-龯]{1,4} ?\d{2,3} ?[ぁ-ん] ?[\d・]{1,2}-?\d{2}(?!\d)")
JAPANESE_BIRTH = re.compile(rf"(?:{dates.DATE_FORMS})(?= ?(?:生まれ|生(?![一-龯])))")
SOCIAL_HANDLE = re.compile(r"(?a)(?<![\w@/.])@[A-Za-z][\w.]{1,28}\w")
SOCIAL_WORDS = re.compile(
    r"(?i)insta(?:gram)?|twitter|tiktok|mastodon|threads|facebook|snapchat|youtube|bluesky|telegram|ツイッター|インスタ"
    r"|\b(?:posts?|posted|posting|handle|follow(?:s|ed)?|tweet\w{0,3}|forum\w{0,2}|profil\w{0,4}|suivez|siga|sígueme|sigue|seguimi|volg|följ"
    r"|folge|schreibt|wpis|hashtag|social|account|konto|compte|cuenta|conta)\b"
)


def find_announced_values(text: str) -> Iterator[PiiSpan]:
    """Yield the values that a word announces, in a text whose typographic signs are replaced."""
    lowered = text.lower()
    words = frozenset(WHOLE_WORD.findall(lowered))
    for announcement in ANNOUNCEMENTS:
        yield from announcement.find_spans(text, lowered, words)
    if "*" in text or "b. " in text or "f. " in text:
        yield from (PiiSpan(*match.span(1), "DOB", 0.9) for match in BIRTH_MARK.finditer(text))
    if CJK_SIGN.search(text):
        yield from (PiiSpan(*match.span(), "PLATE", 0.9) for match in JAPANESE_PLATE.finditer(text))
        yield from (PiiSpan(*match.span(), "DOB", 0.95) for match in JAPANESE_BIRTH.finditer(text))
    if "@" in text:
        yield from _find_social_handles(text)


def _find_social_handles(text: str) -> Iterator[PiiSpan]:
    for match in SOCIAL_HANDLE.finditer(text):
        if SOCIAL_WORDS.search(text, max(0, match.start() - 48), match.end() + 32):
            yield PiiSpan(*match.span(), "USERNAME", 0.7)
