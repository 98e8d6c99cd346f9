"""Other wordings of a question: paraphrases, and an answer imagined so that its like can be found."""

from collections.abc import Sequence

from rag_core import prompts
from rag_core.ports import LLM
from rag_core.stages.replies import garbled, read_list
from rag_core.stages.screen import screen

WORDING_CHARS = 400  # twice what the prompt allows: a longer one is not a wording of a question
IMAGINED_CHARS = 4000  # about what an embedder reads of one text


async def expand(text: str, passages: Sequence[str], llm: LLM, *, count: int) -> list[str]:
    """The text itself, then at most `count` other wordings, each once, without links that the text does not have.

    Raises:
        Unavailable: the model did not answer, or with no usable wording (llm_output_invalid).
    """
    reply = await llm.complete(prompts.query_expansion(text, passages, count=count))
    wordings = {_folded(text): text}
    for wording in read_list(reply.text, "queries"):
        if isinstance(wording, str) and 0 < len(wording.strip()) <= WORDING_CHARS:
            wordings.setdefault(_folded(wording), screen(wording.strip(), [text])[0])
    if len(wordings) == 1 and not reply.local:  # a local technique may have no passages to work from
        raise garbled("has no other wording of the question")
    return list(wordings.values())[: 1 + count]


async def imagine(text: str, passages: Sequence[str], llm: LLM) -> list[str]:
    """A passage that would answer the question, for searching by meaning only; none when there is nothing to say.

    Raises:
        Unavailable: the model did not answer, or with nothing (llm_output_invalid).
    """
    reply = await llm.complete(prompts.hyde(text, passages))
    imagined = reply.text.strip()[:IMAGINED_CHARS]
    if not imagined and not reply.local:
        raise garbled("is empty")
    return [imagined] if imagined else []


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
