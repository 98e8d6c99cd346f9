"""The comparison that `rag reindex --evaluate` prints: the same questions to the old index and to the new one."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.model import Document, Scope
from rag_core.core.ports import Probe
from rag_core.evaluation import beir, markdown_tables, metrics

MAX_COMPARED_HITS = 100  # more than the 10 that are scored, because several may be chunks of one document
SEARCHES = {"meaning": False, "hybrid": True}  # whether the words of the question are searched for too
COLUMNS = ("search", "index", "nDCG@10", "recall@10", "nDCG@10, new minus old, 95 % interval")


async def compare_indexes(folder: Path, scope: Scope, old: Index, new: Index) -> str:
    """Return a table of how well both indexes rank the documents that the folder's questions are judged by.

    The folder has queries.jsonl and qrels.tsv, which name a document by its id, source, file name or title.

    Raises:
        Misconfigured: a file of the folder is missing or malformed, or judges no document of the old index.
    """
    questions, judgements = beir.load_beir_queries(folder)
    judged_names = {name for grades in judgements.values() for name in grades}
    names = {
        document.id: _find_judged_name(document, judged_names) for document in await old.store.list_documents(scope)
    }
    if not judged_names & set(names.values()):
        raise Misconfigured(f"{folder} judges no document that is indexed in workflow {scope.workflow_id}")
    rows: list[tuple[str, ...]] = []
    for search, is_hybrid in SEARCHES.items():
        before = metrics.score_rankings(await _rank_documents(questions, is_hybrid, scope, old, names), judgements)
        after = metrics.score_rankings(await _rank_documents(questions, is_hybrid, scope, new, names), judgements)
        rows += [
            (search, "old", *_format_scores(before), ""),
            (search, "new", *_format_scores(after), str(metrics.compare_scores(after, before))),
        ]
    return f"{folder.name}: {len(questions)} questions to both\n\n{markdown_tables.format_table(COLUMNS, rows)}"


async def _rank_documents(
    questions: Mapping[str, str], is_hybrid: bool, scope: Scope, index: Index, names: Mapping[str, str]
) -> dict[str, Sequence[str]]:
    """Return the names of the documents that each question finds, best first, each once."""
    vectors = await index.embed_queries(list(questions.values()))
    probes = [
        Probe(question_id, text if is_hybrid else "", vector)
        for (question_id, text), vector in zip(questions.items(), vectors, strict=True)
    ]
    rankings = await index.search(probes, scope, limit=MAX_COMPARED_HITS)
    return {
        question_id: list(dict.fromkeys(names.get(hit.chunk.document_id, hit.chunk.document_id) for hit in hits))
        for question_id, hits in zip(questions, rankings, strict=True)
    }


def _find_judged_name(document: Document, judged_names: Collection[str]) -> str:
    """Return the name by which the judgements call a document, or else its id."""
    known_names = (document.id, document.source, Path(document.source).name, document.title)
    return next((name for name in known_names if name in judged_names), document.id)


def _format_scores(scores: metrics.MeasureScores) -> tuple[str, ...]:
    return tuple(f"{metrics.average_measure(scores, measure):.3f}" for measure in ("ndcg@10", "recall@10"))
