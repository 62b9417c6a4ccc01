"""How many tokens a text takes, without asking anybody.

Tokenisers differ and their tables must be downloaded, so this is one estimate for all models: a token for every
three bytes of UTF-8. English prose takes a token for about 4.5, code for about 3.5, Chinese for about 3: the
estimate is seldom too low, which is what a budget needs.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 3
MOST = 400_000
"""Tokens that a run may take where nobody limits tokens or money; a feature view takes about a tenth."""


def token_limit(tokens: int | None, money: float | None) -> int | None:
    """Most tokens of a run, from the limits that were asked for; None: only the money is limited.

    >>> token_limit(None, None), token_limit(None, 2.5), token_limit(1000, 2.5)
    (400000, None, 1000)
    """
    return MOST if tokens is None and money is None else tokens


def estimate_tokens(text: str) -> int:
    """At least as many tokens as the text probably takes.

    >>> estimate_tokens(""), estimate_tokens("a word or two")
    (0, 5)
    """
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)
