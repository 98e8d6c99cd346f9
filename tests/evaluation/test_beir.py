import gzip
import shutil
from pathlib import Path

import pytest

from rag_core.core.errors import Misconfigured
from rag_core.evaluation import beir

TINY = Path(__file__).parents[1] / "data" / "beir_tiny"


def test_queries_without_a_relevant_document_are_left_out() -> None:
    collection = beir.load_beir_collection(TINY)
    assert list(collection.queries) == ["code", "second", "meaning"]
    assert collection.judgements["second"] == {"3": 1, "2": 0}
    assert len(collection.documents) == 10


def test_the_first_queries_can_be_asked_for() -> None:
    collection = beir.load_beir_collection(TINY, max_queries=2)
    assert list(collection.queries) == list(collection.judgements) == ["code", "second"]


def test_a_compressed_corpus_reads_the_same(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "beir_tiny")
    plain = tmp_path / "beir_tiny" / "corpus.jsonl"
    (plain.parent / "corpus.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert beir.load_beir_collection(plain.parent) == beir.load_beir_collection(TINY)


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_folder_in_another_layout_is_refused_by_name(tmp_path: Path, missing: str) -> None:
    shutil.copytree(TINY, tmp_path / "set")
    (tmp_path / "set" / missing).unlink()
    with pytest.raises(Misconfigured, match=missing):
        beir.load_beir_collection(tmp_path / "set")


def test_judgements_may_stand_in_a_split_as_beir_has_them(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "beir_tiny")
    (tmp_path / "beir_tiny" / "qrels").mkdir()
    (tmp_path / "beir_tiny" / "qrels.tsv").rename(tmp_path / "beir_tiny" / "qrels" / "test.tsv")
    assert beir.load_beir_collection(tmp_path / "beir_tiny") == beir.load_beir_collection(TINY)


def test_a_damaged_line_is_refused(tmp_path: Path) -> None:
    shutil.copytree(TINY, tmp_path / "set")
    (tmp_path / "set" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\ncode 1 2\n")
    with pytest.raises(Misconfigured, match="not rows of query, document and grade"):
        beir.load_beir_collection(tmp_path / "set")
