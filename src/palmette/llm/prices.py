"""What tokens cost, from the kept price list `genai-prices`, which works without a network."""

from __future__ import annotations

LOCAL = frozenset({"vllm", "ollama", "lmstudio"})
"""Providers on one's own machines: nobody bills for them."""

_IDS = {"openai-compatible": None, "azure": "azure", "bedrock": "aws"}
"""Where the price list has another name; None where the name does not tell who bills."""


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
