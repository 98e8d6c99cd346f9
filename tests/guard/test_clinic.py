"""Questions of a clinic, with the local models: abbreviations in either spelling, and personal data beside them."""

import pytest

from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk
from rag_core.core.run import Run
from rag_core.guard.placeholders import remove_placeholders
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.pipelines import answer_with_pipeline
from rag_core.providers.embedded_cache import EmbeddedCache
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.stores.archive import ArchiveDatabase, SqlQueryLog
from rag_core.text.abbreviations import load_packaged_glossary
from tests import local
from tests.fakes import filled, query


def guideline(title: str, *paragraphs: str) -> list[Chunk]:
    name = title.casefold().replace(" ", "-")
    return [
        Chunk(f"{name}-{n}", name, n, text, title, f"{name}.md", f"{name}-{n}", heading_path=(title,))
        for n, text in enumerate(paragraphs)
    ]


CARDIOLOGY = guideline(  # has the long forms only
    "Coronary care",
    "After percutaneous coronary intervention, ticagrelor 90 mg is given twice daily for 12 months. Aspirin 75 mg "
    "daily is continued for life.",
    "The target for low-density lipoprotein after myocardial infarction is below 1.4 mmol/L. It is measured after six "
    "weeks.",
    "In patients with hypertension, treatment starts with ramipril 5 mg once daily. Potassium is checked in week two.",
    "A beta blocker is started within 24 hours of a myocardial infarction unless the heart rate is below 50.",
)
MEDICINE = guideline(  # has the short forms only
    "Ward handbook",
    "COPD: target saturation is 88 to 92 percent. Prednisolone 30 mg is given for five days in an acute flare.",
    "AKI: stop NSAIDs and metformin. Creatinine is repeated after 48 hours.",
    "DVT: start apixaban 10 mg twice daily for seven days, then 5 mg twice daily for three months.",
    "AF: anticoagulation is offered when the score is 2 or more. The target INR on warfarin is 2.0 to 3.0.",
)
CLINIC = guideline(  # has neither
    "Clinic rules",
    "Repeat prescriptions are ready after two working days. They are collected at the front desk.",
    "The clinic is closed on Wednesday afternoons. The on-call doctor is reached through the front desk.",
    "Vaccines are stored between 2 and 8 degrees. A fridge that was warmer for over 30 minutes is reported.",
)
QUESTIONS = {
    "How long is ticagrelor given after PCI?": "12 months",
    "What is the LDL target after MI?": "1.4 mmol/L",
    "With which drug does the treatment of HTN start?": "ramipril",
    "When is a beta blocker started after an MI?": "24 hours",
    "What is the target saturation in chronic obstructive pulmonary disease?": "88 to 92",
    "How long is prednisolone given in chronic obstructive pulmonary disease?": "five days",
    "Which drugs are stopped in acute kidney injury?": "metformin",
    "What is the dose of apixaban for deep vein thrombosis?": "10 mg",
    "What is the target international normalized ratio in atrial fibrillation?": "2.0 to 3.0",
    "When is creatinine repeated in AKI?": "48 hours",
    "How long is ticagrelor given after percutaneous coronary intervention?": "12 months",
    "At which temperature are vaccines stored?": "2 and 8 degrees",
    "When is the clinic closed?": "Wednesday",
    "When are repeat prescriptions ready?": "two working days",
}
FRAMES = {  # personal data is invented
    "plain": "{}",
    "address": "Patient John Carter, 202-555-0143: {}",
    "born": "Patient Mary Whitfield, born: 03/14/1961, MRN: 4417723: {}",
    "sentence": "My patient Robert Haines (DOB 1958-07-02, SSN 536-22-8123) is here. {}",
    "letter": "Dear colleague, Mrs. Helen Brandt (born 5 May 1949, phone 202-555-0111) asked: {} Regards, Tom Miller",
    "after": "{} Please answer to anna.berg@example.com or 202-555-0178.",
}
UNANSWERABLE = ("How is MRSA treated?", "Which drug is first in T2DM?")


async def build_clinic() -> Kit:
    index = await filled(*CARDIOLOGY, *MEDICINE, *CLINIC, embedder=local.embedder())
    return Kit(
        Index(index.store, local.embedder()),
        LocalTechniques(local.reranker(), lambda *_: []),
        local.reranker(),
        redactor=RuleBasedRedactor(),
        cache=EmbeddedCache(None, b"secret"),
        query_log=SqlQueryLog(ArchiveDatabase(None)),
        glossary=load_packaged_glossary(),
    )


async def ask(text: str, kit: Kit, run: Run | None = None) -> Answer:
    return await answer_with_pipeline(query(text, "classical"), kit, run or Run(), pipeline="classical")


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
async def test_a_question_of_the_clinic_is_answered_whatever_stands_around_it(frame: str) -> None:
    """S4-01, S4-03: MI and myocardial infarction are one, on both sides; what is redacted does not cost the answer."""
    kit = await build_clinic()
    answers = {text: await ask(frame.format(text), kit) for text in QUESTIONS}
    missed = {text: answers[text].text for text, fact in QUESTIONS.items() if fact not in answers[text].text}
    assert missed == {}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
async def test_a_question_that_no_guideline_answers_is_refused_all_the_same(frame: str) -> None:
    kit = await build_clinic()
    answers = {text: await ask(frame.format(text), kit) for text in UNANSWERABLE}
    assert {text: answer.text for text, answer in answers.items() if answer.status == "answered"} == {}


async def test_the_log_has_the_placeholders_and_not_the_data() -> None:
    """S4-01, S4-31: the name stands nowhere, and the log says that there was one."""
    kit = await build_clinic()
    for name in ("John Carter", "Robert Haines"):
        await ask(f"Patient {name}, 202-555-0143: When is the clinic closed?", kit)
    queries = [entry["query"] for entry in await kit.query_log.list_latest(5)]
    assert queries == ["Patient [PERSON], [PHONE]: When is the clinic closed?"] * 2


@pytest.mark.parametrize(
    ("redacted", "left"),
    [
        ("Patient [PERSON], [PHONE]: what is the target?", "what is the target?"),
        ("[PERSON], born: [DOB], MRN: [MRN], had an MI: what now?", "had an MI: what now?"),
        ("Ms. [PERSON] - [SSN] - is PCI indicated?", "is PCI indicated?"),
        ("What is the target after PCI for [PERSON] ([DOB])?", "What is the target after PCI?"),
        ("Is 1.5 mg of aspirin right, [PERSON]?", "Is 1.5 mg of aspirin right?"),
        ("What is [PERSON]'s target INR with AF?", "What is target INR with AF?"),
        ("Patient [PERSON] has MS, which drug is given?", "has MS, which drug is given?"),
        ("Who is [PERSON]?", "Who is [PERSON]?"),  # there is nothing else to ask for
        ("Is the patient [fasting], and since when?", "Is the patient [fasting], and since when?"),
        ("Is [PERSON] to come [fasting] for an INR?", "Is to come [fasting] for an INR?"),
        ("I'm [PERSON], [EMAIL], and I have a question. What is PCI?", "What is PCI?"),
        ("Which dose for [PERSON] (b. [DOB], 82 years, tel. [PHONE])?", "Which dose (82 years)?"),
        ("Target for [PERSON] (DOB [DOB], CFS 6, daughter's phone [PHONE])?", "Target (CFS 6)?"),
        ("A hypo: [PERSON], care home phone [PHONE]. What now?", "A hypo: What now?"),
        ("An MI in [PERSON], bleeding risk normal: how long?", "An MI, bleeding risk normal: how long?"),
        ("Who calls the patient? By phone, or mail?", "Who calls the patient? By phone, or mail?"),
    ],
)
def test_a_placeholder_goes_with_what_announces_it(redacted: str, left: str) -> None:
    assert remove_placeholders(redacted) == left
