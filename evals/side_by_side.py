"""`rag reindex --evaluate`: the same questions to the old index and the new one, before the switch."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from evals import markdown
from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.model import Document, Scope
from rag_core.core.ports import Probe
from rag_core.evaluation import beir, metrics

DEPTH = 100  # hits: several may be chunks of one document
LEGS = ("meaning", "hybrid")
HEADS = (
    "| search | index | nDCG@10 | recall@10 | nDCG@10, new minus old, 95 % interval |\n| --- | --- | --- | --- | --- |"
)


async def compare(directory: Path, scope: Scope, old: Index, new: Index) -> str:
    """A table in markdown of how well both rank the documents that the folder's questions are judged by.

    The folder has queries.jsonl and qrels.tsv; a document is named there by its id, source, file name or title.

    Raises:
        Misconfigured: the folder is not so, or judges no document of this index.
    """
    questions, judgements = beir.questions(directory)
    judged = {name for grades in judgements.values() for name in grades}
    names = {document.id: _name(document, judged) for document in await old.store.documents(scope)}
    if not judged & set(names.values()):
        raise Misconfigured(f"{directory} judges no document that is indexed in workflow {scope.workflow_id}")
    lines = [HEADS]
    for leg in LEGS:
        before = metrics.evaluate(await _rankings(questions, leg, scope, old, names), judgements)
        after = metrics.evaluate(await _rankings(questions, leg, scope, new, names), judgements)
        lines += [_line(leg, "old", before), _line(leg, "new", after, str(metrics.compare(after, before)))]
    return "\n".join([f"{directory.name}: {len(questions)} questions to both", "", *lines])


async def _rankings(
    questions: Mapping[str, str], leg: str, scope: Scope, index: Index, names: Mapping[str, str]
) -> dict[str, Sequence[str]]:
    """The names of the documents found by each question, best first, each once."""
    vectors = await index.embed(list(questions.values()))
    probes = [
        Probe(id, text if leg == "hybrid" else "", vector)
        for (id, text), vector in zip(questions.items(), vectors, strict=True)
    ]
    found = await index.find(probes, scope, limit=DEPTH)
    ranked = ([names.get(hit.chunk.document_id, hit.chunk.document_id) for hit in hits] for hits in found)
    return {id: list(dict.fromkeys(documents)) for id, documents in zip(questions, ranked, strict=True)}


def _name(document: Document, judged: Collection[str]) -> str:
    """What the judgements call a document, else its id."""
    known = (document.id, document.source, Path(document.source).name, document.title)
    return next((name for name in known if name in judged), document.id)


def _line(leg: str, index: str, scores: metrics.Scores, difference: str = "") -> str:
    means = (f"{metrics.mean(scores, measure):.3f}" for measure in ("ndcg@10", "recall@10"))
    return markdown.line((leg, index, *means, difference))
