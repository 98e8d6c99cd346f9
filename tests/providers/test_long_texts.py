"""A fact at the very end of a long chunk is found, though the models read 512 tokens at most."""

from rag_core.providers.bert import MAX_SEQUENCE_TOKENS
from rag_core.text.tokens import count_tokens
from tests import local

FACT = "The vault door on the north side is opened with the seven digit code that only Marguerite keeps."
QUESTION = "who keeps the code that opens the vault door?"
FILLER = (
    "Paragraph {} reports that the quarterly harvest of barley went well, that rain came in time, that wages of the "
    "pickers were paid on Friday, and that the mill will be closed for repairs of its wheel until the spring.\n"
)


def _chunk(tokens: int, end: str, start: int = 0) -> str:
    lines = [FILLER.format(start)]
    while count_tokens("".join(lines) + end) < tokens:
        lines.append(FILLER.format(start + len(lines)))
    return "".join(lines) + end


LONG = _chunk(800, FACT)
DECOYS = [_chunk(800, "", start) for start in range(100, 500, 100)]


def test_the_fact_stands_in_the_last_50_tokens_of_800_and_beyond_the_models_reach() -> None:
    assert 780 <= count_tokens(LONG) <= 860
    assert count_tokens(FACT) <= 50
    assert count_tokens(LONG[: LONG.index(FACT)]) > MAX_SEQUENCE_TOKENS


async def test_the_embedding_of_the_chunk_is_nearest_to_the_question() -> None:
    """S1-51: chunks of 800 tokens are embedded whole."""
    question = await local.embedder().embed_query(QUESTION)
    vectors = await local.embedder().embed_documents([*DECOYS, LONG])
    closeness = [sum(a * b for a, b in zip(question, vector, strict=True)) for vector in vectors]
    assert closeness[-1] > max(closeness[:-1]) + 0.02


async def test_the_cross_encoder_scores_the_chunk_by_its_best_window() -> None:
    *decoys, long = await local.reranker().score_passages(QUESTION, [*DECOYS, LONG])
    assert long > 0.5 > 0.01 > max(decoys)
