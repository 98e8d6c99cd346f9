"""`python -m evals.proposals FOLDER`: does the preset `proposals` find the proposal, and cite the one expected?

FOLDER is in BEIR's layout with records as docs/reference/proposals.md has them: a question is a proposal's title, so
this is a known item's measure. Titles are also withheld from the documents, for else the header has the
question's very words.
With `--questions FILE` (lines of `query`, `proposal_id`, `says`) each is answered, and its citations held to these.
With `--documents` the collection is `docs/*.md` instead, asked those of `queries.jsonl` that name an
`evidence_string`, which should stand in the answer or a quote, and those that cannot be answered.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Citation, Scope
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.evaluation import beir, markdown_tables, metrics
from rag_core.evaluation.evaluation_cache import CachedEmbedder, EvaluationCache
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import search_with_pipeline
from rag_core.proposals.ingest import PROPOSAL_LIMITS, ingest_proposals
from rag_core.proposals.records import ProposalRecord
from rag_core.rag import RAG

CACHE = Path(".cache/proposals.sqlite3")
SCOPE = Scope("proposals")
PATIENCE_S = 3600.0
CHUNKING = Chunking(chunk_size=512, overlap=50)
WAYS: Mapping[str, Mapping[str, Any]] = {"proposals": {}, "the same by words": {"search_type": "keyword"}}


@dataclass(frozen=True, slots=True)
class ProposalAnswer:
    """A question with the proposal and the words expected, what was answered, and the proposals cited, in order."""

    query: str
    expected: str
    says: str
    text: str
    cited: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """The words expected were said; for a question that cannot be answered, nothing was cited."""
        return self.says.lower() in self.text.lower() if self.expected else not self.cited


def withhold_title(record: ProposalRecord) -> ProposalRecord:
    """Return the record without its title."""
    return {**record, "metadata": {**record["metadata"], "title": ""}}


async def score_known_items(folder: Path, cache: EvaluationCache, every: int) -> dict[str, metrics.MeasureScores]:
    """Score each way of asking, with titles and without. A proposal without a stage cannot be found."""
    collection = beir.load_beir_collection(folder)
    queries = dict(list(collection.queries.items())[::every])
    judged = {query: collection.judgements[query] for query in queries}
    changes: dict[str, Callable[[ProposalRecord], ProposalRecord]] = {
        "titles kept": lambda record: record,
        "titles withheld": withhold_title,
    }
    scores: dict[str, metrics.MeasureScores] = {}
    for name, change in changes.items():
        kit = await build_proposal_kit(
            [change(record) for record in beir.read_jsonl_records(beir.find_corpus_file(folder))], cache
        )
        for way, numbers in WAYS.items():
            found = {id: await _rank_proposals(text, kit, numbers) for id, text in queries.items()}
            scores[f"{way}, {name}"] = metrics.score_rankings(found, judged)
        await kit.close()
    return scores


async def answer_questions(
    folder: Path, questions: Sequence[Mapping[str, str]], cache: EvaluationCache
) -> list[ProposalAnswer]:
    """Answer each question as over HTTP."""
    kit = await build_proposal_kit(list(beir.read_jsonl_records(beir.find_corpus_file(folder))), cache)
    answered = [await _answer_with_citations(q["query"], q["proposal_id"], q["says"], kit) for q in questions]
    await kit.close()
    return answered


async def answer_document_questions(folder: Path, cache: EvaluationCache) -> list[ProposalAnswer]:
    """Answer the questions of a folder of documents that are no proposals."""
    kit = await build_proposal_kit([], cache)
    for path in sorted((folder / "docs").glob("*.md")):
        upload = Upload(data=path.read_bytes(), filename=path.name, document_id=path.name)
        await index_document(upload, SCOPE, kit, Run(PATIENCE_S), chunking=CHUNKING, limits=PROPOSAL_LIMITS)
    relevant = beir.load_beir_collection(folder).judgements
    asked = [(r, r["metadata"]) for r in beir.read_jsonl_records(folder / "queries.jsonl")]
    chosen = [(r, told) for r, told in asked if told.get("evidence_string") or told["kind"] == "unanswerable"]
    answered = [
        await _answer_with_citations(
            r["text"], next(iter(relevant.get(r["_id"], {})), ""), told.get("evidence_string", ""), kit
        )
        for r, told in chosen
    ]
    await kit.close()
    return answered


async def build_proposal_kit(records: Sequence[ProposalRecord], cache: EvaluationCache) -> Kit:
    """Return a kit with an index in memory that holds these proposals."""
    kit = assembly.build_in_memory_kit(DEFAULT_SETTINGS)
    kit = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache)))
    await ingest_proposals(records, SCOPE, kit, Run(PATIENCE_S))
    return kit


def format_score_table(scores: Mapping[str, metrics.MeasureScores]) -> str:
    """Format a Markdown table with a row for each way of asking."""
    rows = [
        [name, *(f"{metrics.average_measure(s, measure):.3f}" for measure in metrics.REPORTED_MEASURES)]
        for name, s in scores.items()
    ]
    heads = [f"n = {len(next(iter(scores.values())))}", *metrics.REPORTED_MEASURES]
    return markdown_tables.format_table(heads, rows)


def format_answer_counts(answered: Sequence[ProposalAnswer]) -> str:
    """Format how many cite what is expected, and say it; then each that does not."""
    known = [one for one in answered if one.expected]
    first = sum(one.expected in one.cited[:1] for one in known)
    some = sum(one.expected in one.cited for one in known)
    says = sum(one.is_right for one in known)
    lines = [f"the expected one cited first {first}, cited {some}, its words said {says}, of {len(known)}"]
    others = [one.is_right for one in answered if not one.expected]
    lines += [f"unanswerable refused {sum(others)} of {len(others)}"] if others else []
    misses = (one for one in answered if not one.is_right)
    return "\n".join([*lines, *(f"- {one.query} -> {one.text[:200]!r} {list(one.cited)}" for one in misses)])


async def _rank_proposals(text: str, kit: Kit, numbers: Mapping[str, Any]) -> list[str]:
    preset = resolve_preset("proposals", top_k=60, **numbers)
    result = await search_with_pipeline(preset.build_query(text, SCOPE), kit, Run(PATIENCE_S), pipeline=preset.pipeline)
    return list(dict.fromkeys(str(hit.chunk.metadata["proposal_id"]) for hit in result.hits))


async def _answer_with_citations(query: str, expected: str, says: str, kit: Kit) -> ProposalAnswer:
    reply, cited = await RAG(kit).answer_proposals(query, scope=SCOPE, run=Run(PATIENCE_S), top_k=5)
    text = "\n".join((reply.answer.text, *(citation.quote for citation in cited)))
    return ProposalAnswer(query, expected, says, text, tuple(dict.fromkeys(map(_get_cited_id, cited))))


def _get_cited_id(citation: Citation) -> str:
    return str(citation.metadata.get("proposal_id", citation.document_id))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="ask every n-th title only")
    parser.add_argument("--questions", type=Path, help="answer these instead")
    parser.add_argument("--documents", action="store_true", help="ask the documents of the folder instead")
    given = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        if given.documents:
            print(format_answer_counts(asyncio.run(answer_document_questions(given.folder, cache))))
        elif given.questions:
            questions = [json.loads(line) for line in given.questions.read_text("utf-8").splitlines()]
            print(format_answer_counts(asyncio.run(answer_questions(given.folder, questions, cache))))
        else:
            print(format_score_table(asyncio.run(score_known_items(given.folder, cache, given.every))))
    finally:
        cache.close()


if __name__ == "__main__":
    main()
