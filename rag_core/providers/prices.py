"""The cost of a call by the list prices of rag_core/core/hosted_models.json; an invoice may differ."""

from rag_core.core.hosted_models import find_hosted_model


def calculate_cost_usd(
    model: str, *, input_tokens: int, output_tokens: int = 0, cached_tokens: int = 0
) -> float | None:
    """Return the cost of a call in USD, None for an unlisted model. A dated version has its model's price.

    `cached_tokens` of the input tokens were read from the provider's cache, at a lower price.
    """
    listed = find_hosted_model(model)
    if listed is None:
        return None
    cached = min(cached_tokens, input_tokens)
    full_price = (input_tokens - cached) * listed.input_usd + output_tokens * listed.output_usd
    return (full_price + cached * listed.cached_input_usd) / 1_000_000
