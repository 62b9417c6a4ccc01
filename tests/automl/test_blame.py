"""A failure of a package comes from a module of own code, or from nobody's."""

from pathlib import Path

import pytest

from palmette.automl.candidates import OwnCode
from palmette.automl.own_code import answers_for, located
from palmette.engine import Violation

FEATURES, LEARNER = (OwnCode(path=path, text="", classes=()) for path in ("own_features.py", "own_traditional.py"))
TRACE = """Traceback (most recent call last):
  File "{folder}/predict.py", line 70, in <module>
  File "{folder}/orders/own_traditional.py", line 12, in predict
  File "{folder}/orders/own_features.py", line 40, in transform
ValueError: no
"""
PYTEST = "tests/test_package.py:12: in test_rows\norders/own_traditional.py:9: in predict\nE   ValueError: no\n"
BLAMED = {"own_features.py", "own_traditional.py"}


@pytest.mark.parametrize(("modules", "evidence", "subject"), [
    ((), TRACE, "predict.py"),
    ((FEATURES,), "", "own_features.py"),
    ((FEATURES, LEARNER), "", ""),
    ((FEATURES, LEARNER), TRACE, "own_features.py"),
    ((LEARNER,), TRACE, "own_traditional.py"),
    ((FEATURES, LEARNER), PYTEST, "own_traditional.py"),
])  # fmt: skip
def test_the_innermost_module_of_own_code_is_blamed(
    modules: tuple[OwnCode, ...], evidence: str, subject: str, tmp_path: Path
) -> None:
    failed = Violation(
        code="prediction-failed", message="?", evidence=evidence.format(folder=tmp_path.resolve()), subject="predict.py"
    )
    (found,) = located([failed], tmp_path, modules)
    assert found.subject == subject and str(tmp_path) not in found.evidence


@pytest.mark.parametrize(("code", "subject", "paths", "due"), [
    ("contract-unfulfilled", "own_features.py", {"own_features.py"}, True),
    ("contract-unfulfilled", "own_traditional.py", {"own_features.py"}, False),
    ("score-differs", "own_features.py", {"own_features.py"}, False),
    ("predictions-differ", "own_features.py", {"own_features.py"}, True),
    ("predictions-differ", "", {"own_features.py"}, True),
    ("predictions-differ", "", set(), False),
    ("predictions-differ", "predict.py", {"own_features.py"}, False),
])  # fmt: skip
def test_a_writer_answers_for_own_modules_only(code: str, subject: str, paths: set[str], due: bool) -> None:
    violation = Violation(code=code, message="?", subject=subject)
    assert answers_for(violation, paths, ("contract-unfulfilled",)) is due
