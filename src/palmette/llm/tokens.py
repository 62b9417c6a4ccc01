"""A token estimate that needs no tokeniser.

Tokenisers differ and their tables must be downloaded, so this is one estimate for all models: a token for every
three bytes of UTF-8. English prose takes a token for about 4.5, code for about 3.5, Chinese for about 3, so the
estimate is rarely too low, as a budget requires.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 3
MOST = 400_000
"""Token limit of a run without other limits; a feature view takes about a tenth."""


def token_limit(tokens: int | None, money: float | None) -> int | None:
    """Token limit of a run, from the given limits; None if only money is limited.

    >>> token_limit(None, None), token_limit(None, 2.5), token_limit(1000, 2.5)
    (400000, None, 1000)
    """
    return MOST if tokens is None and money is None else tokens


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of a text.

    >>> estimate_tokens(""), estimate_tokens("a word or two")
    (0, 5)
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
