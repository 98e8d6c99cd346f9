"""Rewrite the question of a semantic search, as the service's own generative model does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .analysis import ENGLISH_STOPS
from .refusals import make_refusal, make_unimplemented_refusal

Json = dict[str, Any]

MOST_REWRITES = 10
_KIND = re.compile(r"generative(?:\|count-(\d+))?")


class RewriterUnavailable(Exception):
    """A rewriter raises this when it has no other wordings now; the service then searches the question alone."""


class Rewriter(Protocol):
    """A rewriter words a question otherwise. Whoever makes the service hands it one."""

    def rewrite_question(self, text: str, count: int) -> Sequence[str]:
        """Return at most `count` other wordings.

        Raises:
            RewriterUnavailable: there are none now.
        """
        ...


class WordRewriter:
    """A rewriter by rule, without a model: the question without its little words, and without one more word each."""

    def rewrite_question(self, text: str, count: int) -> Sequence[str]:
        words = [word for word in re.findall(r"\w+", text) if word.lower() not in ENGLISH_STOPS]
        shorter = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
        return [one for one in dict.fromkeys([" ".join(words), *shorter]) if one and one != text][:count]


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The other wordings of a question; `failed` says that there should have been some."""

    texts: Sequence[str] = ()
    failed: bool = False
    told: bool = False  # shown by debug "queryRewrites"


def rewrite_question(body: Json, rewriter: Rewriter | None) -> Rewrites:
    """Rewrite the question of a search that asks for it. Raises a ServiceRefusal for what is wrong with that."""
    kind = body.get("queryRewrites") or "none"
    if kind == "none":
        return Rewrites()
    found = _KIND.fullmatch(kind)
    count = int(found[1] or MOST_REWRITES) if found else 0
    if not 1 <= count <= MOST_REWRITES:
        raise make_refusal(
            f"Invalid value '{kind}': 'generative|count-N' with N from 1 to 10.", parameter="queryRewrites"
        )
    if body.get("queryType") != "semantic":
        raise make_refusal("'queryRewrites' can only be used with queryType 'semantic'.", parameter="queryRewrites")
    if not body.get("queryLanguage"):
        raise make_refusal("'queryLanguage' is required when 'queryRewrites' is set.", parameter="queryLanguage")
    if rewriter is None:
        raise make_unimplemented_refusal("'queryRewrites' without a rewriter")
    told = body.get("debug") in ("queryRewrites", "all")
    try:
        return Rewrites(rewriter.rewrite_question(str(body.get("search") or ""), count), told=told)
    except RewriterUnavailable:
        return Rewrites(failed=True, told=told)
