"""Token prices from `genai-prices`, a maintained list that works without a network."""

from __future__ import annotations

LOCAL = frozenset({"vllm", "ollama", "lmstudio"})
"""Providers on the user's own machine, which are free."""

_IDS = {"openai-compatible": None, "azure": "azure", "bedrock": "aws"}
"""Providers with another name in the price list; None if the name does not determine who bills."""


def price_of(provider: str, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars; None when the model is not in the list.

    >>> price_of("ollama", "qwen3", 1000, 1000)
    0.0
    >>> price_of("openai", "a-model-that-nobody-sells", 1000, 1000) is None
    True
    """
    if provider in LOCAL:
        return 0.0
    identity = _IDS.get(provider, provider)
    if identity is None:
        return None
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        return float(calc_price(usage, model, provider_id=identity).total_price)
    except LookupError:
        return None
