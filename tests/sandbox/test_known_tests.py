"""What a project's text says of its tests, and what of them was not heard of."""

from pathlib import Path

import pytest

from palmette.sandbox.suite import known_tests, unreported

TEXT = """import pytest
import unittest

@pytest.fixture
def test_rows(): ...

@pytest.mark.slow
@pytest.mark.parametrize("one", [1])
def test_marked(one): ...

@other
def test_decorated(): ...

def test_again(): ...
def test_again(): ...

def test_replaced(): ...
test_replaced = test_marked

async def test_later(): ...

def helper():
    def test_inner(): ...

if helper:
    def test_sometimes(): ...

class TestClass:
    def test_one(self): ...
    def other(self): ...
    class TestInner:
        def test_two(self): ...

class Unit(unittest.TestCase):
    def test_three(self): ...

class TestNone:
    __test__ = False
    def test_four(self): ...

class Base:
    def test_five(self): ...
"""


def test_tests_are_known_by_their_text(tmp_path: Path) -> None:
    for place in ("tests", ".hidden", "venv/lib", "other"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "test_it.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "other" / "pyvenv.cfg").touch()
    (tmp_path / "tests" / "kept_test.py").write_text("def test_six(): ...", encoding="utf-8")
    (tmp_path / "tests" / "test_broken.py").write_text("def test_(:", encoding="utf-8")
    (tmp_path / "tests" / "helpers.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "tests" / "test_link.py").symlink_to("test_it.py")
    known = known_tests(tmp_path)
    found = {name.removeprefix("tests.test_it."): place.rpartition(":")[2] for name, place in known.items()}
    assert found == {
        **{"test_marked": "7", "test_decorated": "", "test_again": "15", "test_replaced": "", "test_later": ""},
        **{"TestClass.test_one": "29", "TestClass.TestInner.test_two": "32", "Unit.test_three": "35"},
        "tests.kept_test.test_six": "1",
    }


@pytest.mark.parametrize(
    ("heard", "left"),
    [
        ("a.tests.test_it.test_one[1.5]", 0),
        ("tests.test_it.test_one", 0),
        ("more.a.tests.test_it.test_one", 0),
        ("test_it.test_one", 0),
        ("a.tests.test_other.test_one", 1),
        ("a.tests.test_it.TestClass.test_one", 1),
        ("test_one", 1),
    ],
)
def test_a_test_is_heard_of_by_the_end_of_its_name(heard: str, left: int) -> None:
    assert len(unreported(["a.tests.test_it.test_one"], [heard])) == left
