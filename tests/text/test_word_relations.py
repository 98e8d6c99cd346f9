"""Words that mean the same, the opposite, or are derived, in any form."""

import gzip

import pytest

from evals.word_relations import collect_relations, format_table, read_irregular_forms, read_senses, read_synsets
from rag_core.text.word_relations import TABLE_FILE, are_antonyms, find_base_forms, find_synonyms


def mean_the_same(word: str, other: str) -> bool:
    synonyms = frozenset().union(*map(find_synonyms, find_base_forms(word)))
    return not synonyms.isdisjoint(find_base_forms(other))


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("began", "started"),
        ("purchased", "bought"),
        ("goes on", "continues"),
        ("consists", "comprise"),
        ("decision", "decided"),
        ("yearly", "annual"),
        ("stopped", "ceases"),
    ],
)
def test_synonyms_and_derived_words_are_found_in_any_form(word: str, other: str) -> None:
    assert mean_the_same(word, other)


@pytest.mark.parametrize("word", ["test", "bed", "bies"])
def test_a_stem_of_one_letter_is_none(word: str) -> None:
    assert find_base_forms(word) == {word}


@pytest.mark.parametrize(
    ("word", "other"), [("granted", "denied"), ("rises", "fell"), ("huge", "small"), ("permitted", "forbidden")]
)
def test_antonyms_are_found_either_way(word: str, other: str) -> None:
    assert are_antonyms(word, other)
    assert are_antonyms(other, word)
    assert not mean_the_same(word, other)


@pytest.mark.parametrize(("word", "other"), [("monday", "tuesday"), ("customer", "made"), ("", "small")])
def test_other_words_are_neither(word: str, other: str) -> None:
    assert not are_antonyms(word, other)
    assert not mean_the_same(word, other)


def test_the_licence_of_the_data_stands_beside_it() -> None:
    licence = TABLE_FILE.with_name("word_relations.LICENSE").read_text("utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert TABLE_FILE.stat().st_size < 2_000_000


def test_the_table_is_made_of_the_files_of_wordnet(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Two senses of a verb, of which one is the opposite of a third; an irregular form; a name is left out."""
    data = [
        "  1 licence",
        "00000001 30 v 03 begin 0 start 0 Start 0 001 ! 00000002 v 0101 | set out",
        "00000002 30 v 01 end 0 001 ! 00000001 v 0101 | stop",
    ]
    index = ["begin v 1 1 ! 1 1 00000001", "start v 1 1 ! 1 1 00000001", "end v 1 1 ! 1 1 00000002"]
    for name in ("noun", "verb", "adj", "adv"):
        lines = (data, index, ["began begin"]) if name == "verb" else ([], [], [])
        for file, rows in zip((f"data.{name}", f"index.{name}", f"{name}.exc"), lines, strict=True):
            (tmp_path / file).write_text("\n".join(rows), "latin-1")
    relations = collect_relations(read_synsets(tmp_path), read_senses(tmp_path))
    assert list(format_table(relations, read_irregular_forms(tmp_path))) == [
        "began\tbegin",
        "begin\t\tstart\tend",
        "end\t\t\tbegin start",
        "start\t\tbegin\tend",
    ]
    assert gzip.decompress(TABLE_FILE.read_bytes()).decode().startswith("a")
