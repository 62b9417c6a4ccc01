"""A pytest plugin of the harness: tells the outcome of each test at once, and adds witnesses to what is collected.

It runs beside untrusted code and imports nothing of palmette. See `palmette.sandbox.suite`. It is loaded before pytest
looks for plugins (PYTEST_DONT_REWRITE), and holds what it needs of modules, where others may put something else.
"""

from __future__ import annotations

import os
import re
from json import dumps
from os import write
from typing import Any

import pytest

_LONGEST = 8000


def holds() -> None:
    """A test that passes."""


@pytest.mark.xfail(strict=True)
def breaks() -> None:
    """A test that fails, as expected."""
    raise AssertionError


class Witness:
    """Writes lines that begin with a nonce to what was standard output before pytest caught it."""

    def __init__(self, output: int, nonce: str, mark: str) -> None:
        def tell(**said: Any) -> None:
            self.lines += 1
            line = memoryview(f"\n{nonce} {dumps({**said, 'line': self.lines})}\n".encode())
            while line:
                line = line[write(output, line) :]

        self.lines, self._mark, self._tell = 0, mark, tell
        self._raised = set[tuple[str, str]]()

    @pytest.hookimpl(trylast=True)  # after whoever selects by mark or name
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """In each module, where the hooks that its tests have are theirs as well."""
        for module in dict.fromkeys(filter(None, (item.getparent(pytest.Module) for item in items))):
            for test in (holds, breaks):
                name = f"test_{test.__name__}_{self._mark}"
                items.append(pytest.Function.from_parent(module, name=name, callobj=test))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Notes whether it raised, before anybody makes something else of that."""
        change = self._raised.add if call.excinfo else self._raised.discard
        change((item.nodeid, call.when))

    def pytest_runtest_logreport(self, report: Any) -> None:
        is_forged = report.passed and (report.nodeid, report.when) in self._raised
        if is_forged:
            self._tell(test=_name(report.nodeid), outcome="failed", said="It raised, and was reported to have passed.")
        elif report.failed or report.skipped or report.when == "call":
            said = _text(report) if report.failed else ""
            self._tell(test=_name(report.nodeid), outcome=report.outcome, said=said)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._tell(test=_name(report.nodeid), outcome="failed", said=_text(report))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._tell(end=True)


def _text(report: Any) -> str:
    """Its end, in characters that every reader takes."""
    text: str = report.longreprtext[-_LONGEST:]
    return text.encode("utf-8", "replace").decode()


def _name(nodeid: str) -> str:
    """`package/test_it.py::Class::test_one[case]` as `package.test_it.Class.test_one[case]`."""
    place, bracket, case = nodeid.partition("[")
    file, *names = place.split("::")
    return ".".join([re.sub(r"\.py$", "", file).replace("/", "."), *names]) + bracket + case


def pytest_configure(config: Any) -> None:
    if _TOLD:
        mark, nonce = _TOLD.pop(), _TOLD.pop()
        config.pluginmanager.register(Witness(_OUTPUT, nonce, mark))


_TOLD: list[str] = []
_OUTPUT = os.dup(1)
if "PYTEST_XDIST_WORKER" not in os.environ:  # whose standard input is another's; it tells the one that has ours
    _TOLD += os.read(0, 200).decode("ascii", "replace").split()[:2]  # now, before anything untrusted is loaded
