"""`python -m evals.answers FOLDER`: answers to the questions of a set of PDFs, and whether their citations are right.

FOLDER has `pdfs/`, `corpus.jsonl.gz` (a document a page, "FILE#page=N"), `queries.jsonl` with `metadata.answerable`,
`metadata.answer` and `metadata.evidence`, and `qrels.tsv`. Everything goes the way of a user's question: the PDFs
through the extractor, the questions through `service.ask` without a chat model.
"""

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from rag_core.composition import assembly
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Citation, Document, Scope
from rag_core.core.ports import Probe
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.evaluation import beir, bulk_indexing, markdown_tables, metrics
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import CachedEmbedder, CachedReranker, EvaluationCache
from rag_core.evaluation.labelled_collection import load_pdf_uploads
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.null_models import NoEmbedder
from rag_core.retrieval.extractive_answers import get_least_answerability
from rag_core.stores.embedded import EmbeddedStore
from rag_core.text.terms import extract_terms

SCOPE = Scope("answers")
CACHE = Path(".cache/answers.sqlite3")
BINS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01))  # of confidence


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question, the pages that answer it, the reference answer, and strings that stand on those pages."""

    id: str
    text: str
    pages: frozenset[str]
    answer: str
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """The answer to a question, and the page that BM25 over whole pages puts first."""

    question: PageQuestion
    answer: Answer
    bm25_page: str
    box_shares: tuple[float, ...]  # of each citation with boxes, the share of its quote's words that stand in them

    @property
    def pages_cited(self) -> list[str]:
        """The pages cited, in the order of the answer, each once."""
        found = [_format_cited_page(citation) for claim in self.answer.claims for citation in claim.citations]
        return list(dict.fromkeys(found))


GOLD, BOXED = "a gold string stands in the answer", "quoted words that stand in the cited boxes"
REFUSED = "unanswerable refused"
CITED, BM25 = ("first page cited is right", "a page cited is right"), "BM25's first page is right"
Measure = Callable[[AnswerOutcome], float]

MEASURES: Mapping[str, Measure] = {  # of answerable questions; a refusal scores 0
    "answered": lambda outcome: float(outcome.answer.status == "answered"),
    CITED[0]: lambda outcome: float(bool({*outcome.pages_cited[:1]} & outcome.question.pages)),
    CITED[1]: lambda outcome: float(bool({*outcome.pages_cited} & outcome.question.pages)),
    BM25: lambda outcome: float(outcome.bm25_page in outcome.question.pages),
    "recall of the reference answer's terms": lambda outcome: compute_term_recall(
        outcome.question.answer, outcome.answer.text
    ),
}


def load_page_questions(folder: Path) -> list[PageQuestion]:
    """Return the questions of a folder, in order; those without relevant pages cannot be answered from it."""
    relevant = beir.load_beir_collection(folder).judgements
    return [
        _parse_question(record, relevant.get(str(record["_id"]), {}))
        for record in beir.read_jsonl_records(folder / "queries.jsonl")
    ]


def compute_term_recall(reference: str, text: str) -> float:
    """Return the share of the reference's terms that the text has."""
    wanted = extract_terms(reference)
    return len(wanted & extract_terms(text)) / max(1, len(wanted))


def contains_quote(quote: str, text: str) -> bool:
    """Return whether the words of the quote stand in the text one after another, spaces and letter case apart."""
    return _fold_words(quote) in _fold_words(text)


def compute_box_share(citation: Citation, document: pdfium.PdfDocument) -> float:
    """Return the share of a quote's words that PDFium finds within the boxes, each a point wider all around.

    It holds for pages that are neither turned nor cropped.
    """
    number = citation.place.page if citation.place else None
    page = document[(number or 1) - 1]
    text, height = page.get_textpage(), page.get_height()
    inside = [
        text.get_text_bounded(x0 - 1, height - y1 - 1, x1 + 1, height - y0 + 1) for x0, y0, x1, y1 in citation.boxes
    ]
    found, wanted = (Counter(_fold_words(part).split()) for part in (" ".join(inside), citation.quote))
    return (wanted & found).total() / max(1, wanted.total())


async def measure_answers(
    folder: Path, questions: Sequence[PageQuestion], cache: EvaluationCache
) -> list[AnswerOutcome]:
    """Index the PDFs of a folder and the pages of its corpus, and ask each question of both."""
    pages = await _index_corpus_pages(folder)
    kit = await index_pdf_folder(folder, cache)
    try:
        with _open_pdfs(folder) as documents:
            return [await _ask_question(question, kit, pages, documents) for question in questions]
    finally:
        await kit.close()
        await pages.store.close()


def format_report(outcomes: Sequence[AnswerOutcome]) -> str:
    """Format Markdown tables: all questions, then each half by the number in its id."""
    even = [one for one in outcomes if int(re.sub(r"\D", "", one.question.id)) % 2 == 0]
    odd = [one for one in outcomes if one not in even]
    halves = {"all": outcomes, "even ids": even, "odd ids": odd}
    rows = {
        name: [_format_measure_cell(half, name) for half in halves.values()]
        for name in (*MEASURES, GOLD, BOXED, REFUSED)
    }
    rows |= {f"{name}, minus BM25": [_compare_with_bm25(half, name) for half in halves.values()] for name in CITED}
    header = ["", *(f"{name} (n = {len(half)})" for name, half in halves.items())]
    table = markdown_tables.format_table(header, ([name, *cells] for name, cells in rows.items()))
    return "\n".join([table, "", _format_confidence_bins(outcomes), "", _format_verdict_counts(outcomes)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question only")
    parser.add_argument("--show", type=int, default=0, help="print so many answers")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        outcomes = asyncio.run(measure_answers(given.folder, load_page_questions(given.folder)[:: given.every], cache))
    finally:
        cache.close()
    print(*map(_format_answer, outcomes[: given.show]), format_report(outcomes), sep="\n\n")


def _parse_question(record: Mapping[str, Any], relevant: Mapping[str, int]) -> PageQuestion:
    metadata = record["metadata"]
    pages = frozenset(page for page, grade in relevant.items() if grade > 0)
    quotes = tuple(evidence["text"] for evidence in metadata.get("evidence", ()) if "text" in evidence)
    return PageQuestion(str(record["_id"]), record["text"], pages, metadata.get("answer", ""), quotes)


@contextmanager
def _open_pdfs(folder: Path) -> Iterator[Mapping[str, pdfium.PdfDocument]]:
    documents = {path.name: pdfium.PdfDocument(path) for path in (folder / "pdfs").glob("*.pdf")}
    yield documents
    for document in documents.values():
        document.close()


async def _index_corpus_pages(folder: Path) -> Index:
    """Index a chunk a page, title and text of the corpus, for the lexical leg of the embedded store, which is BM25."""
    index = Index(EmbeddedStore(None), NoEmbedder("words only"))
    for passage in beir.load_beir_collection(folder).documents:
        page = Chunk(passage.id, passage.id, 0, f"{passage.title} {passage.text}".strip(), "", "", passage.id)
        await index.add_document(Document(passage.id, SCOPE.workflow_id, "", "", passage.id, "corpus"), [page], SCOPE)
    return index


async def index_pdf_folder(folder: Path, cache: EvaluationCache) -> Kit:
    """Return a kit in this process's memory, with the PDFs of a folder indexed."""
    return await index_in_memory(load_pdf_uploads(folder), cache)


async def index_in_memory(uploads: Sequence[Upload], cache: EvaluationCache) -> Kit:
    """Return a kit in this process's memory, with these uploads indexed in SCOPE and what its local models say cached.

    A chat model is asked where the settings name one.
    """
    kit = assembly.build_in_memory_kit(load_settings())
    ranker = CachedReranker(kit.reranker, cache, recompute=False)
    index = replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache))
    kit = replace(kit, index=index, reranker=ranker)
    if isinstance(kit.llm, LocalTechniques):
        least = get_least_answerability(kit.entailment_scorer)  # as `build_llm` has it
        kit = replace(kit, llm=LocalTechniques(ranker, select_key_sentences, least_answerability=least))
    await bulk_indexing.index_uploads([(SCOPE, upload) for upload in uploads], kit)
    return kit


async def _ask_question(
    question: PageQuestion, kit: Kit, pages: Index, documents: Mapping[str, pdfium.PdfDocument]
) -> AnswerOutcome:
    answer = await answer_with_pipeline(
        resolve_preset("standard").build_query(question.text, SCOPE),
        kit,
        Run(EVALUATION_TIMEOUT_S),
        pipeline="standard",
    )
    ranking = (await pages.search([Probe("original", question.text)], SCOPE, limit=1))[0]
    cited = [citation for claim in answer.claims for citation in claim.citations if citation.boxes]
    box_shares = tuple(compute_box_share(citation, documents[citation.source]) for citation in cited)
    return AnswerOutcome(question, answer, ranking[0].chunk.id if ranking else "", box_shares)


def _format_cited_page(citation: Citation) -> str:
    return f"{citation.source}#page={citation.place.page if citation.place else None}"


def _format_measure_cell(outcomes: Sequence[AnswerOutcome], name: str) -> str:
    answerable = [one for one in outcomes if one.question.pages]
    if name in MEASURES:
        return _format_mean([MEASURES[name](one) for one in answerable])
    if name == REFUSED:
        return _format_mean([one.answer.status == "unknown" for one in outcomes if not one.question.pages])
    if name == GOLD:
        quoted = [one for one in answerable if one.question.quotes]
        return _format_mean(
            [any(contains_quote(quote, one.answer.text) for quote in one.question.quotes) for one in quoted]
        )
    return _format_mean([share for one in outcomes for share in one.box_shares])


def _format_mean(values: Iterable[float]) -> str:
    listed = list(map(float, values))
    return f"{sum(listed) / len(listed):.3f} (n = {len(listed)})" if listed else "-"


def _compare_with_bm25(outcomes: Sequence[AnswerOutcome], name: str) -> str:
    """Compare a measure of the pages cited with BM25's first page, paired, with a bootstrap's 95 % interval."""
    answerable = [one for one in outcomes if one.question.pages]
    ours, theirs = ({one.question.id: {name: MEASURES[measure](one)} for one in answerable} for measure in (name, BM25))
    return str(metrics.compare_scores(ours, theirs, name)) if answerable else "-"


def _format_confidence_bins(outcomes: Sequence[AnswerOutcome]) -> str:
    """Format how often an answer cites a right page, by confidence; to an unanswerable question it never does."""
    given = [one for one in outcomes if one.answer.status == "answered"]
    rows = []
    for low, high in BINS:
        inside = [one for one in given if low <= one.answer.confidence.value < high]
        if inside:
            mean = sum(one.answer.confidence.value for one in inside) / len(inside)
            right = sum(MEASURES[CITED[1]](one) for one in inside) / len(inside)
            rows.append([f"{low:.2f} to {min(high, 1):.2f}", len(inside), f"{mean:.2f}", f"{right:.2f}"])
    return markdown_tables.format_table(["confidence", "answers", "mean confidence", "cites a right page"], rows)


def _format_verdict_counts(outcomes: Sequence[AnswerOutcome]) -> str:
    counted = Counter(claim.verdict for one in outcomes for claim in one.answer.claims)
    return "verdicts: " + ", ".join(f"{verdict} {count}" for verdict, count in counted.most_common())


def _format_answer(one: AnswerOutcome) -> str:
    cited = ", ".join(one.pages_cited)
    return f"Q: {one.question.text}\nA: {one.answer.text}\n   [{cited}] confidence {one.answer.confidence.value}"


def _fold_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


if __name__ == "__main__":
    main()
