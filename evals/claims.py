"""How often a false claim is called verified, and a true one not: sentences of real documents, said again by rule.

    python -m evals.claims [FOLDER] [--final] [--count 40] [--show KIND]

Each claim is judged against the chunk it was made from and the four that are nearest to it by words (a claim from
another document only against the nearest five). Without `--final` it takes the documents of even number and the kinds
that were not held back; with it the others and all kinds. See docs/reference/evaluation-answers.md.
"""

import argparse
import asyncio
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from evals.claim_kinds import FALSE, HELD_BACK, NEGATIONS, NUMBERS, SUPPORTED, Source
from rag_core.answering.citations import evidence_from_hits, verify_with_cross_encoder
from rag_core.composition import model_assembly
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Claim, Document, Evidence, Hit, Scope
from rag_core.core.ports import Probe, Reranker
from rag_core.core.settings import Settings
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.metrics import compute_wilson_interval
from rag_core.providers.null_models import NoEmbedder
from rag_core.stores.embedded import EmbeddedStore
from rag_core.text.sentences import find_sentences

SEED = 20261122
SLICE = Path(__file__).parent / "data" / "claims"  # what CI has: the layout of the whole
SETS = ("retrieval/xquad", "retrieval/cranfield", "retrieval/claude-docs", "pdf/usgov", "pdf/contoso", "domain/dtc")
ASKED = "retrieval/xquad"
DOCUMENTS = 120  # of a set, at most: more would have large sets outweigh small ones
CHUNK = 3000  # characters, ending with a sentence
NEAREST = 5
SCOPE = Scope("claims")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """A claim, whether it is true, and the evidence it is judged by."""

    kind: str
    text: str
    true: bool
    origin: str
    evidence: tuple[Evidence, ...]


async def load_claim_index(folder: Path) -> Index:
    """Index every set of the folder as chunks, searchable by words."""
    index = Index(EmbeddedStore(None), NoEmbedder("the nearest are found by words"))
    for name in SETS:
        for number, row in enumerate(_read_documents(folder / name)):
            chunks = [
                _build_chunk(f"{name}/{row['_id']}", number, n, part) for n, part in enumerate(_split_text(row["text"]))
            ]
            about = Document(chunks[0].document_id, SCOPE.workflow_id, row["title"], name, row["_id"], "evals")
            await index.add_document(about, chunks, SCOPE)
    return index


def _read_documents(folder: Path) -> list[dict[str, Any]]:
    """Read the documents of a set, evenly chosen; lines of one sentence are taken twenty together."""
    found = [path for path in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if path.is_file()]
    if not found:
        return []
    rows = [json.loads(line) for line in _read_lines(found[0]) if line.strip()]
    if len(rows) > 10 * DOCUMENTS and all(len(row["text"]) < 200 for row in rows[:50]):
        lines = [f"{row['_id'].split('|')[0]}: {row['text'].rstrip('.')}." for row in rows]
        rows = [
            {"_id": lines[n][:5], "title": "", "text": "\n".join(lines[n : n + 20])} for n in range(0, len(lines), 20)
        ]
    step = max(1, len(rows) // DOCUMENTS)
    return [row for row in rows[::step] if row["text"].strip()][:DOCUMENTS]


def _read_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from file


def _split_text(text: str) -> list[str]:
    parts, began = [], 0
    for (_, end), (_, following) in pairwise([*find_sentences(text), (len(text), len(text))]):
        if following - began > CHUNK or end == len(text.rstrip()):
            parts.append(text[began:end].strip())
            began = end
    return [part for part in parts if part] or [text]


def _build_chunk(document: str, number: int, ordinal: int, content: str) -> Chunk:
    id = f"{document}/{ordinal}"
    return Chunk(id, document, ordinal, content, "", document, id, metadata={"number": number})


async def make_claims(index: Index, *, final: bool, count: int) -> list[LabelledClaim]:
    """Make at most `count` claims a kind and set, each from another sentence; the same every time."""
    wanted = {name: kind for name, kind in {**SUPPORTED, **FALSE}.items() if final or name not in HELD_BACK}
    chunks = [c for c in await index.store.select(SCOPE, limit=100_000) if c.metadata["number"] % 2 == final]
    found = []
    for name, kind in wanted.items():
        taken: Counter[str] = Counter()
        random = Random(f"{SEED} {name}")
        for chunk in random.sample(chunks, len(chunks)):
            origin = "/".join(chunk.document_id.split("/")[:2])
            if taken[origin] < count and (statement := _make_claim(chunk, kind, random)):
                evidence = await _find_evidence(index, statement, chunk, without=name == "cross_document")
                if name == "cross_document" and any(statement in one.text for one in evidence):
                    continue
                taken[origin] += 1
                found.append(LabelledClaim(name, statement, name in SUPPORTED, origin, evidence))
    return found


async def make_question_claims(index: Index, folder: Path, *, final: bool, count: int) -> list[LabelledClaim]:
    """Turn people's questions with their answers into statements: true, and not in the words of the text."""
    path = folder / ASKED / "queries.jsonl"
    rows = [json.loads(line) for line in _read_lines(path)] if path.is_file() else []
    passages = dict(line.split("\t")[:2] for line in _read_lines(folder / ASKED / "qrels.tsv")) if rows else {}
    chunks = {
        c.document_id: c for c in await index.store.select(SCOPE, limit=100_000) if c.metadata["number"] % 2 == final
    }
    found = []
    for row in rows:
        chunk = chunks.get(f"{ASKED}/{passages[row['_id']]}")
        statement = state_answer(row["text"], row["metadata"]["answers"][0]["text"])
        if chunk and statement:
            found.append(
                LabelledClaim(
                    "question_answer",
                    statement,
                    True,
                    ASKED,
                    await _find_evidence(index, statement, chunk, without=False),
                )
            )
    return Random(SEED).sample(found, min(count, len(found)))


def state_answer(question: str, answer: str) -> str | None:
    """State "Who led the Panthers?", "Ann Lee" as "Ann Lee led the Panthers."; None for a question of another form."""
    if who := re.fullmatch(r"Who (?!did |does |do |else )([a-z].+)\?", question):
        return f"{answer.rstrip('.')} {who[1]}."
    if what := re.fullmatch(r"What (is|was|are|were) (the [^?]+)\?", question):
        return f"T{what[2][1:]} {what[1]} {answer.rstrip('.')}."
    return None


def _make_claim(chunk: Chunk, kind: Callable[[Source, Random], str | None], random: Random) -> str | None:
    """Make a claim of one of the chunk's sentences, if the kind fits any."""
    ranges = find_sentences(chunk.content)
    texts = [" ".join(chunk.content[start:end].split()) for start, end in ranges]
    sources = [Source(text, after, chunk.content) for text, after in pairwise([*texts, ""]) if _is_whole_sentence(text)]
    statements = [claim for source in random.sample(sources, len(sources))[:8] if (claim := kind(source, random))]
    return statements[0] if statements else None


def _is_whole_sentence(text: str) -> bool:
    return (
        5 <= len(text.split()) <= 45 and text.endswith(".") and text[0].isalnum() and not re.search(r"[|{}<>_=]", text)
    )


async def _find_evidence(index: Index, statement: str, chunk: Chunk, *, without: bool) -> tuple[Evidence, ...]:
    [hits] = await index.search([Probe("claim", statement)], SCOPE, limit=NEAREST + 1)
    others = [hit for hit in hits if hit.chunk.document_id != chunk.document_id]
    own = [] if without else [Hit(chunk, 1.0)]
    return evidence_from_hits([*own, *others][:NEAREST])


async def judge_claims(claims: Sequence[LabelledClaim], reranker: Reranker) -> list[Claim]:
    plain = [Claim(one.text, 0, len(one.text), "unsupported") for one in claims]
    return await verify_with_cross_encoder(plain, [one.evidence for one in claims], reranker)


def format_claim_table(claims: Sequence[LabelledClaim], verdicts: Sequence[Claim]) -> list[str]:
    """Format kind by verdict, with the rate of wrong verdicts and its 95 % interval; then the groups."""
    counts: Mapping[str, Counter[str]] = defaultdict(Counter)
    for one, verdict in zip(claims, verdicts, strict=True):
        for row in (one.kind, *_list_groups(one)):
            counts[row][verdict.verdict] += 1
    true = {*SUPPORTED, "question_answer", "true", "true, held back"}
    lines = [
        "| kind | held back | n | verified | partial | unsupported | wrongly judged, 95 % |",
        "|---|---|---|---|---|---|---|",
    ]
    return lines + [_format_claim_row(row, count, row in true) for row, count in counts.items()]


def _list_groups(one: LabelledClaim) -> Iterator[str]:
    if one.kind == "question_answer":  # not a light rephrasing: a row of its own
        return
    groups = ["true" if one.true else "false"]
    groups += ["numbers"] * (one.kind in NUMBERS) + ["negations"] * (one.kind in NEGATIONS)
    for group in groups:
        yield group
        if one.kind in HELD_BACK:
            yield f"{group}, held back"


def _format_claim_row(row: str, count: Counter[str], true: bool) -> str:
    n = count.total()
    wrong = n - count["verified"] if true else count["verified"]
    low, high = compute_wilson_interval(wrong, n)
    held = "yes" if row in HELD_BACK or row.endswith("held back") else ""
    cells = [
        row,
        held,
        n,
        count["verified"],
        count["partial"],
        count["unsupported"],
        f"{wrong / n:.1%} [{low:.1%}, {high:.1%}]",
    ]
    return markdown_tables.format_row(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SLICE)
    parser.add_argument("--final", action="store_true", help="the other half of the documents, and all kinds")
    parser.add_argument("--count", type=int, default=20, help="claims a kind and set, at most")
    parser.add_argument("--show", help="print the wrongly judged claims of a kind ('all': of every kind)")
    chosen = parser.parse_args()
    asyncio.run(_print_report(chosen))


async def _print_report(chosen: argparse.Namespace) -> None:
    index = await load_claim_index(chosen.folder)
    claims = await make_claims(index, final=chosen.final, count=chosen.count)
    claims += await make_question_claims(index, chosen.folder, final=chosen.final, count=2 * chosen.count)
    began = time.perf_counter()
    verdicts = await judge_claims(claims, model_assembly.build_local_reranker(Settings()))
    took = time.perf_counter() - began
    print(*format_claim_table(claims, verdicts), sep="\n")
    print(f"\n{len(claims)} claims, {took / len(claims) * 1000:.0f} ms a claim")
    for one, claim in zip(claims, verdicts, strict=True):
        if chosen.show in (one.kind, "all") and one.true != (claim.verdict == "verified"):
            print("", f"{one.kind} {claim.verdict} {claim.reasons}", one.text, claim.citations[:1], sep="\n")


if __name__ == "__main__":
    main()
