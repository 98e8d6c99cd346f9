"""Among filings that differ in little but company and year, the one that a question names is found."""

from pypdfium2 import PdfDocument

from evals.filing_documents import build_uploads, load_questions
from evals.filing_questions import format_answers, format_scores, score_filings
from rag_core.core.model import Answer, Chunk, Citation, Claim, Confidence, Hit, Span


def test_each_question_has_its_page_in_one_of_the_made_documents() -> None:
    files = {upload.filename: upload.data for upload in build_uploads()}
    questions = load_questions()
    assert len(questions) == 40
    assert len(files) == 12
    for question in questions:
        data = files[question.source]
        assert data is not None
        is_pdf = question.source.endswith(".pdf")
        assert question.page <= len(PdfDocument(data)) if is_pdf else question.page == 0
    assert build_uploads()[0].data == files["oakhollow-annual-2022.pdf"]  # the same each time


def test_a_page_counts_by_its_rank_and_its_document() -> None:
    question = load_questions()[0]

    def make_hit(source: str, page: int) -> Hit:
        return Hit(Chunk(f"{source} {page}", source, 0, "x", "", source, "x", (Span(0, 1, page, 1, 1),)), 1.0)

    right, wrong = make_hit(question.source, question.page), make_hit("other.pdf", question.page)
    beside = make_hit(question.source, question.page + 1)
    scores = score_filings([question], [[beside, wrong, right]])
    assert list(scores[question.text].values()) == [1.0, 1.0, 0.0, 1.0]
    assert "| hybrid | 1.000 | 1.000 | 0.000 | 1.000 |" in format_scores({"hybrid": scores})


def test_an_answer_counts_by_the_page_that_it_cites_first() -> None:
    question = load_questions()[0]

    def make_answer(*places: tuple[str, int]) -> Answer:
        citations = tuple(
            Citation("c", "d", "t", source, "q", 1.0, (), Span(0, 1, page, 1, 1)) for source, page in places
        )
        claims = (Claim("x", 0, 1, "verified", citations),) if citations else ()
        return Answer("x", "answered" if claims else "unknown", "extractive", claims, Confidence(0.5, {}, ""), ())

    right, beside = (question.source, question.page), (question.source, question.page + 1)
    answers = [make_answer(right, beside), make_answer(beside, right), make_answer()]
    assert format_answers([question] * 3, answers) == "answered: 2 of 3; the right page cited first: 1 of 2"
