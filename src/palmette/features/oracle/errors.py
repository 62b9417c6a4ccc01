"""Errors raised when the oracle cannot compute a value."""


class NotCovered(Exception):  # noqa: N818 - an answer, not a mistake
    """The oracle does not support this construct; callers report a skipped check, never a passed one."""


class WouldFail(Exception):  # noqa: N818 - as above
    """Spark would also raise at run time on these values: an invalid cast, an overflow, an index out of range."""
