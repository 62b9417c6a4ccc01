"""What must hold of every reader of what others wrote: a value or palmette's own error, in bounded time."""

import os
import re
import time
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from palmette.errors import InputError, PalmetteError

T = TypeVar("T")
BUDGET = int(os.environ.get("PALMETTE_FUZZ", "0"))
"""Examples of each property; 0 for the few of the suite, which are the same each time."""
SECONDS = 10.0
"""Of a processor, for one document of these sizes; far more than any takes."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def fuzzed(examples: int) -> settings:
    """How a property is tried: on so many examples in the suite, on as many as are asked for by hand."""
    return settings(
        max_examples=BUDGET or examples,
        derandomize=not BUDGET,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def outcome(read: Callable[[], T]) -> T | PalmetteError:
    """What a reader gives, or its error, which says all that it must; anything else that it raises fails the test."""
    started = time.process_time()
    try:
        return read()
    except PalmetteError as error:
        assert error.code and error.exit_code in (2, 3, 4), repr(error)
        for problem in error.problems if isinstance(error, InputError) else ():
            assert problem.code and problem.message and problem.file, problem
            assert problem.remedy or problem.nearest, problem
            assert problem.value is None or isinstance(problem.value, str), problem
            assert not _CONTROL.search(problem.message.replace(problem.file, "")), problem
        return error
    finally:
        assert time.process_time() - started < SECONDS


DEEP = 10_000
HOSTILE = (
    "", " ", "\t", "a\nb", "\x1b]0;owned\x07", "\x00", "\ud800", "\ufeff", "\u202egnp.exe", "😀", "e\u0301", "İ", "ﬀ",
    "1e400", "-1e400", "1" * 5000, "0x10", "1_000", ".inf", ".nan", "~", "null", "2025-02-30", "99999-01-01T00:00:00Z",
    "(" * DEEP, "[" * DEEP, "{" * DEEP, "a" * 70_000, "not " * 3000 + "a", "a or " * 3000 + "a", "array<" * 500 + "int",
    "../../../etc/passwd", "/etc/shadow", "/dev/zero", "~/.ssh/id_rsa", "-rf", "x/" * 3000, "y" * 300, "C:\\x", "loop",
    "file:///etc/passwd", "a b", "'; DROP TABLE t; --", "{{ 7 * 7 }}", "$(id)", "`id`", "%s%n", "<script>", "=1+1",
    "!!python/object/apply:os.system [id]", "&a [*a]", "<<: *a", "__class__", "a.__class__", "1e9d", "9" * 30 + "d",
)  # fmt: skip
"""Texts by which readers of all kinds have come to grief."""

scalars = st.one_of(
    st.sampled_from(HOSTILE),
    st.sampled_from((None, True, -1, 0, 2**31, 2**63, 10**38, 10**400, 1e308, -0.0, float("nan"), float("inf"))),
    st.text(max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(HOSTILE), inner, max_size=2),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes of a good file, cut off, with others in places, or with more at the end."""
    data = bytearray(whole)
    match draw(st.sampled_from(("cut", "changed", "inserted", "doubled"))):
        case "cut":
            del data[draw(st.integers(0, len(data))) :]
        case "changed":
            for place in draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=12)):
                data[place] = draw(st.integers(0, 255))
        case "inserted":
            place = draw(st.integers(0, len(data)))
            data[place:place] = draw(st.binary(max_size=40))
        case _:
            data += data[draw(st.integers(0, len(data))) :]
    return bytes(data)
