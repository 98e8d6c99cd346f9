"""What the word index of the embedded store ranks by, beyond the words of a passage."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from rag_core.core.model import Filter
from rag_core.stores.embedded import EmbeddedStore, lexical_index, search
from tests.stores.sample import SCOPE, SPACE, bare, chunk, document, find, ids, put, vector


async def test_words_that_only_make_a_text_a_question_find_nothing() -> None:
    store = EmbeddedStore(None)
    await put(store, "manual", ["how does it do what you do", "the torque of the shaft"])
    assert ids(await find(store, "what does the torque do", how="words")) == ["manual:001"]


async def test_a_question_of_such_words_alone_is_searched_by_them() -> None:
    store = EmbeddedStore(None)
    await put(store, "manual", ["how does it do what you do", "the torque of the shaft"])
    assert ids(await find(store, "how do you do it", how="words")) == ["manual:000"]


async def test_a_word_counts_less_in_the_title_than_in_the_content() -> None:
    store = EmbeddedStore(None)
    for id, title, content in (("a", "Shaft", "brake line"), ("b", "Brake", "shaft line")):
        made = chunk(id, 0, content, title=title, heading_path=())
        await store.replace_document(document(id), [made], [vector(content)], SCOPE, space=SPACE)
    assert ids(await find(store, "shaft", how="words")) == ["b:000", "a:000"]


async def test_words_that_follow_one_another_as_in_the_question_count_more() -> None:
    """Also with stop words between them, which the question or the passage may leave out."""
    store = EmbeddedStore(None)
    await put(store, "manual", ["oil valve hose pressure", "oil pressure valve hose", "oil of the pressure hose valve"])
    found = await find(store, "Is the oil pressure fine?", how="words")
    assert ids(found) == ["manual:001", "manual:002", "manual:000"]
    assert found[1].score > found[2].score


async def test_an_index_of_another_version_is_built_anew_and_its_files_are_removed(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await put(store, "manual", ["the torque of the shaft"])
    assert await find(store, "torque", how="words")
    await store.close()
    [folder] = (tmp_path / "words").iterdir()
    old = folder.rename(folder.with_name(folder.name.rpartition("-")[0] + "-1"))
    (old / "meta.json").write_text("of a version that is not read")
    store = EmbeddedStore(tmp_path)
    assert ids(await find(store, "torque", how="words")) == ["manual:000"]
    assert list((tmp_path / "words").iterdir()) == [folder]
    assert folder.name.endswith(f"-{search.LEXICAL_ANALYSIS_VERSION}")


async def test_a_purge_removes_the_files_of_other_versions_too(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    await put(store, "manual", ["the torque of the shaft"])
    assert await find(store, "torque", how="words")
    [folder] = (tmp_path / "words").iterdir()
    old = folder.with_name(folder.name.rpartition("-")[0] + "-1")
    old.mkdir()
    assert await store.purge("manual", SCOPE)
    assert not old.exists()


async def test_a_narrow_filter_finds_and_scores_what_a_wide_one_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked up term by term or left out afterwards: the same passages with the same scores."""
    store, draw = EmbeddedStore(None), Random(1)
    words = ["oil", "pressure", "valve", "P0700", "shaft", "of", "the", "brake"]
    for n in range(60):
        await put(store, f"d{n}", [" ".join(draw.choices(words, k=12)) for _ in range(3)], colour=n % 12, odd=n % 2)
    scopes = [SCOPE, replace(SCOPE, document_ids=("d3", "d5", "d11"))]
    filters = [
        [Filter("metadata.colour", "eq", 3)],
        [Filter("metadata.colour", "le", 1), Filter("metadata.odd", "eq", 1)],
    ]
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(lexical_index, "MAX_LOOKED_UP_SHARE", share)
        rankings = [
            bare(await find(store, text, scope, how="words", limit=99, filters=chosen))
            for text in ("oil pressure valve", "the P0700", "brake of the shaft")
            for scope in scopes
            for chosen in filters
        ]
        found.append(rankings)
    assert found[0] == found[1]
    assert sum(map(len, found[0])) > 50
