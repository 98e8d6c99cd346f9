"""Who may import whom: arrows point to nouns; only adapters know vendors; only bootstrap knows adapters."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOUNS = {"model", "errors", "ports", "codes", "packing", "side_files"}
DOMAIN = NOUNS | {"rankings", "run", "index", "kit", "presets"}

# room -> rooms of rag_core, or single files of them, that it may import, besides itself
ALLOWED: dict[str, set[str]] = {
    "model": set(),
    "codes": set(),
    "packing": set(),
    "side_files": {"errors"},
    "errors": set(),
    "ports": {"model", "errors"},
    "rankings": {"model", "codes"},
    "telemetry": set(),
    "run": NOUNS | {"telemetry"},
    "index": NOUNS | {"rankings"},
    "kit": NOUNS | {"index"},
    "presets": {"model", "errors"},
    "prompts": {"model", "ports"},
    "extractive": NOUNS | {"ingestion.text", "stages.terms"},
    "stages": DOMAIN - {"kit", "presets"} | {"prompts", "extractive", "ingestion"},
    "pipelines": DOMAIN - {"presets"} | {"stages"},
    "service": DOMAIN - {"presets"} | {"stages", "pipelines"},
    "graph": NOUNS | {"index"},
    "lifecycle": NOUNS | {"index", "kit", "run"},
    "proposals": DOMAIN | {"service", "ingestion"},
    "audit": DOMAIN | {"service", "graph", "lifecycle", "ingestion", "reply", "sources"},
    "styles": {"model"},
    "sources": NOUNS | {"kit", "run", "ingestion"},
    "reply": {"model", "run", "presets", "styles"},
    "agent": DOMAIN | {"service", "reply", "styles"},
    "engine": DOMAIN | {"service", "ingestion", "styles"},
    "ingestion": NOUNS | {"index", "kit", "run", "providers.retrying"},
    "stores": NOUNS | {"rankings", "run", "current", "providers.retrying"},
    "providers": NOUNS | {"run", "telemetry", "extractive", "ingestion.text", "ingestion.enrich", "stages.intent"},
    "reindex": NOUNS,
    "current": {"errors"},
    "settings": {"errors"},
    "choices": {"errors", "settings"},
    "client": DOMAIN | {"agent", "settings", "bootstrap"},  # made of parts as functions are: by bootstrap alone
    "bootstrap": NOUNS
    | {"index", "kit", "settings", "choices", "current", "stores", "providers", "ingestion"}
    | {"stages.abbreviate", "stages.redact"},
    "notebook": DOMAIN | {"prompts", "stages", "workbench", "settings", "bootstrap"},
    "workbench": DOMAIN | {"prompts", "stages", "pipelines", "service", "ingestion", "reply", "styles"},
    "cli": DOMAIN
    | {
        "workbench",
        "audit",
        "lifecycle",
        "service",
        "graph",
        "ingestion",
        "settings",
        "choices",
        "bootstrap",
        "reply",
        "styles",
    }
    | {"current", "reindex"},
}
FUNCTIONS_MAY = DOMAIN | {
    "sources",
    "proposals",
    "lifecycle",
    "service",
    "graph",
    "ingestion",
    "settings",
    "reply",
    "styles",
    "workbench",
}  # no store, no provider, no bootstrap
ADAPTERS = ("rag_core/stores/", "rag_core/providers/", "rag_core/ingestion/")
VENDORS: dict[str, tuple[str, ...]] = {  # outside the adapters, who may know whom
    "opentelemetry": ("rag_core/telemetry.py",),
    "azure": (
        *(f"functions/{name}.py" for name in ("http", "mcp", "pages", "triggers")),
        "function_app.py",
        "local_emulator/",
    ),
    "httpx2": ("rag_core/client.py",),
    "werkzeug": ("local_emulator/",),
    **dict.fromkeys(("apsw", "numpy", "tantivy"), ("local_emulator/search_service/",)),
    "pydantic": ("functions/wire.py", "rag_core/stages/remember.py"),
    "rich": ("rag_core/cli/",),
    "phonenumbers": ("rag_core/stages/pii/checks.py", "rag_core/bootstrap.py"),
}
OURS = {"rag_core", "functions", "local_emulator", "evals", "function_app", "examples"}


def sources() -> list[Path]:
    rooms = [p for room in ("rag_core", "functions", "local_emulator") for p in (ROOT / room).rglob("*.py")]
    return sorted([*rooms, ROOT / "function_app.py"])


def imported(path: Path) -> Iterator[str]:
    """Dotted names of every module imported anywhere in a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(dotted: str) -> str:
    """The room of rag_core that a dotted name stands in."""
    return dotted.split(".")[1] if "." in dotted else ""


def strangers(path: Path) -> list[str]:
    """The imports of a file that its room does not allow."""
    place = path.relative_to(ROOT).as_posix()
    names = list(imported(path))
    ours = [n for n in names if n.split(".")[0] == "rag_core"]
    found = [n for n in ours if not may_import(place, n)]
    for name in names:
        vendor = name.split(".")[0]
        if vendor in OURS or vendor in sys.stdlib_module_names or place.startswith(ADAPTERS):
            continue
        if not place.startswith(VENDORS.get(vendor, ())):
            found.append(name)
    return found


def may_import(place: str, dotted: str) -> bool:
    room, file = room_of(dotted), ".".join(dotted.split(".")[1:3])
    if place.startswith("functions/"):
        return room in FUNCTIONS_MAY
    if place.startswith("rag_core/"):
        mine = Path(place).parts[1].removesuffix(".py")
        return room == mine or mine == "__init__" or bool({room, file} & ALLOWED[mine])
    return True


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_room_imports_only_whom_it_may(path: Path) -> None:
    assert strangers(path) == []


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
    assert readers <= {"rag_core/settings.py"}


def test_everything_is_caught_in_one_place_only() -> None:
    broad = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    }
    assert broad <= {"functions/http.py"}


def test_a_stranger_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table finds a planted stranger, so that the test above can fail."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    planted = tmp_path / "rag_core" / "stages" / "planted.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("def f():\n    from rag_core.stores.embedded import EmbeddedStore\n    import openai\n")
    assert strangers(planted) == ["rag_core.stores.embedded.EmbeddedStore", "openai"]
