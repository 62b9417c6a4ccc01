"""Small tables with every kind of column, their blueprints and selections, and packages in a folder."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from palmette.automl.artefacts import LeaderboardRow
from palmette.automl.candidates import (
    Blueprint,
    Candidate,
    ChosenMember,
    ColumnUse,
    Folds,
    Selection,
    SeriesUse,
    Strategy,
)
from palmette.automl.project.built import BuiltPackage
from palmette.automl.project.writer import write_package
from palmette.automl.samples import Reading
from palmette.sandbox import Sandbox

ROWS = 240
COLUMNS = (
    ColumnUse(name="Age (years)", kind="number", note="A tenth is missing", examples=(31.5, None, 50.0)),
    ColumnUse(
        name="paid",
        source="Paid ",
        kind="number",
        reading=Reading(form="number", thousands=",", affix="$"),
        examples=(1164.5, 90.0),
    ),
    ColumnUse(name="City", kind="category", categories=("Oslo", "Paris", "Rome"), examples=("Rome", "Bonn", None)),
    ColumnUse(
        name="joined",
        kind="datetime",
        reading=Reading(form="date", formats=("%m/%d/%Y",)),
        parts=("month", "days"),
        examples=("2024-02-03", "2024-12-30T10:00:00"),
    ),
    ColumnUse(name="member?", kind="boolean", reading=Reading(form="boolean"), examples=(True, False)),
)
REMARK = ColumnUse(name="remark", kind="text", note="Free words", examples=("bad cold dish", "good", None))


def guests(problem: str, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Typed rows whose target depends on every column but the date."""
    random = np.random.default_rng(seed)
    age, paid = random.normal(40, 12, rows).round(1), random.uniform(80, 3000, rows).round(2)
    city = random.choice(np.array(["Paris", "Rome", "Oslo"], dtype=object), rows)
    member = random.random(rows) < 0.5
    remark = random.choice(
        np.array(["very good soup", "bad cold dish", "nice place", "slow bad service"], object), rows
    )
    joined = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, rows), unit="D")
    signal = (
        age / 10 + paid / 800 + 2 * (city == "Rome") + member - 3 * pd.Series(remark).str.contains("bad").to_numpy()
    )
    signal = signal + random.normal(0, 0.5, rows)
    table = pd.DataFrame(
        {"Age (years)": age, "paid": paid, "City": city, "joined": joined, "member?": member.astype(float)}
    ).assign(remark=remark)
    table.loc[random.random(rows) < 0.1, "Age (years)"] = np.nan
    table.loc[random.random(rows) < 0.1, "City"] = None
    if problem == "classification":
        table["grade"] = np.where(signal > np.quantile(signal, 0.6), "good", "bad")
    elif problem == "regression":
        table["grade"] = np.exp(signal / 3)
    return table


def as_in_file(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as `pd.read_csv` makes them of the user's file."""
    written = rows.rename(columns={"paid": "Paid "})
    written["Paid "] = [f"${value:,.2f}" for value in rows["paid"]]
    written["joined"] = rows["joined"].dt.strftime("%m/%d/%Y")
    written["member?"] = np.where(rows["member?"] == 1, "yes", "no")
    return written.assign(id=range(len(rows)))


def blueprint_of(problem: str, **changes: Any) -> Blueprint:
    common: dict[str, Any] = {
        "package": "guests",
        "title": "Grades of guests",
        "problem": problem,
        "target": "grade",
        "columns": (*COLUMNS, REMARK),
        "dropped": {"id": "nearly every row has a different value"},
        "rows": ROWS,
        "candidates": (Candidate(name="linear", learner="linear"),),
        "folds": Folds(count=3),
        "seconds": 5.0,
    }
    own: dict[str, dict[str, Any]] = {
        "classification": {"metric": "f1", "classes": ("bad", "good"), "positive": "good"},
        "regression": {"metric": "rmsle", "bounds": (0.1, 80.0)},
        "forecasting": {
            "metric": "mae",
            "series": SeriesUse(
                targets=("paid",), time="joined", frequency="D", horizon=7, quantiles=(0.1, 0.9), context=30
            ),
            "target": "",
            "columns": COLUMNS[1:4:2],
        },
        "clustering": {"metric": "silhouette", "target": "", "columns": COLUMNS, "clusters": (2, 3)},
    }
    return Blueprint(**(common | own[problem] | changes))


def selection_of(blueprint: Blueprint, *learners: str, **changes: Any) -> Selection:
    """A selection of candidates with so many learners, with few rounds."""
    rounds = {"lightgbm": 20, "catboost": 20, "xgboost": 20, "tabm": 3, "mlp": 57}
    strategy = Strategy(target_transform="log1p") if blueprint.metric == "rmsle" else Strategy()
    members = tuple(
        ChosenMember(
            candidate=Candidate(name=f"{one}-1", learner=one, strategy=strategy, reason=f"{one} is strong here"),
            rounds=rounds.get(one),
            weight=round(1 / len(learners), 3),
        )
        for one in learners
    )
    facts: dict[str, Any] = {
        "metric": blueprint.metric,
        "score": 0.81,
        "members": members,
        "best_single": members[0].candidate.name,
        "apparent_score": 0.8,
        "reason": "Better than every other by more than noise.",
        "ensembling": "single" if len(members) == 1 else "weighted",
    }
    return Selection(**(facts | changes))


def leaderboard_of(selection: Selection) -> tuple[LeaderboardRow, ...]:
    return tuple(
        LeaderboardRow(
            name=one.candidate.name,
            track="traditional",
            learner=one.candidate.learner,
            score=0.8,
            low=0.75,
            high=0.85,
            error_reduction=0.5,
            seconds=1.0,
            chosen=len(selection.members) == 1,
        )
        for one in selection.members
    )


def fitted(
    folder: Path, sandbox: Sandbox, blueprint: Blueprint, selection: Selection, rows: pd.DataFrame
) -> BuiltPackage:
    """The package in a folder, fitted on typed rows."""
    package = BuiltPackage(folder / "package", sandbox, blueprint)
    package.write(write_package(blueprint, selection, (), leaderboard_of(selection)))
    done = package.fit(rows, folder / "scratch", 100.0)
    assert done.ok, done.stderr
    return package
