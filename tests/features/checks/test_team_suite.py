"""The team's suite, run for real: what counts is the runner's own record, never what the suite prints."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from palmette.features.checks import CheckResult, TeamSuiteCheck, run_checks
from palmette.features.checks.kept_tests import KeptTests
from palmette.features.passed import PassedBefore
from palmette.sandbox import Sandbox

PASSES = "def test_one(): ...\n"
FAILS = "def test_two():\n    assert 1 + 1 == 3\n"
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""The installed plug-ins would take most of the time of such small suites."""


@pytest.fixture
def checked(sandbox: Sandbox, tmp_path: Path) -> Callable[..., CheckResult]:
    """Runs the suite of a checkout with these files; `test_generated.py` is the one that the run has written."""

    def run(files: dict[str, str], command: str | None = None, seconds: float = 60) -> CheckResult:
        root = tmp_path / "checkout"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            (root / name).write_text(text, encoding="utf-8")
        subject: Any = SimpleNamespace(root=root, tests=root / "test_generated.py")
        return TeamSuiteCheck(sandbox, lambda root: QUICK, command, seconds).check(subject)

    return run


def found(outcome: CheckResult) -> list[tuple[str, str]]:
    return [(violation.code, violation.subject) for violation in outcome.violations]


def test_a_suite_that_passes_is_counted(checked: Callable[..., CheckResult]) -> None:
    skips = "import pytest\n\n\n@pytest.mark.skip\ndef test_three(): ...\n"
    outcome = checked({"test_team.py": PASSES, "test_generated.py": PASSES, "test_skipped.py": skips})
    assert outcome == CheckResult(detail="2 tests passed, 1 skipped")


def test_a_failing_test_is_named_with_its_trace_and_a_generated_one_is_its_writers(
    checked: Callable[..., CheckResult],
) -> None:
    outcome = checked({"test_team.py": PASSES + FAILS, "test_generated.py": PASSES + FAILS})
    assert sorted(found(outcome)) == [("team-suite", "test_team.test_two"), ("test-failed", "test_generated.test_two")]
    assert all("assert (1 + 1) == 3" in violation.evidence for violation in outcome.violations)


def test_a_test_that_failed_before_is_not_the_scripts(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {"test_team.py": FAILS, "test_other.py": "from pathlib import Path\n\n\ndef test_old():\n"
             "    assert not Path('new.py').exists()\n\n\ndef test_import():\n"
             "    import importlib.util\n\n    assert importlib.util.find_spec('new') is None\n"}  # fmt: skip
    for folder in ("checkout", "before"):
        (tmp_path / folder).mkdir()
    for name, text in files.items():
        (tmp_path / "checkout" / name).write_text(text, encoding="utf-8")
        (tmp_path / "before" / name).write_text(text, encoding="utf-8")
    (tmp_path / "checkout" / "new.py").write_text("", encoding="utf-8")
    subject: Any = SimpleNamespace(root=tmp_path / "checkout", tests=tmp_path / "checkout/test_generated.py")
    check = TeamSuiteCheck(sandbox, lambda root: {"PYTHONPATH": str(root), **QUICK}, before=lambda: tmp_path / "before")
    verdict = run_checks(subject, [check])
    assert sorted((violation.code, violation.subject) for violation in verdict.violations) == [
        ("failed-before", "test_team.test_two"),
        ("team-suite", "test_other.test_import"),
        ("team-suite", "test_other.test_old"),
    ]
    assert not verdict.ok
    (tmp_path / "checkout" / "new.py").unlink()
    verdict = run_checks(subject, [check])
    assert verdict.ok and verdict.measurements[0].status == "warning"
    assert "test_team.test_two" in verdict.measurements[0].detail


def test_a_file_that_cannot_be_collected_is_named(checked: Callable[..., CheckResult]) -> None:
    outcome = checked({"test_team.py": "import nowhere\n", "test_other.py": PASSES})
    assert found(outcome) == [("team-suite", "test_team")]
    evidence = outcome.violations[0].evidence
    assert "No module named 'nowhere'" in evidence and "/checkout/" not in evidence


def test_a_suite_that_does_not_end_is_ended(checked: Callable[..., CheckResult]) -> None:
    outcome = checked({"test_team.py": "import time\n\n\ndef test_one():\n    time.sleep(600)\n"}, seconds=1)
    assert found(outcome) == [("team-suite", "")]
    assert "1 s" in outcome.violations[0].message


@pytest.mark.parametrize("command", [None, "python -m pytest -q"], ids=["pytest", "the run file's command"])
def test_what_a_suite_prints_is_not_believed(command: str | None, checked: Callable[..., CheckResult]) -> None:
    """It ends the runner before anything has run, with success and the words for it."""
    forged = (
        "import os, sys\nsys.__stdout__.write('==== 26 passed in 0.4s ====\\n')\nsys.__stdout__.flush()\nos._exit(0)\n"
    )
    outcome = checked({"conftest.py": forged, "test_team.py": FAILS}, command)
    assert found(outcome) == [("team-suite", "")]
    assert "record" in outcome.violations[0].message


def test_the_record_of_an_earlier_run_is_not_believed(checked: Callable[..., CheckResult]) -> None:
    assert checked({"test_team.py": PASSES}).detail == "1 test passed, 0 skipped"
    assert found(checked({"conftest.py": "import os\nos._exit(0)\n"})) == [("team-suite", "")]


def test_a_team_without_tests_has_nothing_to_check(checked: Callable[..., CheckResult]) -> None:
    assert checked({"readme.py": ""}).skipped == "the team has no tests"


def test_a_runner_of_another_kind_is_judged_by_its_exit_code(checked: Callable[..., CheckResult]) -> None:
    program = {"suite.py": "import sys\nprint('all good')\nsys.exit(int(sys.argv[1]))\n"}
    assert checked(program, "python suite.py 0").detail == f"{sys.executable} suite.py 0: exit code 0"
    outcome = checked(program, "python suite.py 3")
    assert found(outcome) == [("team-suite", "")]
    assert "exit code 3" in outcome.violations[0].message and "all good" in outcome.violations[0].evidence


@pytest.mark.parametrize("command", ["no-such-runner --all", "python -S -m pytest"], ids=["no program", "no pytest"])
def test_a_runner_that_is_missing_has_not_passed(command: str, checked: Callable[..., CheckResult]) -> None:
    outcome = checked({"test_team.py": PASSES}, command)
    assert found(outcome) == [("team-suite", "")]
    missing = "No module named pytest" if "pytest" in command else "no-such-runner"
    assert missing in outcome.violations[0].evidence


TEAM = {
    "maths.py": "def double(x):\n    return 2 * x\n",
    "helpers.py": "from maths import double\n",
    "test_maths.py": "import os\nfrom helpers import double\n\ndef test_double():\n    assert double(2) == 4\n"
    "    os.environ['RAN'] = 'yes'\n",
    "test_folder.py": "import os\n\ndef test_files():\n    assert os.listdir('.')\n",
    "test_views.py": "import os\n\ndef test_views():\n    view = 'new_view.py'\n"
    "    assert not os.path.exists(view) or 'BROKEN' not in open(view).read()\n",
}


@pytest.fixture
def suite(sandbox: Sandbox, tmp_path: Path) -> Callable[..., str]:
    """Runs a team's suite with new files; returns what the check reports."""
    base = tmp_path / "base"
    base.mkdir()
    for name, text in TEAM.items():
        (base / name).write_text(text, encoding="utf-8")

    def run(script: str = "", tests: str = PASSES) -> str:
        files = {"new_view.py": script, "test_new_view.py": tests}
        kept = KeptTests(PassedBefore(tmp_path / "passed"), base, files)
        root = tmp_path / "checkout"
        for name, text in {**TEAM, **files}.items():
            root.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        subject: Any = SimpleNamespace(root=root, tests=root / "test_new_view.py")
        check = TeamSuiteCheck(sandbox, lambda root: {"PYTHONPATH": str(root), **QUICK}, before=lambda: base, kept=kept)
        outcome = check.check(subject)
        return outcome.detail or ", ".join(violation.subject for violation in outcome.violations)

    return run


def test_files_that_see_nothing_new_are_kept(suite: Callable[..., str]) -> None:
    assert suite() == "4 tests passed, 0 skipped"
    assert suite() == "1 test passed, 0 skipped; kept: 3 files"
    assert suite("x = 1\n") == "3 tests passed, 0 skipped; kept: 1 file", "others look around, or name the new file"


def test_a_file_that_needs_a_kept_one_is_measured_with_it(suite: Callable[..., str]) -> None:
    assert suite() == "4 tests passed, 0 skipped"
    needs = "import os\n\ndef test_new():\n    assert os.environ['RAN']\n"
    assert suite(tests=needs) == "4 tests passed, 0 skipped"


def test_a_failing_file_is_measured_again(suite: Callable[..., str]) -> None:
    assert suite(tests=FAILS) == suite(tests=FAILS) == "test_new_view.test_two"
    assert suite("BROKEN = 1\n") == suite("BROKEN = 1\n") == "test_views.test_views", "it passes without the new files"
    assert suite() == "4 tests passed, 0 skipped"
