"""What is remembered of executions: equal code on equal rows, in another folder, under other tests."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from palmette.features.frame import Frame
from palmette.features.harness.connect import CaseResult, ConnectHarness, MainResult, ScriptCase, SuiteResult
from palmette.features.spec.values import SparkType
from palmette.sandbox import ExecutionResult
from palmette_bench.featbench.cached_harness import CachedHarness
from palmette_bench.featbench.result_cache import ResultCache

ROWS = Frame.of(
    {"id": SparkType("bigint"), "at": SparkType("timestamp"), "paid": SparkType("decimal", 10, 2)},
    [{"id": 1, "at": datetime(2025, 3, 30, 1, tzinfo=UTC), "paid": Decimal("1.50")}, {"id": None}],
)
ENDED = ExecutionResult(exit_code=0, stdout="", stderr="", ended="exited", note="", seconds=1.0, isolation="none")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is really executed, call by call."""
    calls: list[str] = []

    def execute(self: Any, script: Path, entry: str, cases: list[ScriptCase], **_: Any) -> list[CaseResult]:
        calls.append("execute")
        return [CaseResult(case.name, frame=case.frames["t"]) for case in cases]

    def run_tests(self: Any, tests: Path, variants: dict[str, str], script: Path, **_: Any) -> dict[str, SuiteResult]:
        calls.append("tests")
        return {name: SuiteResult(passed=("test_a",), failed={"test_b": "E"}, seconds=1.0) for name in variants}

    def run_main(self: Any, script: Path, argv: list[str], *, root: Path, **_: Any) -> MainResult:
        calls.append("main")
        (root / "out").mkdir(exist_ok=True)
        (root / "out" / "part.bin").write_bytes(bytes(range(256)))
        (root / "old.txt").unlink()
        return MainResult("", "", ENDED)

    for method in (execute, run_tests, run_main):
        monkeypatch.setattr(ConnectHarness, method.__name__, method)
    return calls


def checkout(folder: Path, *, script: str = "x = 1", tests: str = "y = 1") -> Path:
    """A checkout whose configuration says where it lies."""
    for name, text in {"s.py": script, "tests/test_s.py": tests, "c.yaml": f"out: {folder}/out", "old.txt": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def harness(folder: Path) -> CachedHarness:
    return CachedHarness(cast(Any, None), memory=ResultCache(folder / "memory", "c"))


def test_a_script_is_executed_once_for_equal_rows_whatever_its_tests(made: list[str], tmp_path: Path) -> None:
    def run(root: Path, frame: Frame = ROWS) -> CaseResult:
        (result,) = harness(tmp_path).execute(root / "s.py", "build", [ScriptCase("c", {"t": frame}, None)], root=root)
        return result

    first = run(checkout(tmp_path / "a"))
    assert run(checkout(tmp_path / "b", tests="z = 2")) == first and first.frame == ROWS and len(made) == 1
    run(checkout(tmp_path / "c", script="x = 2"))
    run(tmp_path / "a", ROWS.with_rows(ROWS.rows[:1]))
    assert len(made) == 3


def test_tests_are_run_again_when_they_are_others(made: list[str], tmp_path: Path) -> None:
    def run(root: Path, text: str = "x = 1") -> SuiteResult:
        found = harness(tmp_path).run_tests(root / "tests/test_s.py", {"v": text}, root / "s.py", root=root)
        return found["v"]

    assert run(checkout(tmp_path / "a")) == run(checkout(tmp_path / "b")) and len(made) == 1
    run(tmp_path / "a", "x = 2")
    run(checkout(tmp_path / "c", tests="z = 2"))
    assert len(made) == 3


def test_what_a_script_wrote_is_written_again(made: list[str], tmp_path: Path) -> None:
    for name in ("a", "b"):
        root = checkout(tmp_path / name)
        result = harness(tmp_path).run_main(root / "s.py", ["--config", "c.yaml"], root=root)
        assert result.ok and (root / "out" / "part.bin").read_bytes() == bytes(range(256))
        assert not (root / "old.txt").exists()
    assert made == ["main"]
    harness(tmp_path).run_main(root / "s.py", ["--config", "other.yaml"], root=checkout(tmp_path / "c"))
    assert made == ["main", "main"]
