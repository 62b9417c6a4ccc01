"""A pytest plugin of the harness: reports each outcome at once, and adds sentinel tests to the collected ones.

It runs beside untrusted code and imports nothing of palmette. See `palmette.sandbox.suite`. It is loaded before pytest
looks for plugins (PYTEST_DONT_REWRITE) and before any module of the project, and reports with functions of the
interpreter's own, which others cannot replace.
"""

import os
from _blake2 import blake2b
from _json import encode_basestring_ascii
from _thread import get_ident
from collections.abc import Callable, Generator
from functools import wraps
from os import write
from sys import addaudithook, gettrace, settrace
from typing import Any

import pytest

_LONGEST = 8000
_ASYNCHRONOUS = 0x280  # flags of code that a call only starts
_WRITTEN_IN_PYTHON = 0x200  # flag of types that Python code can define


def holds() -> None:
    """A test that passes."""


@pytest.mark.xfail(strict=True)
def breaks() -> None:
    """A test that fails, as expected."""
    raise AssertionError


def _reporting(output: int, key: bytes) -> Callable[..., None]:
    """A function that writes lines, each sealed with a key, to the standard output from before pytest captured it."""
    put, quoted, sealed = write, encode_basestring_ascii, blake2b
    lines = 0

    def report(test: str = "", outcome: str = "", detail: str = "", place: str = "", end: bool = False) -> None:
        nonlocal lines
        lines += 1
        what = f'"test": {quoted(test)}, "outcome": {quoted(outcome)}, "detail": {quoted(detail)}'
        text = f'{{"line": {lines}, {what}, "place": {quoted(place)}, "end": {"true" if end else "false"}}}'.encode()
        seal = sealed(text, key=key, digest_size=16).hexdigest()
        line = memoryview(b"\n%b %b\n" % (seal.encode(), text))
        while line:
            line = line[put(output, line) :]

    return report


def _noting(sound: dict[str, bool]) -> Callable[[Any, str], Any]:
    """A decorator that records in `sound` that a test started, and that it ended unreplaced."""
    untraced, code_of = _guarded(), _code

    def noting(test: Any, nodeid: str) -> Any:
        code = code_of(test)

        @wraps(test)
        def called(*arguments: Any, **named: Any) -> Any:
            sound[nodeid] = is_sound = False
            try:
                done = untraced(lambda: test(*arguments, **named))
                is_sound = code_of(test) is code
            finally:
                sound.pop(nodeid, None)
            if is_sound:
                sound[nodeid] = True
            return done

        return called

    return noting


def _collecting(collected: dict[str, str], noting: Callable[[Any, str], Any], mark: str) -> dict[str, Any]:
    """The hooks up to the first test. `collected`: location of each test's function; empty if none was held."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(config: Any) -> Generator[None, Any, Any]:
        """Runs tests in this process, whose reports are read, and not in workers of pytest-xdist."""
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_itemcollected(item: Any) -> Generator[None]:
        """Records the test and holds its function before other code can replace it."""
        collected[item.nodeid] = ""
        code = _code(item.obj) if isinstance(item, pytest.Function) else None
        if isinstance(item, pytest.Function) and not getattr(code, "co_flags", 0) & _ASYNCHRONOUS:
            file = getattr(code, "co_filename", "").rpartition("/")[2]
            collected[item.nodeid] = f"{file}:{getattr(code, 'co_firstlineno', 0)}"
            item.obj = noting(item.obj, item.nodeid)
        yield

    @pytest.hookimpl(trylast=True)  # after the hooks that select by mark or name
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        """Adds two sentinel tests to each module, subject to the same hooks as its tests."""
        for module in dict.fromkeys(filter(None, (item.getparent(pytest.Module) for item in items))):
            for test in (holds, breaks):
                name = f"test_{test.__name__}_{mark}"
                items.append(pytest.Function.from_parent(module, name=name, callobj=test))

    return locals()


def _hearing(collected: dict[str, str], sound: dict[str, bool], report: Callable[..., None]) -> dict[str, Any]:
    """The hooks from the first test on. `sound`: whether tests that started also ended."""
    wrong, reported, name_of, text_of = set[tuple[str, str]](), set[str](), _name, _text

    def hear(nodeid: str, outcome: str, detail: str) -> None:
        reported.add(nodeid)
        report(name_of(nodeid), outcome, detail, collected.get(nodeid, ""))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
        """Records whether the test raised before other hooks can change the result."""
        (wrong.add if call.excinfo else wrong.discard)((item.nodeid, call.when))
        return (yield)

    def pytest_runtest_logreport(report: Any) -> None:
        name, has_passed, was_skipped = report.nodeid, report.outcome == "passed", report.outcome == "skipped"
        is_missed = report.when == "call" and bool(collected.get(name)) and not sound.get(name, False)
        if has_passed and is_missed and name in sound:
            return  # one phase; the whole test is reported at its end
        if has_passed and (is_missed or (name, report.when) in wrong):
            hear(name, "failed", "It raised, or was not called, and was reported to have passed.")
        elif not has_passed or report.when == "call":
            outcome = "passed" if has_passed else "skipped" if was_skipped else "failed"
            hear(name, outcome, "" if has_passed or was_skipped else text_of(report))

    def pytest_collectreport(report: Any) -> None:
        if report.failed:
            hear(report.nodeid, "failed", text_of(report))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish() -> None:
        """Reports tests without a result as not passed."""
        raised = {name for name, _ in wrong}
        for name in [name for name in collected if name not in reported]:
            hear(name, "failed" if name in raised else "skipped", "Nothing was reported of it.")
        report(end=True)

    return locals()


def _sentinel(output: int, key: bytes, mark: str) -> Any:
    """The plugin: hooks without any state that others could change."""
    collected, sound = dict[str, str](), dict[str, bool]()
    hooks = {**_collecting(collected, _noting(sound), mark), **_hearing(collected, sound, _reporting(output, key))}
    return _Hooks(**{name: hook for name, hook in hooks.items() if name.startswith("pytest_")})


class _Hooks:
    """A hashable plugin; pytest collects plugins of other folders in a set."""

    def __init__(self, **hooks: Any) -> None:
        vars(self).update(hooks)


def _guarded() -> Callable[[Callable[[], Any]], Any]:
    """A function that calls tests with no tracer in its thread, and no way to set one.

    Coverage's tracer stays: it is compiled and cannot change the control flow.
    """
    at_work, thread, tracer_of, trace, kind_of = set[int](), get_ident, gettrace, settrace, type

    def refuse(event: str, _: Any) -> None:
        if event == "sys.settrace" and thread() in at_work:
            raise RuntimeError("a test that is at work is not traced")

    def untraced(test: Callable[[], Any]) -> Any:
        tracer = tracer_of()
        kind = kind_of(tracer)
        put_aside = tracer is not None and (kind.__flags__ & _WRITTEN_IN_PYTHON or kind.__module__ != "coverage")
        if put_aside:
            trace(None)
        at_work.add(thread())
        try:
            return test()
        finally:
            at_work.discard(thread())
            if put_aside:
                trace(tracer)

    addaudithook(refuse)
    return untraced


def _code(test: Any) -> Any:
    return getattr(getattr(test, "__func__", test), "__code__", None)


def _text(report: Any) -> str:
    """The end of the report, in ASCII."""
    text: str = report.longreprtext[-_LONGEST:]
    return text.encode("utf-8", "replace").decode()


def _name(nodeid: str) -> str:
    """`package/test_it.py::Class::test_one[case]` as `package.test_it.Class.test_one[case]`."""
    place, bracket, case = nodeid.partition("[")
    file, *names = place.split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *names]) + bracket + case


def pytest_addoption(pluginmanager: Any) -> None:
    """The first hook of all, before anything of the project is loaded."""
    if _INPUT:
        mark, key = _INPUT.pop(), _INPUT.pop()
        pluginmanager.register(_sentinel(_OUTPUT, key.encode(), mark))


_INPUT: list[str] = []
_OUTPUT = os.dup(1)
if "PYTEST_XDIST_WORKER" not in os.environ:  # workers have a standard input of their own
    _INPUT += os.read(0, 200).decode("ascii", "replace").split()[:2]  # now, before anything untrusted is loaded
