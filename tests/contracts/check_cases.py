"""The checks that the contract suite runs. A new check needs one line: a mistake that it must find."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from palmette.features.checks import Check, ScriptUnderTest, TeamSuiteCheck, registered
from palmette.features.checks.mutation import MutationCheck
from palmette.features.harness.connect import ConnectHarness
from palmette.features.spec.resolve import load_view
from palmette.sandbox import Sandbox

ACTIVITY = Path(__file__).parents[1] / "features/checks/activity"
"""A script by hand, its specification and its tests: all correct."""
FILES = MappingProxyType(
    {
        "activity.py": (ACTIVITY / "activity.py").read_text(encoding="utf-8"),
        "fsc.yaml": (ACTIVITY / "fsc.yaml").read_text(encoding="utf-8"),
        "dfr.yaml": (ACTIVITY / "dfr.yaml").read_text(encoding="utf-8"),
        "test_activity.py": (ACTIVITY / "activity_tests.py").read_text(encoding="utf-8"),
        "conftest.py": (
            "import pytest\nfrom pyspark.sql import SparkSession\n\n\n"
            '@pytest.fixture(scope="session")\ndef spark():\n    return SparkSession.builder.getOrCreate()\n'
        ),
        "test_team.py": (
            "from pathlib import Path\n\n\n"
            'def test_customers_are_kept():\n    assert "inner" not in Path("activity.py").read_text()\n'
        ),
    }
)
TESTS = FILES["test_activity.py"]


@dataclass(frozen=True)
class BadEdit:
    """What is wrong in one of the files."""

    file: str
    old: str
    new: str

    def made(self, files: Mapping[str, str]) -> dict[str, str]:
        assert self.old in files[self.file]
        return {**files, self.file: files[self.file].replace(self.old, self.new)}


@dataclass(frozen=True)
class CheckCase:
    """A check by its code, a mistake that it must find, and what it has nothing to check without."""

    code: str
    mistake: BadEdit
    needs: Literal["tests", "examples", ""] = ""
    finds: frozenset[str] = field(default_factory=frozenset)
    """Codes of which one is found; the check's own when left out."""

    def check(self, sandbox: Sandbox) -> Check:
        """The registered one; a quick variant where there is one."""
        if self.code == TeamSuiteCheck.code:
            command = f"{sys.executable} -m pytest -q test_team.py"
            return TeamSuiteCheck(sandbox, lambda root: {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, command)
        if self.code == MutationCheck.code:
            return MutationCheck(size=2)
        return next(check for check in registered() if check.code == self.code)


CASES = [
    CheckCase(
        "static", BadEdit("activity.py", 'F.sum("amount")', 'F.sum("ammount")'), finds=frozenset({"unknown-column"})
    ),
    CheckCase("spec", BadEdit("fsc.yaml", "amount_30d: 2.5,", "amount_30d: 6.5,"), needs="examples"),
    CheckCase(
        "plan",
        BadEdit("activity.py", '"amount_30d",\n        F.to', 'F.col("amount_30d").cast("float"),\n        F.to'),
        finds=frozenset({"schema"}),
    ),
    CheckCase("golden", BadEdit("activity.py", '("ordered_at") < as_of', '("ordered_at") <= as_of'), needs="examples"),
    CheckCase("differential", BadEdit("activity.py", "timedelta(days=30)", "timedelta(days=31)")),
    CheckCase(
        "tests", BadEdit("test_activity.py", "orders_30d == 1", "orders_30d == 2"), "tests", frozenset({"test-failed"})
    ),
    CheckCase(
        "metamorphic",
        BadEdit("activity.py", '        & (F.col("loaded_at") < as_of)\n', ""),
        finds=frozenset({"unavailable-rows"}),
    ),
    CheckCase("mutation", BadEdit("test_activity.py", TESTS, "def test_nothing(spark): ...\n"), needs="tests"),
    CheckCase("team-suite", BadEdit("activity.py", '"customer_id", "left"', '"customer_id", "inner"')),
]


def subject(folder: Path, harness: ConnectHarness, files: Mapping[str, str] = FILES) -> ScriptUnderTest:
    """The files in a folder of their own."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return ScriptUnderTest(
        view=load_view(folder / "fsc.yaml", folder / "dfr.yaml"),
        script=folder / "activity.py",
        root=folder,
        entry="build",
        harness=harness,
        tests=folder / "test_activity.py",
        python_path=(folder,),
    )


def without(subject: ScriptUnderTest, needs: str) -> ScriptUnderTest:
    """The subject without what a check may need."""
    return replace(subject, tests=None) if needs == "tests" else replace(subject, view=replace(subject.view, tests=()))
