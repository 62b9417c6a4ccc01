"""Loaded by Python before the project's code, so that the harness's plugin and its modules are loaded first.

It is first on the path and hides a start-up file of the project. See `palmette.sandbox.suite`.
"""

import os
import sys
from itertools import pairwise


def _runs_pytest(argv: list[str]) -> bool:
    """Whether this process will run pytest; no other process reads its standard input."""
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return ("-m", "pytest") in pairwise(argv) or script.rpartition("/")[2] in ("pytest", "py.test")


if _runs_pytest(sys.orig_argv):
    _whole = sys.path[:]
    _theirs = {os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(":")}  # noqa: PTH100 - no link is followed
    sys.path[:] = [os.path.dirname(__file__), *(one for one in _whole if one not in _theirs)]  # noqa: PTH120 - as above
    try:
        import palmette_sentinel  # type: ignore[import-not-found]  # noqa: F401 - beside this; it reads
    except ImportError:  # without pytest, which the caller reports
        pass
    finally:
        sys.path[:] = _whole
