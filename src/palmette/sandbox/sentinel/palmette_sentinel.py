"""A pytest plugin of the harness: reports each outcome at once, and adds sentinel tests to the collected ones.

It runs beside untrusted code and imports nothing of palmette. See `palmette.sandbox.suite`. It is loaded before pytest
looks for plugins (PYTEST_DONT_REWRITE), begins before a module of the project can be loaded, and what it reports with
is the interpreter's own: others may put something else where functions of Python are looked for.
"""

from __future__ import annotations

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
_ASYNCHRONOUS = 0x280
"""Flags of code that is only begun by a call."""
_WRITTEN_IN_PYTHON = 0x200
"""Flag of types that somebody could have made."""


def holds() -> None:
    """A test that passes."""


@pytest.mark.xfail(strict=True)
def breaks() -> None:
    """A test that fails, as expected."""
    raise AssertionError


def _reporting(output: int, key: bytes) -> Callable[..., None]:
    """Writes lines, each with a seal that is made with a key, to what was standard output before pytest caught it."""
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
    """Makes of a test one that notes in `sound` that it is at work, and that it has ended and not become another."""
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
    """The hooks up to the first test. `collected`: by test, where its function stands; empty where none is held."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(config: Any) -> Generator[None, Any, Any]:
        """Tests run in this process, which is the one that is heard, and not in others of pytest-xdist."""
        if hasattr(config.option, "numprocesses"):
            config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_itemcollected(item: Any) -> Generator[None]:
        """Notes what is to be heard of, and holds on to its function before anybody puts another in its place."""
        collected[item.nodeid] = ""
        code = _code(item.obj) if isinstance(item, pytest.Function) else None
        if isinstance(item, pytest.Function) and not getattr(code, "co_flags", 0) & _ASYNCHRONOUS:
            file = getattr(code, "co_filename", "").rpartition("/")[2]
            collected[item.nodeid] = f"{file}:{getattr(code, 'co_firstlineno', 0)}"
            item.obj = noting(item.obj, item.nodeid)
        yield

    @pytest.hookimpl(trylast=True)  # after the hooks that select by mark or name
    def pytest_collection_modifyitems(items: list[Any]) -> None:
        """In each module two sentinel tests, where the hooks that its tests have are theirs as well."""
        for module in dict.fromkeys(filter(None, (item.getparent(pytest.Module) for item in items))):
            for test in (holds, breaks):
                name = f"test_{test.__name__}_{mark}"
                items.append(pytest.Function.from_parent(module, name=name, callobj=test))

    return locals()


def _hearing(collected: dict[str, str], sound: dict[str, bool], report: Callable[..., None]) -> dict[str, Any]:
    """The hooks from the first test on. `sound`: whether tests that have begun have come to their end."""
    wrong, reported, name_of, text_of = set[tuple[str, str]](), set[str](), _name, _text

    def hear(nodeid: str, outcome: str, detail: str) -> None:
        reported.add(nodeid)
        report(name_of(nodeid), outcome, detail, collected.get(nodeid, ""))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
        """Notes whether it raised before anybody makes something else of that."""
        (wrong.add if call.excinfo else wrong.discard)((item.nodeid, call.when))
        return (yield)

    def pytest_runtest_logreport(report: Any) -> None:
        name, has_passed, was_skipped = report.nodeid, report.outcome == "passed", report.outcome == "skipped"
        is_missed = report.when == "call" and bool(collected.get(name)) and not sound.get(name, False)
        if has_passed and is_missed and name in sound:
            return  # a part of it; the whole is reported at its end
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
        """What was collected and not heard of has not passed."""
        raised = {name for name, _ in wrong}
        for name in [name for name in collected if name not in reported]:
            hear(name, "failed" if name in raised else "skipped", "Nothing was reported of it.")
        report(end=True)

    return locals()


def _sentinel(output: int, key: bytes, mark: str) -> Any:
    """The plugin: hooks, and nothing that others could change by it."""
    collected, sound = dict[str, str](), dict[str, bool]()
    hooks = {**_collecting(collected, _noting(sound), mark), **_hearing(collected, sound, _reporting(output, key))}
    return _Hooks(**{name: hook for name, hook in hooks.items() if name.startswith("pytest_")})


class _Hooks:
    """A plugin that can be in a set: pytest keeps one of those that a folder does not have."""

    def __init__(self, **hooks: Any) -> None:
        vars(self).update(hooks)


def _guarded() -> Callable[[Callable[[], Any]], Any]:
    """What calls a test so that nothing jumps in it: in its thread there is no tracer, and none can be set.

    That of coverage stays: it is compiled, and jumps nowhere.
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
    if _INPUT:
        mark, key = _INPUT.pop(), _INPUT.pop()
        pluginmanager.register(_sentinel(_OUTPUT, key.encode(), mark))


_INPUT: list[str] = []
_OUTPUT = os.dup(1)
if "PYTEST_XDIST_WORKER" not in os.environ:  # which have a standard input of their own
    _INPUT += os.read(0, 200).decode("ascii", "replace").split()[:2]  # now, before anything untrusted is loaded
