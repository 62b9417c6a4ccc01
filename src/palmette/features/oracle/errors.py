"""Errors of the oracle when it has no answer."""

from __future__ import annotations


class NotCovered(Exception):  # noqa: N818 - an answer, not a mistake
    """The oracle does not know this construct; callers report a skipped check, never a passed one."""


class WouldFail(Exception):  # noqa: N818 - likewise
    """Spark would raise at run time on these values too: an invalid cast, an overflow, an index out of range."""
