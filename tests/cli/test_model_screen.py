"""The model on the end screen."""

from __future__ import annotations

from typing import Any

import pytest

from palmette.cli.model import REPORT

SCORE = {"metric": "accuracy", "value": 0.91, "low": 0.88, "high": 0.94, "baseline": 0.5}


def summary(rows: int, scores: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "run": "r",
        "model": {"folder": "made", "p50": 3.0, "p95": 5.0},
        "assessment": {"rows": rows, "scores": scores, "judged": [], "unmeasured": ""},
        "leaderboard": [],
        "measured": "out of fold",
        "better_than_baseline": True,
        "unread": [],
    }


@pytest.mark.parametrize(("rows", "scores", "said"), [
    (4, [SCORE], "accuracy 0.91 on 4 rows that no training saw (95 % interval 0.88 to 0.94; best baseline 0.5)"),
    (0, [SCORE | {"baseline": None}], "accuracy 0.91 out of fold (95 % interval 0.88 to 0.94)"),
    (4, [], "Nothing could be measured on 4 rows that no training saw."),
])  # fmt: skip
def test_the_score_comes_first_or_that_there_is_none(
    rows: int, scores: list[dict[str, Any]], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    REPORT.show(summary(rows, scores))
    assert capsys.readouterr().out.splitlines()[0] == said
