"""The blocks of the pages on HTTP, the command line, settings, jobs and formats."""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from functions.http import STATUS_BY_ERROR
from functions.openapi import build_openapi
from functions.operations import load_operation
from functions.requests import build_request_schemas
from functions.routes import ROUTES, Route
from functions.strict_json import JsonObject
from rag_core.cli import build_parser
from rag_core.core.presets import PRESET_NAMES, PRESETS, RANKING_PRESETS
from rag_core.evaluation.markdown_tables import format_table
from tests.docs_blocks import Blocks

ROOT = Path(__file__).parents[2]
CODE_FOLDERS = ("rag_core", "functions")
NOT_SERVED = ("cli", "evaluation", "reindex.py", "plan.py")  # the errors of commands, which HTTP does not reply with
IDENTIFIER_PATTERN = "^[A-Za-z0-9._:-]{1,128}$"
MAX_STATED_INTEGER = 2**53  # the range of a field that has no bound of its own

SHARED_REQUEST_FIELDS = {
    "workflow_id": "The workflow whose documents are meant.",
    "document_id": "The document.",
}
SHARED_REPLY_FIELDS = {
    "success": "True; false in an error.",
    "run_id": "The id of the request in the log.",
    "degraded": "The steps that gave a lesser result ([codes](degradation.md)).",
    "warnings": "Advice on the request ([codes](degradation.md)).",
    "timings": "Milliseconds by step.",
    "techniques": "The model or local technique that carried out each step.",
    "usage": "Tokens of hosted models and their price.",
    "workflow_id": "The workflow, in replies about one.",
}
REQUEST_MEANINGS = {
    "query": "The question.",
    "top_k": "Hits returned; default: the preset's.",
    "search_type": "Which legs; `semantic` adds the cross-encoder. Default: the preset's.",
    "enable_rerank": "False: none.",
    "enable_query_expansion": "False: none.",
    "enable_hyde": "False: none.",
    "filters": "Conditions by field (see Filters).",
    "history": "The turns before the question, `role` and `content` ([conversations](pipelines.md#conversations)).",
    "pipeline": "The [pipeline](pipelines.md); default: `advanced`.",
    "preset": "The [preset](pipelines.md); default: the pipeline's.",
    "facets": "Fields to count.",
    "document_ids": "Only these documents.",
    "ask.top_n": "Passages of evidence.",
    "top_n": "Contexts in the prompt.",
    "max_results": "`top_k` and `top_n` where these are not given.",
    "rating": "Whether the answer is right.",
    "days": "Days summed up, the last of them today.",
    "comment": "Why.",
    "keep": "True saves the call as `RAG_KEEP_RUNS` does.",
    "follows": "The saved query that this one goes on from.",
    "progress_id": "22 to 64 random letters and digits (see Events).",
    "after": "The last number known.",
    "ask.style": "[Citation style](citations-and-answers.md); default: `sections` for `classical`, else `numbers`.",
    "style": "Citation style.",
    "rag_query.filters": "Lists of `stage` and `status`.",
    "topK": "Passages of evidence; default 5. Above 20 it is 20, with a warning.",
    "clear": "True removes the indexed proposals first.",
    "includeBodies": "False indexes only descriptions.",
    "database": "Default: the only one.",
    "max_columns": "Most columns.",
    "max_tables": "Tables; more while these have fewer than `max_columns`.",
    "by_model": "True lets the chat model choose tables and columns and split the question, in one call.",
    "max_tokens": "Of `ddl`.",
    "content": "The text.",
    "content_base64": "The bytes of a file.",
    "filename": "Its name; the extension says how it is read.",
    "blocks": "Blocks whose positions are known.",
    "index_document.document_id": "An id that exists is replaced; default: derived from source, name or text.",
    "title": "Default: from the file.",
    "source": "Where the document is from; default: the file name.",
    "metadata": "Values by name, for filters and facets.",
    "chunking": "How the document is cut ([strategies](formats.md#chunking)).",
    "async": "True replies 202 also to a short document.",
    "enrichment_budget_usd": "Most for entities and summaries by a chat model; 0 asks none.",
    "layout_budget_usd": "Most that Document Intelligence may cost for this upload; 0 sends nothing.",
    "estimate": "True says what indexing would cost, and indexes nothing.",
    "idempotency_key": "Repeated, it gets the first job or result.",
    "refresh": "True writes the summary anew.",
    "purge": "True erases the text; it cannot be restored.",
    "first_line": "First line of a text original.",
    "page": "The page, from 1.",
    "for": "`agents`: the operations that only read, in OpenAPI 3.0, with compact replies.",
    "format": "`compact`: for a model to read, in fewer tokens.",
    "documents.offset": "First document of the compact list; default 0.",
    "documents.limit": "Most documents of the compact list; default 50.",
    "first_passage": "First passage of the compact reply; default 0.",
    "document.max_tokens": "Of the compact reply's passages; default 4000.",
    "text": "The text.",
    "run_id": "Returned as `about_run`.",
    "operation": "`overview`: the most connected entities with their strongest edges.",
    "entity": "All but `top` and `overview` need it.",
    "target": "The end of a `path`.",
    "depth": "Steps from the entity.",
    "limit": "Most entries returned.",
    "before": "Only queries with a lower id.",
    "original_query": "The question.",
    "expanded_queries": "Its expanded queries.",
    "hyde_answer": "Its HyDE answer.",
    "intent": "Its intent.",
    "entities": "Its entities.",
    "use_full_model": "True uses the full chat model.",
    "response_text": "The answer that was written elsewhere.",
    "llm_response": "A model's reply to the expansion prompt.",
    "replay_query.preset": "The preset to rank with.",
    "config": "Numbers of the preset, by name.",
    "description": "Why it was edited.",
    "wording": "The new template.",
}
ERROR_REMEDIES = {
    "invalid_request": "The caller; `field` names the wrong field.",
    "forbidden": "Whoever grants roles.",
    "not_found": "The caller.",
    "conflict": "The caller, by an earlier step; the operator for `reindex_required`.",
    "too_large": "The caller; `details` has the limit.",
    "unsupported_document": "The caller; the message lists what is read.",
    "document_unreadable": "The author of the file.",
    "misconfigured": "The operator; `field` names the setting.",
    "unavailable": "Time; `Retry-After` has the seconds. The code may name the component ([codes](degradation.md)).",
    "script_unread": "The operator, by a model for more scripts, or the caller by `search_type` `keyword`.",
    "deadline_exceeded": "Time; a step that the reply needs had none left.",
    "storage_full": "The operator; what was acknowledged can be read.",
    "overloaded": "Time; `Retry-After` has the seconds.",
}


def write_routes() -> str:
    """Return each route with what it does and its request and reply fields, then the models that these are made of.

    Raises:
        KeyError: a field of a request is not described in `REQUEST_MEANINGS`.
    """
    schemas = build_openapi()["components"]["schemas"]
    routes = sorted(ROUTES, key=lambda route: route.path[:3] != "api")
    shared = [
        "Fields of many requests, described only here:",
        _list_meanings(SHARED_REQUEST_FIELDS),
        "Fields of every reply:",
        _list_meanings(SHARED_REPLY_FIELDS),
    ]
    told: dict[object, str] = {}
    sections = ["\n\n".join(_describe_operation(route, schemas, told)) for route in routes]
    return "\n\n".join([*shared, *sections, "### Models", *_describe_models(routes, schemas)])


def _list_meanings(meanings: Mapping[str, str]) -> str:
    return "\n".join(f"- `{name}`: {meaning}" for name, meaning in meanings.items())


def _describe_operation(route: Route, schemas: JsonObject, told: dict[object, str]) -> Iterator[str]:
    """Yield the heading of an operation, its request fields and its reply fields.

    `told` has, by the row of a field or the list of a reply, the first operation that has it; later ones refer to it.
    """
    operation, heading = load_operation(route), f"{' or '.join(route.methods)} /{route.path}"
    yield f"### {heading}"
    yield _describe_route(route)
    rows = list(_describe_request_fields(route, operation.request)) if operation.request else []
    if fresh := [row for row in rows if told.setdefault(row, heading) == heading]:
        yield "\n".join(f"- {name}{f' ({values})' if values else ''}: {meaning}" for name, values, meaning in fresh)
    for other in dict.fromkeys(told[row] for row in rows if row not in fresh):
        yield f"As in `{other}`: {', '.join(row[0] for row in rows if told[row] == other)}."
    reply = _list_reply_fields(operation.reply.__name__, schemas)
    first = told.setdefault(operation.reply, heading)
    reply = f"Reply: {reply}." if first == heading else f"Reply: as of `{first}`."
    if operation.compact:
        reply += f" Compact: `{operation.compact.__name__}`."
    if operation.accepted:
        reply += f" Reply 202: {_list_reply_fields(operation.accepted.__name__, schemas)}."
    yield reply


def _describe_route(route: Route) -> str:
    """Return what the route does, and the role that it needs or that it needs no key."""
    operation = load_operation(route)
    summary = operation.summary.replace(" (administrators only)", "")
    if operation.required_role:
        return f"{summary} Role `{operation.required_role}`."
    return f"{summary} No key." if route.anonymous else summary


def _describe_request_fields(route: Route, request: type[Any]) -> Iterator[tuple[str, str, str]]:
    schema = build_request_schemas([request])[request.__name__]
    for name, field in schema["properties"].items():
        own = f"{route.name}.{name}"
        if f"{{{name}}}" in route.path or (name in SHARED_REQUEST_FIELDS and own not in REQUEST_MEANINGS):
            continue
        meaning = REQUEST_MEANINGS[own if own in REQUEST_MEANINGS else name]
        yield f"`{name}`", _format_range(field, name in schema.get("required", ())), meaning


def _format_range(field: JsonObject, required: bool) -> str:
    """Return "required" or the default of a field, and the values that it takes."""
    default = field.get("default")
    stated = f"`{str(default).lower()}`" if default not in (None, "") and not isinstance(default, dict | list) else ""
    return "; ".join(filter(None, ["required" if required else stated, _format_values(field)]))


def _format_values(field: JsonObject) -> str:
    """Return the values of a field: its choices, its bounds, or the model that it is made of."""
    if "enum" in field and set(field["enum"]) <= set(PRESET_NAMES) and "pages" in field["enum"]:
        return ", ".join(["a preset", *(f"not `{name}`" for name in PRESET_NAMES if name not in field["enum"])])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if model := next(_list_models(field), None):
        return f"`{model}`"
    if "maximum" in field:
        at_most = field["maximum"]
        return f"{field['minimum']} or more" if at_most == MAX_STATED_INTEGER else f"{field['minimum']} to {at_most}"
    for key, unit in (("maxLength", "characters"), ("maxItems", "entries"), ("maxProperties", "entries")):
        if key in field:
            return f"up to {field[key]} {unit}"
    if field.get("type") == "boolean" and "default" not in field:
        return "true, false"
    return "id" if field.get("pattern") == IDENTIFIER_PATTERN else ""


def _list_reply_fields(model: str, schemas: JsonObject) -> str:
    """Return the fields of a reply, each with the model that it is made of, without those of every reply."""
    fields = schemas[model]["properties"]
    return _list_fields({name: fields[name] for name in fields if name not in SHARED_REPLY_FIELDS})


def _list_fields(fields: JsonObject) -> str:
    return ", ".join(_format_reply_field(name, field) for name, field in fields.items())


def _format_reply_field(name: str, schema: JsonObject) -> str:
    model = next(_list_models(schema), None)
    return f"`{name}` (`{model}`)" if model else f"`{name}`"


def _list_models(schema: Any) -> Iterator[str]:
    """Yield the models that a schema refers to."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for part in schema.values():
            yield from _list_models(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _list_models(part)


def _describe_models(routes: Iterable[Route], schemas: JsonObject) -> Iterator[str]:
    """Yield the list of the models that requests and replies are made of, in the order in which they first occur."""
    operations = [load_operation(route) for route in routes]
    requests = [op.request.__name__ for op in operations if op.request and op.request.__name__ in schemas]
    pending = [
        *requests,
        *(model.__name__ for op in operations for model in (op.reply, op.accepted) if model),
    ]
    found: dict[str, None] = {}
    while pending:
        fields = schemas[pending.pop(0)]["properties"]
        for name in dict.fromkeys(_list_models([fields[name] for name in fields if name not in SHARED_REPLY_FIELDS])):
            if name not in found:
                found[name] = None
                pending.append(name)
    yield "\n".join(f"- `{name}`: {_list_fields(schemas[name]['properties'])}" for name in found)


def write_errors() -> str:
    """Return each error with its status, who can correct it, and the further codes of the same status."""
    further = _collect_error_codes()
    rows = [
        (status, f"`{kind.code}`", ERROR_REMEDIES[kind.code], ", ".join(f"`{code}`" for code in further[kind.__name__]))
        for kind, status in STATUS_BY_ERROR.items()
    ]
    rows.append((500, "`internal`", "The maintainers; the log has the `run_id`.", ""))
    return format_table(["status", "code", "who can correct it", "more specific codes"], rows)


def _collect_error_codes() -> dict[str, list[str]]:
    """Return the codes that the source gives to errors of the statuses below 500, by the name of their class."""
    names = {kind.__name__ for kind, status in STATUS_BY_ERROR.items() if status < 500}
    codes: dict[str, set[str]] = defaultdict(set)
    for folder in CODE_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not set(path.parts) & set(NOT_SERVED):
                for name, code in _list_error_codes(ast.parse(path.read_text("utf-8"))):
                    codes[name].add(code)
    return defaultdict(list, {name: sorted(codes[name]) for name in names})


def _list_error_codes(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the called name and the code of each call with a literal `code=`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                    yield ast.unparse(node.func).rpartition(".")[2], str(keyword.value.value)


def write_commands() -> str:
    """Return the commands of `rag` with their arguments and options; what several commands share is listed once."""
    commands = dict(_list_commands(build_parser(), "rag"))
    uses = Counter(_format_argument(action) for parser, _ in commands.values() for action in _list_arguments(parser))
    shared = [text for text, count in uses.items() if count > 1]
    lines = []
    for name, (parser, help_text) in commands.items():
        arguments = _list_arguments(parser)
        usage = [_format_usage(action) for action in arguments if _is_in_usage(action, shared)]
        lines.append(f"- `{' '.join([name, *usage])}`: {help_text}")
        own = [text for text in map(_format_argument, arguments) if text not in shared]
        lines += [f"  - {text}" for text in own if ": " in text]
    shared_lines = [f"- {text}" for text in shared if ": " in text]
    return "\n".join([*lines, "", "Arguments and options of several commands:", "", *shared_lines])


def _is_in_usage(action: argparse.Action, shared: list[str]) -> bool:
    """Return whether the usage line has the argument: not an option of one command alone, or of nearly all."""
    if action.option_strings:
        return _format_argument(action) in shared and action.dest not in ("data", "workflow")
    return True


def _list_commands(
    parser: argparse.ArgumentParser, name: str, help_text: str = ""
) -> Iterator[tuple[str, tuple[argparse.ArgumentParser, str]]]:
    """Yield the commands below a parser, each with its own parser and its help."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups or parser.get_default("command"):
        yield name, (parser, help_text)
    for group in groups:
        helps = {choice.dest: choice.help or "" for choice in group._choices_actions}
        for command, below in group.choices.items():
            yield from _list_commands(below, f"{name} {command}", helps[command])


def _list_arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    unlisted = (argparse._HelpAction, argparse._SubParsersAction)
    listed = (action for action in parser._actions if not isinstance(action, unlisted))
    return [action for action in listed if action.help != argparse.SUPPRESS]


def _format_usage(action: argparse.Action) -> str:
    """Return an argument as a usage line has it: optional ones in brackets, repeated ones with an ellipsis."""
    if action.option_strings:
        return f"[{action.option_strings[0]}]"
    text = str(action.metavar) + (" …" if action.nargs == "+" else "")
    return f"[{text}]" if action.nargs == "?" else text


def _format_argument(action: argparse.Action) -> str:
    """Return an argument with its help, or alone where it has none."""
    name = " ".join([*action.option_strings[:1], *_name_value(action)])
    help_text = (action.help or "").replace(", ".join(PRESETS), "any preset")
    help_text = help_text.replace(", ".join(RANKING_PRESETS), "any but facets")
    return f"`{name}`: {help_text}" if help_text else f"`{name}`"


def _name_value(action: argparse.Action) -> list[str]:
    """Return the name of the value that an argument takes, if it takes one."""
    if action.option_strings and action.nargs == 0:
        return []
    if action.choices:
        return ["|".join(map(str, action.choices))]
    return [str(action.metavar or action.dest.upper())]


BLOCKS: Blocks = {
    "routes": ("reference/http-api.md", write_routes),
    "errors": ("reference/http-api.md", write_errors),
    "commands": ("reference/cli.md", write_commands),
}
