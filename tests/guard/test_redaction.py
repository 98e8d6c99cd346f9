"""What tells of persons is taken out, what only looks like it stays, and where something stood is said."""

import asyncio
import csv
import gzip
import logging
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.answering.drafting import claims_from_statements, join_claims
from rag_core.answering.statements import read_statements
from rag_core.core.errors import Unavailable
from rag_core.core.kit import NoRedactor
from rag_core.core.model import Answer, Claim, Confidence, PiiSpan
from rag_core.core.run import Run
from rag_core.guard.output_redaction import redact_answer
from rag_core.guard.pii import announcements, numbering_plans, obfuscated_emails, patterns, postal_addresses
from rag_core.guard.redaction import (
    OPT_IN_PII_TYPES,
    PII_TYPES,
    RuleBasedRedactor,
    merge_spans,
    redact_text,
    replace_spans,
)
from rag_core.text import person_names

DTC = Path(__file__).parents[1] / "data" / "dtc" / "dtc_codes.csv.gz"
EVERYTHING = RuleBasedRedactor(PII_TYPES)


def clean(text: str, redactor: RuleBasedRedactor = RuleBasedRedactor()) -> str:  # noqa: B008 - frozen
    return asyncio.run(redact_text(text, redactor)).text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What dose did patient John Smith get?", "What dose did patient [PERSON] get?"),
        ("Is Mrs. O'Brien-Pálffy allergic?", "Is Mrs. [PERSON] allergic?"),
        ("notes on Hanne I. Szász today", "notes on [PERSON] today"),
        ("PATIENT: SMITH, JOHN Q. was seen", "PATIENT: [PERSON] was seen"),
        ("My name is Rubija and it hurts", "My name is [PERSON] and it hurts"),
        ("It hurts.\nKind regards,\nTomomi Nishiyama\n", "It hurts.\nKind regards,\n[PERSON]\n"),
        ("labs of MRN: 00123456", "labs of MRN: [MRN]"),
        ("medical record number is AB-998877?", "medical record number is [MRN]?"),
        ("dob 3/14/1962, male", "dob [DOB], male"),
        ("She was born on 14 March 1962.", "She was born on [DOB]."),
        ("Date of birth: 1962-03-14", "Date of birth: [DOB]"),
        ("call me at 555 123 4567 x12", "call me at [PHONE]"),
        ("(212) 555-0187 or 212-555-0187", "[PHONE] or [PHONE]"),
        ("from +44 (0)20 7946 0958, daily", "from [PHONE], daily"),
        ("It was 723 813 266, or 9472 7916; not 9498777106.", "It was [PHONE], or [PHONE]; not [PHONE]."),
        ("SSN 123-45-6789", "SSN [SSN]"),
        ("social security number: 123456789", "social security number: [SSN]"),
        ("write to jane.doe+x@mail.example.co.uk.", "write to [EMAIL]."),
    ],
)
def test_what_identifies_a_patient_is_taken_out_of_a_question(text: str, left: str) -> None:
    """S4-01: patient names, MRNs, dates of birth, phone numbers, SSNs, e-mail addresses."""
    assert clean(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("card 4111 1111 1111 1111, cvv 123", "card [CREDIT_CARD], cvv 123"),
        ("3782-822463-10005", "[CREDIT_CARD]"),
        ("lost my card 630427373398", "lost my card [CREDIT_CARD]"),
        ("to gb82 west 1234 5698 7654 32 please", "to [IBAN] please"),
        ("DE89370400440532013000", "[IBAN]"),
        ("from 192.168.17.4:80", "from [IP]:80"),
        ("dns is 8.8.8.8", "dns is [IP]"),
        ("at fe80::1ff:fe23:4567:890a", "at [IP]"),
        ("git clone https://bob:hunter2@git.example.com/x.git", "git clone [LOGIN_URL]"),
        ("driver's license number is F162823540116", "driver's license number is [DRIVER_LICENSE]"),
        ("lives at 1428 Elm Street, Springfield, OH 45501", "lives at [ADDRESS]"),
        ("card 4111‑1111‑1111‑1111 and ＳＳＮ １２３–４５–６７８９", "card [CREDIT_CARD] and ＳＳＮ [SSN]"),
    ],
)
def test_other_values_are_known_by_their_grammar_however_they_are_typeset(text: str, left: str) -> None:
    assert clean(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "P0700 with P0301 and U0100-87 after clearing",  # trouble codes
        "41 0C 1A F8 at 3200 rpm, LTFT +12.50, 01 71 00 12 34",  # OBD replies
        "part 68334567AB, part number 340-256-1234, serial no 4111111111111111",  # one passes Luhn
        "upgrade 6.13.3 to 7.1, version 10.1.2.3, section 4.1.2.3",
        "on 2024-03-14 at 12:20:39, or 14.03.2024",
        "4111 1111 1111 1112 and 0.4454794511390933",  # a wrong check digit; a fraction
        "000-12-3456 666-12-3456 912-34-5678",  # areas that no one has
        "GB83 WEST 1234 5698 7654 32",  # leaves 2, not 1
        "std::vector, a::b, 999.1.1.1",
        "@mentions, a @ b, user@localhost",
        "550e8400-e29b-41d4-a716-630427373398",
        "Suite 541 6343 Skogstien, 636 1812 Rue De La Gare, 9543 1819 Blvd",
        "723 813 266 euros, $ 723 813 266 of 250 000 000, 1999 2004, 2010-2012, 1,723 813 266",
        "1730098043 20240307 1109.4990814 200-204. 1960, 12 100-114, 3/723 813 266",
        "reach 55 mph on 2024-03-14; office: 12 to 14",
        "the Stroop Test, Wilson Disease, Patient Health Questionnaire",
        "database column meanings: patients, ssn_history, phone_numbers, card_types",
        "database column meanings: superhero, hero_power, gender, colour, alignment",  # S1-53's
        "https://learn.microsoft.com/azure/search?view=1#top",
        "[PERSON] of [MRN] at [EMAIL]",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert clean(text) == text


def test_nothing_is_found_among_twelve_thousand_trouble_codes() -> None:
    with gzip.open(DTC, "rt", encoding="utf-8") as lines:
        rows = [" ".join(row.values()) for row in csv.DictReader(lines)]
    assert len(rows) > 12_000
    assert [row for row in rows if RuleBasedRedactor().find_pii_spans(row)] == []


def test_the_tables_of_telephone_numbers_are_read_when_a_number_asks_for_them() -> None:
    """A cold start does without."""
    asked = (
        "import sys; from rag_core.guard.redaction import RuleBasedRedactor; "
        "RuleBasedRedactor().find_pii_spans(sys.argv[1]); print('phonenumbers' in sys.modules)"
    )
    for text, read in (("Mail a@example.com, +1 212 555 0187", "False"), ("It was 723 813 266.", "True")):
        done = subprocess.run([sys.executable, "-c", asked, text], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == read


def test_a_quick_look_at_the_digits_refuses_no_number_that_a_country_gives_out() -> None:
    """Each example of the library's own tables, with and without what may stand before and after it."""
    regions = sorted(phonenumbers.SUPPORTED_REGIONS)
    seen = 0
    for region in regions:
        code = str(phonenumbers.country_code_for_region(region))
        examples = (phonenumbers.example_number_for_type(region, kind) for kind in (0, 1, 3))
        numbers = {phonenumbers.national_significant_number(example) for example in examples if example}
        for before, after in (("", ""), ("0", ""), ("1", ""), (code, ""), (f"00{code}", ""), (f"+{code}", " x12")):
            for number in (f"{before}{number}{after}" for number in numbers):
                try:
                    given_out = phonenumbers.is_valid_number_for_region(phonenumbers.parse(number, region), region)
                except phonenumbers.NumberParseException:
                    given_out = False
                seen += given_out
                digits = "".join(filter(str.isdigit, number.partition(" x")[0]))
                assert numbering_plans.is_given_out(number, digits, region) is given_out, (number, region)
    assert seen > 1500


def test_digits_that_no_country_gives_out_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of numbers took five times as long as others: each was parsed for each of twelve countries."""
    parsed = list[str]()
    parse = phonenumbers.parse
    monkeypatch.setattr(phonenumbers, "parse", lambda number, region: parsed.append(number) or parse(number, region))
    numbers = [f"{10 + n % 90}-{1000 + 29 * n}-{1011 + 13 * n}" for n in range(300)]
    RuleBasedRedactor().find_pii_spans("; ".join(numbers))
    assert 0 < len(parsed) < 3 * len(numbers)


def test_dates_and_addresses_of_pages_are_taken_out_when_they_are_asked_for() -> None:
    text = "Seen 2024-03-14, see https://example.com/a."
    assert clean(text) == text
    assert clean(text, EVERYTHING) == "Seen [DATE], see [URL]"
    assert {"DATE", "URL"} == OPT_IN_PII_TYPES < PII_TYPES


def test_an_answer_is_looked_at_again_and_keeps_its_citations() -> None:
    """S4-29: what a model or a document brings in is taken out as well."""
    answer = "Start 5 mg [1]. Ask Dr. Sara Schwarz, +1-903-140-4508 [Ward Notes, Section 2]."
    assert clean(answer) == "Start 5 mg [1]. Ask Dr. [PERSON], [PHONE] [Ward Notes, Section 2]."


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Dose for Mrs Theodora Winkelhaus, 1938-02-17, eGFR 45?", "Dose for Mrs [PERSON], [DOB], eGFR 45?"),
        ("Mrs Ilse Vogtländer, 7 June 1944, is ill.", "Mrs [PERSON], [DOB], is ill."),
        ("Karl-Heinz Ostermann (b. 19.01.1944, 58 kg)", "[PERSON] (b. [DOB], 58 kg)"),
        ("Rosa Lindqvist (03/11/1950) had a fall on 3 May 2024.", "[PERSON] ([DOB]) had a fall on 3 May 2024."),
        ("Rosa Lindqvist came on 3 May 2024, aged 83.", "[PERSON] came on 3 May 2024, aged 83."),
    ],
)
async def test_a_date_right_after_a_name_is_one_of_birth_in_a_question(question: str, left: str) -> None:
    """S4-01: in another text it may be that of a letter, which an answer needs."""
    redacted = await redact_text(question, RuleBasedRedactor(), is_question=True)
    assert redacted.text == left
    letter = await redact_text("Signed: Rosa Lindqvist, 3 May 2024.", RuleBasedRedactor())
    assert letter.text == "Signed: [PERSON], 3 May 2024."


async def test_a_redaction_says_where_and_what_stood_there() -> None:
    """C30: reported as spans, never silently."""
    text = "Mail a@example.com about SSN 123-45-6789."
    found = await redact_text(text, RuleBasedRedactor())
    assert [(text[s.start : s.end], s.type) for s in found.spans] == [
        ("a@example.com", "EMAIL"),
        ("123-45-6789", "SSN"),
    ]
    assert all(0 < span.score <= 1 for span in found.spans)
    assert "example" not in repr(found)


def test_of_what_overlaps_nothing_is_left_and_the_surest_names_it() -> None:
    within, across = PiiSpan(1, 2, "IP", 0.9), PiiSpan(5, 9, "PHONE", 0.8)
    spans = merge_spans([across, PiiSpan(0, 6, "SSN", 0.9), PiiSpan(9, 10, "IP", 0.5), within])
    assert spans == (PiiSpan(0, 9, "SSN", 0.9), PiiSpan(9, 10, "IP", 0.5))
    assert replace_spans("0123456789!", spans) == "[SSN][IP]!"


@given(st.text(st.sampled_from("aZ019 .-:@+/(x\n[]") | st.characters(codec="utf-8"), max_size=80))
def test_any_text_keeps_what_stands_outside_its_spans(text: str) -> None:
    found = asyncio.run(redact_text(text, EVERYTHING))
    outside = re.split("|".join(rf"\[{kind}\]" for kind in {s.type for s in found.spans}) or r"\Z(?!\Z)", found.text)
    assert all(part in text for part in outside)
    assert len(found.text) == len(text) + sum(len(s.type) + 2 - (s.end - s.start) for s in found.spans)


class Broken:
    """Gives spans, or the error, that it was made with."""

    name = "broken"

    def __init__(self, answer: Sequence[PiiSpan] | Unavailable) -> None:
        self.answer = answer

    def find_pii_spans(self, text: str) -> Sequence[PiiSpan]:
        if isinstance(self.answer, Unavailable):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "redactor",
    [
        NoRedactor(),
        Broken(Unavailable("the service is down")),
        Broken([PiiSpan(4, 99, "SSN")]),
        Broken([PiiSpan(3, 3, "SSN")]),
        Broken([PiiSpan(-2, 3, "SSN")]),
    ],
    ids=["none configured", "down", "past the end", "empty", "before the beginning"],
)
async def test_a_text_that_was_not_looked_at_is_not_passed_on(redactor: NoRedactor | Broken) -> None:
    """RELIABILITY 3.1: it fails closed."""
    with pytest.raises(Unavailable) as refused:
        await redact_text("SSN 123-45-6789", redactor)
    assert refused.value.code == "redaction_failed"
    assert "123-45" not in str(refused.value)


PLANTED = {  # made of a number, so that each of many is its own
    "EMAIL": "canary{0:04}@example.com",
    "SSN": "219-09-{0:04}",
    "MRN": "MRN 77{0:04}",
    "PHONE": "+1 212 555 {0:04}",
    "IP": "10.20.{1}.{2}",
    "LOGIN_URL": "https://canary{0:04}:pass@h.example/",
}


@pytest.fixture
def planted() -> list[str]:
    numbers = [(n, n // 250 + 1, n % 250 + 1) for n in range(1, 170)]
    return [shape.format(*number) for shape in PLANTED.values() for number in numbers]


async def test_a_thousand_planted_values_are_in_no_text_diary_log_or_error(
    planted: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """S4-01, S4-29, C30: the canary."""
    caplog.set_level(logging.DEBUG)
    run, text = Run(), " ; ".join(planted)
    found = await run.step("redact", redact_text(text, RuleBasedRedactor()))
    failures = []
    for redactor in (NoRedactor(), Broken([PiiSpan(0, len(text) + 1, "SSN")])):
        with pytest.raises(Unavailable) as refused:
            await run.step("redact", redact_text(text, redactor))
        failures.append(f"{refused.value!r} {refused.value.details}")
    secrets = [value.removeprefix("MRN ") for value in planted]
    assert len(found.spans) == len(planted) > 1000
    told = " ".join([found.text, repr(found), repr(run), *failures, caplog.text])
    assert [secret for secret in secrets if secret in told] == []


def compiled_patterns() -> Iterator[re.Pattern[str]]:
    national = patterns.build_national_phone_pattern(patterns.PHONE_REGIONS)
    for shape in (*patterns.PII_PATTERNS, national, patterns.TRUNK_PHONE):
        yield from filter(None, (shape.pattern, shape.required_before, shape.excluded_before, shape.required_after))
    for announcement in announcements.ANNOUNCEMENTS:
        yield from (announcement.pattern, announcement.header, announcement.cell)
    yield from (announcements.BIRTH_MARK, announcements.JAPANESE_BIRTH, announcements.JAPANESE_PLATE)
    yield from (announcements.SOCIAL_HANDLE, announcements.SOCIAL_WORDS)
    yield from (postal_addresses.ANNOUNCED, *(re.compile(pattern) for _, pattern in postal_addresses.ADDRESS_FORMS))
    yield from (obfuscated_emails.HINTS, *(part for form in obfuscated_emails.FORMS for part in form[:2]))
    yield from (*(pattern for _, pattern in person_names.ANNOUNCED_NAMES), person_names.HINTED_NAME)
    yield person_names.CAPITALIZED_RUN
    yield from (person_names.JAPANESE_NAME, person_names.HINDI_NAME)


def test_no_pattern_can_look_further_than_a_page_so_that_time_is_linear() -> None:
    """RELIABILITY C11, G18: from each place at most so many characters are read, whatever the text."""
    patterns = compiled_patterns()
    widths = {pattern.pattern: re._parser.parse(pattern.pattern, pattern.flags).getwidth()[1] for pattern in patterns}
    assert {pattern: width for pattern, width in widths.items() if width > 1100} == {}


PIECES = (
    "a|0|1 |4111 |a.|a@|@a.|-|1-|(1|+1|:|a:|1.|A|Ab |Ab, |AB |A. |GB82|gb82 1|://|a://a|name is |phone |is is |Jane "
    "|\n|Regards,\n|é|10 Main |(at)|a dot |a at b dot |tel. 0|geb. 1.|born in Aa |A1-|plate AB |vin |username: a."
    '|Rua A |12 rue de |Aa-|Aastraat |Flat 1, Aa, |Address: 1|東京都1-|a,b\n|;\n|\t\n|a,"|@instagram |श्री अ|(0|佐藤'
    "|van der |1 jan "
)
BARS = ("|", "| ", "a|", "|\n|-|\n", "a|b\n-|-\n")


@pytest.mark.parametrize("piece", [*PIECES.split("|"), *BARS])
def test_fifty_kilobytes_of_anything_are_read(piece: str) -> None:
    """RELIABILITY C11. Quadratic time would not end here; a limit on seconds would say more of the machine."""
    text = piece * (50_000 // len(piece))
    assert len(replace_spans(text, merge_spans(EVERYTHING.find_pii_spans(text)))) > 0


async def test_what_stands_in_for_personal_data_is_no_label_of_an_image() -> None:
    """C41: a sentence is screened before it is redacted, and `[TYPE]` has brackets."""
    text = "The plan is !max@firm.example(https://ok.example/a?b=1) as agreed."
    claim = Claim(text, 0, len(text), "verified")
    answer = Answer(text, "answered", "model", (claim,), Confidence(1.0, {}, ""), ())
    redacted, spans = await redact_answer(answer, RuleBasedRedactor())
    assert [span.type for span in spans] == ["EMAIL"]
    assert redacted.text == redacted.claims[0].text == "The plan is EMAIL as agreed."


async def test_headings_are_redacted_and_cells_are_read_below_their_header() -> None:
    """A passport number is only a number where its column is not named."""
    shown = "## Mail to max@firm.example\n| Customer | Passport |\n|---|---|\n| Jane Doe | X1234567 |"
    claims = tuple(claims_from_statements(read_statements(shown)))
    assert join_claims(claims) == shown
    answer = Answer(shown, "answered", "model", claims, Confidence(1.0, {}, ""), ())
    redacted, spans = await redact_answer(answer, RuleBasedRedactor())
    assert redacted.text == "## Mail to [EMAIL]\n| Customer | Passport |\n|---|---|\n| [PERSON] | [PASSPORT] |"
    assert sorted((span.type, shown[span.start : span.end]) for span in spans) == [
        ("EMAIL", "max@firm.example"),
        ("PASSPORT", "X1234567"),
        ("PERSON", "Jane Doe"),
    ]
    assert "X1234567" not in repr(redacted.claims)


@pytest.mark.parametrize("piece", ["12 rue de ", "born in Aa ", "(0", "a at b dot ", "|\n|-|\n", "A1-"])
def test_eight_times_the_text_takes_about_eight_times_as_long(piece: str) -> None:
    """RELIABILITY C11. Quadratic time would be 64 times as long; the limit leaves room for a busy machine."""

    def measure_cpu_seconds(chars: int) -> float:
        text = piece * (chars // len(piece))
        began = time.process_time()
        EVERYTHING.find_pii_spans(text)
        return time.process_time() - began

    measure_cpu_seconds(1000)  # what is loaded at the first use
    assert min(measure_cpu_seconds(32_000) for _ in range(2)) < 30 * min(measure_cpu_seconds(4_000) for _ in range(4))
