"""An answer is found again by those who would be given the same one, and by nobody else."""

from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.model import (
    Answer,
    Caption,
    Citation,
    Claim,
    Confidence,
    Evidence,
    Filter,
    Scope,
    SearchResult,
    Span,
)
from rag_core.core.presets import Query
from rag_core.core.user_token import set_user_token
from rag_core.guard.answer_cache import hash_cache_key, load_cached, save_cached
from rag_core.guard.classical import build_query_cache_key
from rag_core.providers.embedded_cache import EmbeddedCache
from tests.fakes import chunk, filled, hit, query
from tests.fakes import kit as make_kit

ASKED = query("What is P0700?")
OTHER: dict[str, Any] = {
    "text": "What is P0701?",
    "how": "keyword",
    "filters": (Filter("title", "eq", "x"),),
    "facets": ("title",),
    "scope": Scope("garage", "ann"),
}
SCOPES = st.builds(
    Scope,
    st.sampled_from(["a", "b", "a|b"]),
    st.sampled_from([None, "", "a", "b"]),
    st.lists(st.sampled_from(["a", "b", "a,b"]), max_size=2).map(tuple),
    st.lists(st.sampled_from(["a", "b", ""]), max_size=2).map(tuple),
)


def changed(field: str) -> Query:
    now = getattr(ASKED, field)
    return replace(ASKED, **{field: OTHER.get(field, now + 1 if isinstance(now, int | float) else "other")})


@pytest.mark.parametrize("field", [field.name for field in fields(Query)])
def test_the_key_changes_with_every_field_of_the_question(field: str) -> None:
    """(RELIABILITY C19), C23, S4-05: change any input and it is a miss; a field that is new is held to it too."""
    assert hash_cache_key(changed(field), "p", "1") != hash_cache_key(ASKED, "p", "1")


def test_the_key_changes_with_the_numbers_and_with_the_documents() -> None:
    """(RELIABILITY C19), C23."""
    keys = {hash_cache_key(ASKED, preset, version) for preset in ("p", "q") for version in ("1", "2", "p1")}
    assert len(keys) == 6


@given(SCOPES, SCOPES)
def test_unlike_scopes_never_share_a_key(one: Scope, other: Scope) -> None:
    """S3-15, C23, (RELIABILITY C19): nothing that is joined can be cut elsewhere and read the same."""
    same = hash_cache_key(replace(ASKED, scope=one), "p", "1") == hash_cache_key(replace(ASKED, scope=other), "p", "1")
    assert same == (one == other)


@pytest.mark.parametrize("text", ["what is p0700?", "  What\tis\n P0700? ", "WHAT IS P0700?"])
def test_case_and_blanks_make_no_difference(text: str) -> None:
    """C24, S4-05: SHA-256 of the normalized text, when all else is the same."""
    assert hash_cache_key(replace(ASKED, text=text), "p", "1") == hash_cache_key(ASKED, "p", "1")
    assert len(hash_cache_key(ASKED, "p", "1")) == 64


def answer() -> Answer:
    span = Span(0, 4, None, 1, 1, (0.0, 0.5, 1.0, 2.0))
    cited = Citation("a", "d", "T", "t.txt", "q", 1, ("s",), span, ((0.0, 0.5, 1.0, 2.0),), None, {"n": 1, "b": True})
    found = hit("a", 1, words=0.5)
    found = replace(
        found, captions=(Caption("c", "<em>c</em>"),), chunk=chunk("a", "täxt", "P0700", metadata={"y": 2.0})
    )
    claim = Claim("t", 0, 1, "partial", (cited,), ("number: 45",))
    return Answer(
        "t", "answered", "extractive", (claim,), Confidence(0.5, {"x": 1}, "x"), (Evidence("e1", found, 0, 4),)
    )


async def test_an_answer_comes_back_as_it_was() -> None:
    """S4-30, S4-04."""
    cache = EmbeddedCache(None, b"secret")
    await save_cached("key", answer(), cache)
    assert await load_cached("key", Answer, cache) == answer()
    await cache.close()


async def test_what_is_no_such_record_is_a_miss() -> None:
    """(RELIABILITY C54): the shape of a record is in its key, and is checked besides."""
    cache = EmbeddedCache(None, b"secret")
    await save_cached("key", SearchResult(), cache)
    assert await load_cached("key", Answer, cache) is None
    await save_cached("key", answer(), cache)
    await cache.set((await keys_of(cache))[-1], b'{"text": 1}', ttl_s=60)
    assert await load_cached("key", Answer, cache) is None
    await cache.close()


@dataclass(frozen=True)
class Text:
    text: str


async def test_what_cannot_be_written_is_not_kept() -> None:
    cache = EmbeddedCache(None, b"secret")
    await save_cached("key", Text("half a \ud800"), cache)
    assert await load_cached("key", Text, cache) is None
    await cache.close()


async def keys_of(cache: EmbeddedCache) -> list[str]:
    assert cache._db
    return [key for (key,) in cache._db.execute("select key from cache order by rowid")]


async def test_two_users_whom_the_search_service_tells_apart_share_no_answer() -> None:
    kit = make_kit(await filled(chunk("a", "the brakes have pads")))
    keys = []
    for token in (None, "ann's token", "bob's token", None):
        set_user_token(token)
        keys.append(await build_query_cache_key(ASKED, kit))
    assert keys[0] == keys[3] != ""
    assert len(set(keys)) == 3
    assert not any("token" in key for key in keys)
