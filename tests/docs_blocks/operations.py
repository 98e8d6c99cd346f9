"""The blocks of the pages on stores, degradation, cost and deployment."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rag_core.core import errors
from rag_core.evaluation.markdown_tables import format_table
from rag_core.providers.openai import MODEL_ERROR_CODES
from rag_core.stores.archive.tables import ARCHIVE_METADATA
from rag_core.stores.azure_search.schema import build_index_definition
from tests.docs_blocks import Blocks

ROOT = Path(__file__).parents[2]
DIMENSIONS = 1536  # of the hosted default; the page shows no number of dimensions
INDEX_FIELD_USES = ("searchable", "filterable", "facetable")

ARCHIVE_ROWS = {
    "queries": "a saved query",
    "results": "a saved result",
    "rag_config": "a preset, in force and as edited",
    "prompt_meta": "a prompt in force",
    "works": "an original",
    "queries_log": "an entry of the query log",
    "answer_logs": "what an answer under way has told",
    "quoted_documents": "a document that a saved query ever quoted",
    "row_checksums": "the checksums of a row",
}

TRANSIENT_ERRORS = {"Unavailable", "NotChosen", "DeadlineExceeded", "UnsupportedScript", "StorageFull"}
OTHER_ERRORS = {name for name in vars(errors) if name not in TRANSIENT_ERRORS}  # what has another `code=`

WARNING_CALLS = ("warn", "warn_current_run", "_warn", "_note_damage", "StoreWarning")  # what gives a warning its code

STEP_CODES = {
    "citation_unverified": "Sentences of a model's answer are unsupported or cite unknown passages.",
    "enrichment_budget": "The ceiling of a document was reached; the rest was described without a model.",
    "enrichment_incomplete": "A chat model did not describe some passages; they were described without one.",
    "embedding_pending": "The document is found by lexical search; a job adds its vectors.",
    "embedding_unavailable": "No embedding model; found by lexical search only.",
    "grade_missing": "The reply lacks grades of some passages.",
    "judgement_missing": "The judge left out some claims.",
    "index_partial": "The search service has not accepted all chunks; the earlier version stays.",
    "layout_fallback": "Document Intelligence failed; the local parser read the file.",
    "link_removed": "A link or image is not in the cited passage.",
    "llm_output_invalid": "The reply lacks expanded queries or the HyDE answer.",
    "no_results": "The index has no answer; web search results are quoted.",
    "original_not_kept": "The document is indexed, but its original could not be stored.",
    "prompt_repeated": "A sentence of the answer repeats the instructions to the model.",
    "price_unknown": "The chat model has no known price, so it was not asked for entities and summaries.",
    "run_not_kept": "The reply is complete, but it could not be saved.",
}

FAILURE_CODES = {
    "answer_log_unavailable": "The answer log did not answer; answers come.",
    "archive_damaged": "The archive is damaged.",
    "archive_unavailable": "The archive did not answer.",
    "backup_failed": "The backup failed.",
    "audit_deferred": "The query log did not answer; the entry is written later.",
    "deadline_exceeded": "The step or the request ran out of time.",
    "document_being_indexed": "A job is writing the document; repeat the request.",
    "embedding_invalid": "The embedding service sent unusable vectors.",
    "embedding_unavailable": "The embedding service did not answer or refused the key, or there is no model.",
    "index_replaced": "`rag reindex` switched to another index; repeat the request.",
    "jobs_unavailable": "The job table did not answer.",
    "knowledge_base_partial": "One of the knowledge base's searches failed.",
    "layout_empty": "Document Intelligence or tesseract found no text.",
    "layout_invalid": "Document Intelligence sent an unusable result.",
    "layout_budget": "The pages would cost more than one upload may (`RAG_LAYOUT_BUDGET_USD`); they were not sent.",
    "layout_not_planned": "A plan sends nothing to Document Intelligence.",
    "layout_refused": "Document Intelligence could not read the file.",
    "layout_unavailable": "Document Intelligence did not answer or refused the key.",
    "llm_output_invalid": "The chat model's reply is cut off or malformed.",
    "llm_refused": "The chat model or its content filter declined the prompt.",
    "llm_unavailable": "The chat model did not answer or refused the key, or there is none.",
    "outbox_unavailable": "The outbox of the Azure AI Search store cannot be written.",
    "queue_unavailable": "The queue did not answer; the worker finds the job at its next poll.",
    "recognition_failed": "tesseract could read no page.",
    "redaction_failed": "The redactor failed; no unredacted text is passed on.",
    "reranker_unavailable": "There is no cross-encoder.",
    "retrieval_unavailable": "No leg could be searched, or not the one that was requested.",
    "script_unread": "The embedding model does not read the script of the text.",
    "search_response_invalid": "Azure AI Search sent a malformed reply.",
    "search_throttled": "Azure AI Search did not answer.",
    "source_unavailable": "The database of the proposals did not answer.",
    "storage_full": "The disk is full; what was stored can be read.",
    "restore_unfinished": "Repeat the restore.",
    "store_busy": "Other writers hold the store; repeat the request.",
    "store_moved": "The data folder was moved; put it back.",
    "store_failed": "The database of the store failed or did not answer.",
    "unavailable": "A local model cannot be run.",
    "web_unavailable": "The web search did not answer.",
    "words_busy": "Another process holds the word index; repeat the request.",
    "words_failed": "The word index cannot be read or built.",
}

WARNING_CODES = {
    "archive_earlier": "The archive was put back to an earlier state.",
    "chunks_cut": "More chunks exist than are shown.",
    "claims_cut": "Only the first sentences were verified.",
    "disk_full": "The disk is full; nothing can be written.",
    "documents_damaged": "The named documents are damaged and left out.",
    "context_trimmed": "The evidence was cut to `context_tokens`.",
    "edit_has_no_effect": "This version does not take the edited numbers of a preset.",
    "evidence_left_out": "A cited PDF changed or is not stored.",
    "expansion_incomplete": "The pasted reply lacks a part.",
    "extraction": "What the extractor noted about the file.",
    "facet_condition": "The facets are counted under a condition that the question names.",
    "facet_condition_unknown": "Nothing was counted: the question has a condition that no field has.",
    "facet_field_chosen": "The facet field was taken from the question.",
    "facet_field_default": "The question names no field.",
    "index_earlier": "The index was put back to an earlier state.",
    "index_in_memory": "The word index is held in memory.",
    "index_rebuilt": "A damaged part of the index was built again.",
    "groups_short": "Groups below `context_min_chars` were left out.",
    "groups_sparse": "Groups below `coverage_min` were left out.",
    "language_unread": "The local models do not read the language of the question; its words are searched for.",
    "layout_pages": "So many pages were sent to Document Intelligence, which is paid by the page.",
    "lines_cut": "More lines exist than are shown.",
    "lines_unread": "Lines of the pasted reply belong to no part.",
    "not_computed": "A table fits, but a cell, unit or column forbids computing, or `classical` was asked.",
    "condition_not_found": "The passages lack a name, period or condition asked for.",
    "low_confidence": "An answer below its threshold: a model's is replaced by quotes, quotes by a refusal.",
    "no_effect": "An option of the request has no effect.",
    "no_results": "Nothing in the workflow matches.",
    "nothing_consolidated": "No group is left; prompts use the retrieved chunks.",
    "nothing_indexed": "The caller sees no document in this workflow.",
    "purge_unfinished": "A purged document is not yet overwritten.",
    "personal_data_redacted": "Personal data was redacted; values are not repeated.",
    "proposal": "A proposal's record has an unknown or unusable value.",
    "run_not_kept": "Queries of this pipeline are not saved.",
    "summary_of_beginning": "Only the first chunks were summarized.",
    "superseded_cited": "A cited passage is marked superseded.",
    "sources_disagree": "Cited documents differ in figures.",
    "summary_not_written": "GET writes no summary: POST does.",
    "top_k_capped": "`topK` was reduced to its maximum.",
    "unknown_filter_field": "No document has a field of the filter.",
}


@dataclass
class _Codes:
    """The codes that the source gives: each with the steps that name it, those of failures, and those of warnings."""

    steps: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    failures: set[str] = field(default_factory=set)
    warnings: set[str] = field(default_factory=set)
    relaying: set[str] = field(default_factory=set)  # steps whose code is that of the failure


def write_index_fields() -> str:
    """Return the fields of the Azure AI Search index, grouped by type and use, in the order of the schema."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for definition in build_index_definition("page", DIMENSIONS)["fields"]:
        uses = ", ".join(use for use in INDEX_FIELD_USES if definition.get(use)) or "stored"
        groups[definition["type"].replace("Edm.", ""), uses].append(f"`{definition['name']}`")
    return format_table(["type", "use", "fields"], [(*key, ", ".join(names)) for key, names in groups.items()])


def write_archive_tables() -> str:
    """Return the tables of the archive with their columns.

    Raises:
        KeyError: a table is not described in `ARCHIVE_ROWS`.
    """
    rows = [
        (f"`{table.name}`", ARCHIVE_ROWS[table.name], ", ".join(f"`{column.name}`" for column in table.columns))
        for table in ARCHIVE_METADATA.tables.values()
    ]
    return format_table(["table", "a row is", "columns"], rows)


def write_codes() -> str:
    """Return the codes of `degraded` and of `warnings`, with what each means.

    Raises:
        ValueError: a code is not described, or a described one is no longer given.
    """
    codes = _collect_codes()
    _check_described("degraded", codes.steps, STEP_CODES)
    _check_described("failures", codes.failures, FAILURE_CODES)
    _check_described("warnings", codes.warnings, WARNING_CODES)
    own = [f"- `{code}` (`{_only(codes.steps[code])}`): {STEP_CODES[code]}" for code in sorted(STEP_CODES)]
    return "\n\n".join(
        [
            "### Codes that a step gives",
            "\n".join(own),
            "### Codes of failures",
            f"These steps give the code of the failure that they worked around: {_in_backticks(codes.relaying)}.",
            _list_meanings(FAILURE_CODES),
            "### Codes of warnings",
            _list_meanings(WARNING_CODES),
        ]
    )


def _list_meanings(meanings: Mapping[str, str]) -> str:
    return "\n".join(f"- `{code}`: {meanings[code]}" for code in sorted(meanings))


def _only(steps: set[str]) -> str:
    """Return the only step. Raises ValueError when a code is given by several: the page has room for one."""
    (step,) = steps
    return step


def _in_backticks(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _check_described(kind: str, found: Iterable[str], described: Iterable[str]) -> None:
    """Raise ValueError unless exactly the codes that were found are described."""
    if missing := sorted(set(found) - set(described)):
        raise ValueError(f"{kind}: tests/docs_blocks/operations.py does not describe {', '.join(missing)}")
    if stale := sorted(set(described) - set(found)):
        raise ValueError(f"{kind}: nothing gives {', '.join(stale)}")


def _collect_codes() -> _Codes:
    codes = _Codes()
    for folder in ("rag_core", "functions"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "evaluation" not in path.parts:
                _collect_codes_of_module(ast.parse(path.read_text("utf-8")), codes)
    codes.failures |= {code for pair in MODEL_ERROR_CODES.values() for code in pair}
    return codes


def _collect_codes_of_module(module: ast.Module, codes: _Codes) -> None:
    constants = dict(_list_constants(module))
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and _is_transient_error(node):
            codes.failures |= {value for name, value in _list_constants(node) if name == "code"}
        elif isinstance(node, ast.Call):
            _collect_codes_of_call(node, module, constants, codes)


def _list_constants(node: ast.Module | ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the names in the body that are assigned a text, with it."""
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def _is_transient_error(node: ast.ClassDef) -> bool:
    return node.name in TRANSIENT_ERRORS or any(ast.unparse(base) in TRANSIENT_ERRORS for base in node.bases)


def _collect_codes_of_call(call: ast.Call, module: ast.Module, constants: dict[str, str], codes: _Codes) -> None:
    called = ast.unparse(call.func).rpartition(".")[2]
    texts = [_get_text(argument, constants) for argument in call.args]
    if called == "degrade" and texts[0]:
        if texts[1]:
            codes.steps[texts[1]].add(texts[0])
        else:
            codes.relaying.add(texts[0])
    elif called == "attempt" and texts[0]:
        codes.relaying.add(texts[0])
    elif called in WARNING_CALLS:
        codes.warnings |= {texts[0]} if texts[0] else set(_list_returned_codes(call, module))
    elif called not in OTHER_ERRORS:
        found = (_get_text(keyword.value, constants) for keyword in call.keywords if keyword.arg == "code")
        codes.failures |= {code for code in found if code}


def _get_text(node: ast.expr, constants: dict[str, str]) -> str | None:
    """Return the text of a literal or of a constant of the module; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _list_returned_codes(call: ast.Call, module: ast.Module) -> Iterator[str]:
    """Yield the codes of `warn(*function(…))`: the first items of what that function of the module returns."""
    names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    for function in ast.walk(module):
        if isinstance(function, ast.AsyncFunctionDef | ast.FunctionDef) and function.name in names:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    code = _get_text(node.value.elts[0], {})
                    yield from [code] if code else []


BLOCKS: Blocks = {
    "index-fields": ("reference/stores.md", write_index_fields),
    "archive-tables": ("reference/stores.md", write_archive_tables),
    "codes": ("reference/degradation.md", write_codes),
}
