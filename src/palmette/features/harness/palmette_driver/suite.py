"""Runs a test file against variants of the script, one after another in this process."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .answers import Answers
from .script import ScriptVariant, forget, import_script
from .session import WarmSession

_FAILURE = 2000
_ABOUT_A_CASE = 400
"""Length of a test's text, in characters, that is searched for the words of a change."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class OutcomeRecorder:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self, order: Callable[[str], Any], most: int | None, job: dict[str, Any]) -> None:
        self._order, self._most, self._job = order, most, job
        self.passed: list[str] = []
        self.failed: dict[str, str] = {}
        self.error = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self._order(_name(item)))
        items[:] = items[: self._most]
        if builder := self._job["builder"]:
            variant = import_script(Path(self._job["script"]), self._job["path"])
            for item in items:
                setattr(item.module, builder, getattr(variant, builder))

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = _name(report)
        if report.failed:
            self.failed[name] = _shortened(report.longreprtext)
        elif report.when == "call" and report.passed:
            self.passed.append(name)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.error = _shortened(report.longreprtext)


def _name(item: Any) -> str:
    return str(item.nodeid.partition("::")[2])


def run_variants(job: dict[str, Any], session: WarmSession, answers: Answers) -> None:
    """Writes one answer per variant: passed, failed, error, seconds.

    Tests that a variant's hints name run first, then those with most of its words, then those that failed for recent
    variants, because similar variants often fail the same tests. This saves time if the first failure ends a variant.
    """
    killers: list[str] = []
    text = Path(job["tests"]).read_text(encoding="utf-8")
    root = Path(job["root"])
    variant = ScriptVariant(Path(job["script"]))
    sys.meta_path.insert(0, variant)
    for index, item in job["items"]:
        variant.text, hints = item["text"], item["hints"]

        def order(name: str, hints: list[str] = hints, killers: list[str] = killers) -> tuple[bool, int, int]:
            words = _words(text, name)
            recent = killers.index(name) if name in killers else len(killers)
            return name not in hints, -sum(hint in words for hint in hints), recent

        forget(root)
        started = time.monotonic()
        with answers.timed(index):
            session.reset()
            recorder = _run(job, order, item["most"])
        killers = [*recorder.failed, *(name for name in killers if name not in recorder.failed)]
        answers.write(
            index,
            {
                "passed": [name for name in recorder.passed if name not in recorder.failed],
                "failed": recorder.failed,
                "error": recorder.error,
                "seconds": time.monotonic() - started,
            },
        )


def _run(job: dict[str, Any], order: Callable[[str], Any], most: int | None) -> OutcomeRecorder:
    import pytest

    recorder = OutcomeRecorder(order, most, job)
    arguments = [
        job["tests"],
        f"--rootdir={job['root']}",
        "-q",
        "--tb=short",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:unraisableexception",
        "-p",
        "no:hypothesispytest",  # where it is installed, it imports all of Hypothesis to end a run
        # The team's options may require missing plug-ins; warnings come from the warm session, not the script.
        "-o",
        "addopts=",
        "-W",
        "ignore",
    ]
    if job["stop_at_first"]:  # only the fact of a failure matters, so asserts are not rewritten
        arguments += ["-x", "--assert=plain"]
    status = pytest.main(arguments, plugins=[recorder])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and not recorder.error:
        recorder.error = "the file has no tests"
    elif status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not recorder.error:
        recorder.error = f"pytest did not come to its end ({pytest.ExitCode(status).name.lower()})"
    return recorder


def _words(text: str, name: str) -> set[str]:
    """The words of a test file after the name of a test, or of its case."""
    function, _, case = name.rpartition("::")[2].partition("[")
    known = re.search(rf"\b{re.escape(case.rstrip(']') or function)}\b", text)
    return set(re.findall(r"\w+", text[known.start() :][:_ABOUT_A_CASE])) if known else set()


def _shortened(text: str) -> str:
    text = _COLOUR.sub("", text)
    return text if len(text) <= _FAILURE else text[: _FAILURE // 2] + "\n...\n" + text[-_FAILURE // 2 :]
