"""What is not a line of the plugin is not an outcome; and every kind of test has its own."""

from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

import pytest

from palmette.sandbox import Access, Limits, Sandbox, python_command
from palmette.sandbox.suite import _parsed, _sealed, run_suite

KINDS = """
import unittest
import pytest

def decorated(test):
    return lambda: test()

@pytest.mark.parametrize("one", [1, 2])
def test_cases(one): assert one

@decorated
def test_decorated(): pass

class TestClass:
    def test_method(self): pass
    @staticmethod
    def test_static(): pass

class TestUnit(unittest.TestCase):
    def test_unit(self): self.assertEqual(1, 1)
    def test_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertLess(number, 2)
    @unittest.expectedFailure
    def test_expected(self): self.assertEqual(1, 2)
    def test_skipping(self): self.skipTest("today")

class TestLater(unittest.IsolatedAsyncioTestCase):
    async def test_later(self): pass

def test_wrong(): assert False

@pytest.mark.xfail
def test_known(): assert False

@pytest.mark.slow
def test_left_out(): pass

@pytest.fixture
def broken(): raise ValueError

def test_without_its_fixture(broken): pass
"""
MANY = ("-n", "2") if find_spec("xdist") else ()
"""Processes, in which nobody would hear of a test."""
PASSED = "cases[1] cases[2] decorated method static unit parts later below"


def test_every_kind_of_test_has_its_outcome(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "test_kinds.py").write_text(KINDS, encoding="utf-8")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "conftest.py").touch()  # which hooks are whose is asked for each folder
    (tmp_path / "below" / "test_below.py").write_text("def test_below(): pass", encoding="utf-8")
    run = run_suite(
        sandbox,
        python_command("-m", "pytest", "-q", "-m", "not slow", "-W", "ignore", *MANY),
        cwd=tmp_path,
        access=Access(read=(tmp_path,)),
        env={},
        limits=Limits(seconds=60),
    )
    assert run.suite is not None and not run.doubt, run.execution

    def names(found: object) -> set[str]:
        assert isinstance(found, tuple | dict)
        return {name.rpartition("test_")[2] for name in found}

    assert names(run.suite.passed) == {*PASSED.split()}
    assert names(run.suite.skipped) == {"expected", "skipping", "known", "left_out"}
    assert names(run.suite.failed) == {"wrong", "without_its_fixture"}


def test_a_line_is_of_the_plugin_by_its_seal() -> None:
    text = '{"line": 1, "test": "a", "outcome": "failed"}'
    seal = blake2b(text.encode(), key=b"key", digest_size=16).hexdigest()
    assert _sealed(f"{seal} {text}", b"key") == text
    for line in (text, f"{seal} {text.replace('failed', 'passed')}", f"{'é' * 32} {text}", f"{seal}", ""):
        assert not _sealed(line, b"key")
    assert not _sealed(f"{seal} {text}", b"other")


@pytest.mark.parametrize(
    "text",
    ["", "1", "[]", "{}", '{"test": "a"}', '{"line": "x"}', '{"line": 1, "test": ["a"]}', "[" * 9999],
)
def test_lines_of_others_are_passed_over(text: str) -> None:
    assert _parsed(text) is None


def test_a_line_of_the_plugin_is_read() -> None:
    told = _parsed(' {"test": "a", "outcome": "failed", "detail": "no", "line": 2}')
    assert told and (told.line, told.test, told.outcome, told.detail, told.end) == (2, "a", "failed", "no", False)
