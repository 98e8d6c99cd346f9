"""The operator's own glossary takes the place of the shipped one."""

from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.composition import assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.settings import DEFAULT_SETTINGS, load_settings


def test_the_shipped_glossary_is_used_unless_another_is_named(tmp_path: Path) -> None:
    """S4-03."""
    own = tmp_path / "glossary.csv"
    own.write_text("AIP,Arbitrum Improvement Proposal\n", "utf-8")
    assert assembly.build_in_memory_kit(DEFAULT_SETTINGS).glossary["mi"] == "myocardial infarction"
    named = replace(load_settings({"RAG_GLOSSARY": str(own)}), data_dir=None)
    assert assembly.build_in_memory_kit(named).glossary == {"aip": "Arbitrum Improvement Proposal"}


@pytest.mark.parametrize("content", [None, b"AIP;Arbitrum", b"\xff\xfe"])
def test_a_glossary_that_cannot_be_read_ends_the_start(tmp_path: Path, content: bytes | None) -> None:
    own = tmp_path / "glossary.csv"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(Misconfigured, match="RAG_GLOSSARY") as refused:
        assembly.build_in_memory_kit(replace(DEFAULT_SETTINGS, glossary=own))
    assert refused.value.field == "RAG_GLOSSARY"
