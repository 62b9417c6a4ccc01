"""Instruction data: labels that are right by construction, splits that share no phrasing, and the measure."""

from __future__ import annotations

import json
from pathlib import Path

from palmette.automl.tuning.instructions import by_rules, evaluate, grammar, pairs, write
from palmette.automl.tuning.trajectories import scrubbed

MADE = pairs(300)


def test_pairs_are_different_and_the_test_shares_no_table_or_phrasing(tmp_path: Path) -> None:
    assert len({one.request for one in MADE}) == 300 and pairs(300) == MADE
    tables = {frozenset(one.columns): one.split == "test" for one in MADE}
    held = [
        frozenset(name for group in grammar().tables[table].values() for name in group)
        for table in grammar().test_tables
    ]
    assert {columns for columns, is_test in tables.items() if is_test} <= {*held}
    assert write(MADE, tmp_path) == {"train": 240, "validation": 30, "test": 30}
    first = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])["messages"]
    assert [one["role"] for one in first] == ["system", "user", "assistant"] and json.loads(first[2]["content"])[
        "target"
    ]
    assert "300 pairs" in (tmp_path / "README.md").read_text()


def test_the_measure_is_one_for_the_labels_and_none_for_nothing() -> None:
    assert evaluate(lambda pair: pair.task, MADE).exact == 1
    empty = evaluate(lambda pair: {}, MADE)
    assert empty.exact == 0 and empty.f1["all"] == 0
    rules = evaluate(by_rules, MADE[:100])
    assert rules.f1["target"] > 0.9


def test_secrets_leave_no_trace() -> None:
    assert scrubbed("Bearer abcdefgh12345 https://ada:pw@host/x") == "Bearer [secret] https://[secret]@host/x"
