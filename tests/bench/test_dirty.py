"""How a run on dirty data is judged: what counts is what it printed and left."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from palmette_bench.dirty import DELIVERED, judged
from palmette_bench.dirty_kinds import kinds

GOOD: dict[str, Any] = {
    "status": "finished",
    "assessment": {"scores": [{"metric": "accuracy", "value": 0.9, "low": 0.8, "high": 1.0}]},
}
ERROR = {"code": "one-class", "message": "The target is 1 in every row.", "remedy": "Name another.", "problems": []}
STOPPED = {"status": "stopped", "reason": "nothing to learn", "failures": [{"code": "no-columns", "message": "None."}]}


@pytest.mark.parametrize(("told", "status", "stderr", "left", "how", "wrong"), [
    (GOOD, 0, '{"kind": "opened"}\n', DELIVERED, "model", ""),
    (GOOD, 0, "UserWarning: odd\n", DELIVERED, "model", "1 lines of noise: UserWarning: odd"),
    (GOOD, 0, "", DELIVERED - {"model"}, "model", "not delivered: model"),
    (GOOD, 3, "", DELIVERED, "model", "exit status 3"),
    ({"error": ERROR}, 2, "", None, "one-class", ""),
    ({"error": ERROR | {"remedy": ""}}, 2, "", None, "one-class", "no remedy"),
    ({"error": ERROR}, 2, "", {"train.py"}, "one-class", "half written"),
    ({"error": ERROR}, 70, "", None, "one-class", "a bug"),
    (STOPPED, 6, "", None, "no-columns", ""),
    (STOPPED, 0, "", None, "no-columns", "exit status 0"),
])  # fmt: skip
def test_a_run_is_judged_by_what_it_printed_and_left(
    told: Any, status: int, stderr: str, left: set[str] | None, how: str, wrong: str, tmp_path: Path
) -> None:
    for name in left or ():
        (tmp_path / "out" / name).mkdir(parents=True)
    done = subprocess.CompletedProcess([], status, json.dumps(told), stderr)
    assert judged(done, tmp_path / "out")[:2] == (how, wrong)


def test_a_trace_is_never_right(tmp_path: Path) -> None:
    done = subprocess.CompletedProcess([], 1, "", "Traceback (most recent call last):\n")
    assert judged(done, tmp_path / "out").wrong == "no JSON"


def test_there_are_kinds_enough() -> None:
    every = kinds()
    assert len(every) >= 60 and all(kind.files() for kind in every.values())
