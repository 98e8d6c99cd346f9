"""List prices of hosted models, by which the cost of a request is estimated.

Prices of 2026-11-21 in USD per million tokens, without discounts for caching or batches, from
developers.openai.com/api/docs/pricing (Azure's global deployments cost the same) and ai.google.dev/pricing as far as
public price tables repeat them; an invoice may differ. They are reviewed when a default model changes.
"""

import re

USD_PER_MILLION_TOKENS: dict[str, tuple[float, float]] = {  # input, output
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-3.5-turbo": (0.50, 1.50),
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-3-large": (0.13, 0.0),
    "gemini-1.5-pro": (1.25, 5.00),  # prompts of up to 128,000 tokens
    "gemini-1.5-flash": (0.075, 0.30),
}
MODEL_VERSION_SUFFIX = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{3,4}|latest)$")


def calculate_cost_usd(model: str, *, input_tokens: int, output_tokens: int = 0) -> float | None:
    """Return the cost of a call in USD, None for an unlisted model. A dated version has its model's price."""
    price = USD_PER_MILLION_TOKENS.get(MODEL_VERSION_SUFFIX.sub("", model.removeprefix("models/")))
    return None if price is None else (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000
