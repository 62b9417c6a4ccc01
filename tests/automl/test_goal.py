"""What a run is to reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from palmette.automl.actors.data_profiler.offline import settle
from palmette.automl.data import Aim
from palmette.automl.data.load import load
from palmette.automl.goal import aim_of, goal_of
from palmette.automl.profile import Profile
from palmette.automl.profile.artefacts import Leak, NumberFacts, TargetProfile
from palmette.automl.requirements import DataSummary, Requirements, read_request
from palmette.automl.requirements.classes import measured_class
from palmette.errors import UserError


@pytest.mark.parametrize(
    ("text", "values", "named", "meant"),
    [
        ("Good or bad credit? Recall of 'bad' matters most.", ("good", "bad"), (), "bad"),
        ("Edible or poisonous? Precision must be at least 99.9% for edible.", ("e", "p"), ("edible", "poisonous"), "e"),
        ("Recall of bad and precision for good", ("good", "bad"), (), None),
        ("Recall of the class yes.", ("no", "yes"), (), "yes"),
        ("Best accuracy on good days", ("good", "bad"), (), None),
        ("F1 of at least 0.6", ("0", "1"), (), None),
    ],
)
def test_the_positive_class_is_the_one_that_a_metric_is_of(
    text: str, values: tuple[str, ...], named: tuple[str, ...], meant: str | None
) -> None:
    assert measured_class(text, values, named) == meant


@pytest.mark.parametrize(("metric", "least", "fits"), [
    ("rmsle", 0, True), ("rmsle", -1, False), ("rmse_log", 0, False), ("rmse_log", 0.1, True), ("rmse", -1, True),
])  # fmt: skip
def test_a_metric_of_logarithms_is_refused_where_the_target_has_none(metric: str, least: float, fits: bool) -> None:
    target = TargetProfile.model_construct(name="gain", numbers=NumberFacts.model_construct(least=least))
    aim = Aim(target="gain", task="regression")
    profile = Profile.model_construct(aim=aim, target=target)
    wanted = Requirements.model_validate({"text": "", "problem": {"task": "regression", "metric": metric}})
    if fits:
        assert goal_of(wanted, profile).metric == metric
        return
    with pytest.raises(UserError, match=f"'gain' has the value {least}") as caught:
        goal_of(wanted, profile)
    assert caught.value.code == "metric-unsuited"


@pytest.mark.parametrize(("said", "done"), [(None, ("dropped", "kept")), ("yes", ("dropped", "dropped"))])
def test_the_last_column_that_says_something_is_left_out_by_a_person_only(said: str | None, done: tuple[str]) -> None:
    leaks = [
        Leak(code="target-in-text", severity="high", columns=(name,), text="x", action="ask", default="drop")
        for name in ("title", "remark")
    ]
    settled = settle(leaks, {"title", "remark"}, lambda _: said)
    assert tuple(one.done for one in settled) == done


def test_rows_to_predict_that_lack_another_column_than_the_target_are_refused(tmp_path: Path) -> None:
    rows = [f"{n},{n % 5},{'yes' if n % 3 else 'no'}" for n in range(30)]
    (tmp_path / "train.csv").write_text("\n".join(["size,rooms,sold", *rows]), "utf-8")
    (tmp_path / "test.csv").write_text("size,sold\n1,yes\n2,no\n3,yes\n", "utf-8")
    dataset = load([tmp_path / "train.csv", tmp_path / "test.csv"]).dataset
    wanted = read_request("Classify sold", DataSummary.model_validate(dataset.model_dump()).hints).requirements
    with pytest.raises(UserError, match="'sold' is to be predicted, but the 3 rows to predict lack 'rooms'"):
        aim_of(wanted, dataset)
    whole = load([tmp_path / "train.csv"]).dataset
    assert aim_of(wanted, whole).target == "sold"


def dated(tmp_path: Path, columns: str, rows: list[str]) -> Path:
    path = tmp_path / "sold.csv"
    path.write_text("\n".join([columns, *rows]), "utf-8")
    return path


@pytest.mark.parametrize(("text", "time", "since", "share"), [
    ("Predict sold, hold out the last 25 % of the dates", "day", "", 0.25),
    ("Predict sold. Train before March 2024.", "day", "2024-03", 0.2),
    ("Forecast sold from price", "day", "", 0.2),
    ("Predict sold, 70 % for training", "", "", 0.3),
])  # fmt: skip
def test_the_hold_out_is_cut_as_the_request_says(
    tmp_path: Path, text: str, time: str, since: str, share: float
) -> None:
    rows = [f"2024-{1 + n // 28:02d}-{1 + n % 28:02d},{n % 9 + n / 100},{n * n % 83}" for n in range(120)]
    dataset = load([dated(tmp_path, "day,price,sold", rows)]).dataset
    wanted = read_request(text, DataSummary.model_validate(dataset.model_dump()).hints).requirements
    aim = aim_of(wanted, dataset)
    assert (aim.task, aim.target, aim.time, aim.since) == ("regression", "sold", time, since)
    assert aim.share == pytest.approx(share)


@pytest.mark.parametrize(("wish", "apart"), [("No shop may be in both parts.", True), ("", False)])
def test_rows_of_one_group_are_on_one_side_of_the_cut_where_that_is_asked_for(
    tmp_path: Path, wish: str, apart: bool
) -> None:
    rows = [f"s{n % 12},{n % 9 + n / 100},{n * n % 83}" for n in range(240)]
    dataset = load([dated(tmp_path, "shop,price,sold", rows)]).dataset
    wanted = read_request(f"Predict sold. {wish}", DataSummary.model_validate(dataset.model_dump()).hints).requirements
    assert aim_of(wanted, dataset).group == ("shop" if apart else "")


@pytest.mark.parametrize(("text", "columns", "code"), [
    ("Predict sold, test on 2024", "price,sold", "no-times"),
    ("Forecast sold for the next 7 days", "day,price,sold", "task-unsupported"),
    ("Forecast sold", "day,sold", "task-unsupported"),
])  # fmt: skip
def test_what_cannot_be_cut_or_made_as_said_is_refused(tmp_path: Path, text: str, columns: str, code: str) -> None:
    parts = {"day": lambda n: f"2024-{1 + n // 28:02d}-{1 + n % 28:02d}", "price": lambda n: f"{n / 7:.3f}"}
    parts["sold"] = lambda n: f"{n * n % 83}"
    rows = [",".join(parts[name](n) for name in columns.split(",")) for n in range(120)]
    dataset = load([dated(tmp_path, columns, rows)]).dataset
    wanted = read_request(text, DataSummary.model_validate(dataset.model_dump()).hints).requirements
    with pytest.raises(UserError) as caught:
        aim_of(wanted, dataset)
    assert caught.value.code == code and caught.value.remedy
