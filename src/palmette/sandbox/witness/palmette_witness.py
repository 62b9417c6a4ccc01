"""A pytest plugin of the harness: tells the outcome of each test at once, and adds witnesses to what is collected.

It runs beside untrusted code and imports nothing of palmette. See `palmette.sandbox.suite`. It is loaded before pytest
looks for plugins (PYTEST_DONT_REWRITE), begins before a module of the project can be loaded, and what it tells with
is the interpreter's own: others may put something else where functions of Python are looked for.
"""

from __future__ import annotations

import os
from _blake2 import blake2b
from _json import encode_basestring_ascii
from collections.abc import Generator
from functools import wraps
from os import write
from typing import Any

import pytest

_LONGEST = 8000
_ASYNCHRONOUS = 0x280
"""Flags of code that is only begun by a call."""


def holds() -> None:
    """A test that passes."""


@pytest.mark.xfail(strict=True)
def breaks() -> None:
    """A test that fails, as expected."""
    raise AssertionError


class Witness:
    """Writes lines, each with a seal that is made with a key, to what was standard output before pytest caught it."""

    def __init__(self, output: int, key: bytes, mark: str) -> None:
        put, quoted, sealed = write, encode_basestring_ascii, blake2b
        lines = 0

        def tell(test: str = "", outcome: str = "", said: str = "", end: bool = False) -> None:
            nonlocal lines
            lines += 1
            told = f'"test": {quoted(test)}, "outcome": {quoted(outcome)}, "said": {quoted(said)}'
            text = f'{{"line": {lines}, {told}, "end": {"true" if end else "false"}}}'.encode()
            seal = sealed(text, key=key, digest_size=16).hexdigest()
            line = memoryview(b"\n%b %b\n" % (seal.encode(), text))
            while line:
                line = line[put(output, line) :]

        self._tell, self._mark = tell, mark
        self._wrong = set[tuple[str, str]]()
        self._collected, self._sound, self._told = dict[str, bool](), set[str](), set[str]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_itemcollected(self, item: Any) -> Generator[None]:
        """Notes what is to be heard of, and holds on to its function before anybody puts another in its place."""
        is_held = isinstance(item, pytest.Function) and not getattr(_code(item.obj), "co_flags", 0) & _ASYNCHRONOUS
        self._collected[item.nodeid] = is_held
        if is_held:
            item.obj = self._noting(item.obj, item.nodeid)
        yield

    def _noting(self, test: Any, nodeid: str) -> Any:
        """The test, of which is noted that it was called, and neither raised nor became another."""
        code, note, forget = _code(test), self._sound.add, self._sound.discard

        @wraps(test)
        def called(*arguments: Any, **named: Any) -> Any:
            note(nodeid)
            try:
                return test(*arguments, **named)
            except BaseException:
                forget(nodeid)
                raise
            finally:
                if _code(test) is not code:
                    forget(nodeid)

        return called

    @pytest.hookimpl(trylast=True)  # after whoever selects by mark or name
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """In each module, where the hooks that its tests have are theirs as well."""
        for module in dict.fromkeys(filter(None, (item.getparent(pytest.Module) for item in items))):
            for test in (holds, breaks):
                name = f"test_{test.__name__}_{self._mark}"
                items.append(pytest.Function.from_parent(module, name=name, callobj=test))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        """Notes whether it raised, or was not called, before anybody makes something else of that."""
        name = item.nodeid
        if call.when == "setup":
            self._sound.discard(name)
        is_missed = call.when == "call" and self._collected.get(name, False) and name not in self._sound
        (self._wrong.add if call.excinfo or is_missed else self._wrong.discard)((name, call.when))
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        has_passed, was_skipped = report.outcome == "passed", report.outcome == "skipped"
        if has_passed and (report.nodeid, report.when) in self._wrong:
            self._hear(report.nodeid, "failed", "It raised, or was not called, and was reported to have passed.")
        elif not has_passed or report.when == "call":
            outcome = "passed" if has_passed else "skipped" if was_skipped else "failed"
            self._hear(report.nodeid, outcome, "" if has_passed or was_skipped else _text(report))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._hear(report.nodeid, "failed", _text(report))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """What was collected and not heard of has not passed."""
        wrong = {name for name, _ in self._wrong}
        for name in [name for name in self._collected if name not in self._told]:
            self._hear(name, "failed" if name in wrong else "skipped", "Nothing was reported of it.")
        self._tell(end=True)

    def _hear(self, nodeid: str, outcome: str, said: str) -> None:
        self._told.add(nodeid)
        self._tell(_name(nodeid), outcome, said)


def _code(test: Any) -> Any:
    return getattr(getattr(test, "__func__", test), "__code__", None)


def _text(report: Any) -> str:
    """Its end, in characters that every reader takes."""
    text: str = report.longreprtext[-_LONGEST:]
    return text.encode("utf-8", "replace").decode()


def _name(nodeid: str) -> str:
    """`package/test_it.py::Class::test_one[case]` as `package.test_it.Class.test_one[case]`."""
    place, bracket, case = nodeid.partition("[")
    file, *names = place.split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *names]) + bracket + case


def pytest_addoption(pluginmanager: Any) -> None:
    """The first hook of all: nothing of the project is loaded yet."""
    if _TOLD:
        mark, key = _TOLD.pop(), _TOLD.pop()
        pluginmanager.register(Witness(_OUTPUT, key.encode(), mark))


_TOLD: list[str] = []
_OUTPUT = os.dup(1)
if "PYTEST_XDIST_WORKER" not in os.environ:  # whose standard input is another's; it tells the one that has ours
    _TOLD += os.read(0, 200).decode("ascii", "replace").split()[:2]  # now, before anything untrusted is loaded
