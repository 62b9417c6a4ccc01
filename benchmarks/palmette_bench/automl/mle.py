"""`python -m palmette_bench mle FOLDER`: one competition in the layout of MLE-bench, from data to a medal.

    FOLDER/prepared/public/    what the run is given: train.csv, test.csv, sample_submission.csv, other files
    FOLDER/prepared/private/   test.csv with the answers
    FOLDER/leaderboard.csv     a column `score`, one row for each team

`--rebuild SET` makes such a folder of a set of the bench. Its leaderboard is made up, and says so in its second column.
"""

import json
from pathlib import Path

import click
import numpy as np
import pandas as pd

from palmette.errors import InputError, Mistake
from palmette_bench.automl.peers import PeerTask, dummy, lightgbm
from palmette_bench.automl.runs import PALMETTE, run_command
from palmette_bench.automl.scoring import is_loss, score
from palmette_bench.automl.sets import bench_set, prepare

KEY, TEAMS = "row_id", 200
MADE_UP = "made up"
OF_ONE_CLASS = ("f1", "roc_auc")  # metrics


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--metric", required=True, help="accuracy, f1, f1_macro, roc_auc, rmsle, rmse, mae, ...")
@click.option("--positive", default="", help="Positive class of F1 and ROC AUC.")
@click.option("--budget", default="120s", help="Time for training.  [default: 120s]")
@click.option("--rebuild", metavar="SET", help="Make the folder from a set of the bench first.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Folder of the sets, for --rebuild.")
def main(folder: Path, metric: str, positive: str, budget: str, rebuild: str | None, data: Path | None) -> None:
    """Build a submission for the competition in FOLDER, grade it, and print its medal as JSON."""
    folder = folder.resolve()
    if metric in OF_ONE_CLASS and not positive:
        raise click.UsageError(f"{metric} needs --positive CLASS.")
    if rebuild and not data:
        raise click.UsageError("--rebuild needs --data FOLDER.")
    if rebuild and data:
        rebuild_competition(rebuild, data, folder, metric)
    public, private = folder / "prepared" / "public", folder / "prepared" / "private" / "test.csv"
    _require(public / "sample_submission.csv", private, folder / "leaderboard.csv")
    target = _target(public)
    done = run_command(
        [*PALMETTE, "automl", "--data", str(public), "--target", target, "--metric", metric, "--budget", budget,
         *(("--positive", positive) if positive else ()), "--human", "none", "--json", "--out", str(folder / "model")],
        folder,
    )  # fmt: skip
    submission = folder / "model" / "submission.csv"
    if done.returncode or not submission.is_file():
        click.echo(json.dumps({"valid": False, "reason": done.stderr[-500:]}))
        raise SystemExit(1)
    value = grade(pd.read_csv(submission), pd.read_csv(private), target, metric, positive)
    click.echo(json.dumps({"valid": True, "score": value, **standing(value, folder, metric)}, indent=2))


def grade(submission: pd.DataFrame, answers: pd.DataFrame, target: str, metric: str, positive: str = "") -> float:
    """The metric of a submission against the answers, matched by the first column."""
    key = submission.columns[0]
    both = answers[[key, target]].merge(submission, on=key, how="left", suffixes=("", "_submitted"))
    name = target if f"{target}_submitted" not in both else f"{target}_submitted"
    answered = pd.DataFrame({"prediction": both[name], f"proba_{positive}": both[name]})
    return score(metric, list(both[target]), answered, positive)


def standing(value: float, folder: Path, metric: str) -> dict[str, object]:
    """Rank and medal by Kaggle's rules, and whether the score is above the median."""
    board = pd.read_csv(folder / "leaderboard.csv")
    teams, sign = board["score"].to_numpy(float), -1 if is_loss(metric) else 1
    rank, count = int((sign * teams > sign * value).sum()) + 1, len(teams)
    gold, silver, bronze = medal_ranks(count)
    medal = next((name for name, most in (("gold", gold), ("silver", silver), ("bronze", bronze)) if rank <= most), "")
    made_up = MADE_UP in board.columns
    return {"rank": rank, "teams": count, "medal": medal, "above_median": bool(sign * value > sign * np.median(teams)),
            "leaderboard": MADE_UP if made_up else "as published"}  # fmt: skip


def medal_ranks(teams: int) -> tuple[float, float, float]:
    """The last ranks with gold, silver and bronze.

    >>> medal_ranks(50), medal_ranks(2000)
    ((5.0, 10.0, 20.0), (14.0, 100.0, 200.0))
    """
    gold = 0.1 * teams if teams < 100 else 10.0 if teams < 250 else 10 + 0.002 * teams
    if teams < 250:
        return gold, 0.2 * teams, 0.4 * teams
    return (gold, 50.0, 100.0) if teams < 1000 else (gold, 0.05 * teams, 0.1 * teams)


def rebuild_competition(name: str, root: Path, folder: Path, metric: str) -> None:
    """Writes a set as a competition; teams' scores lie between the dummy's and a little above LightGBM's."""
    one = bench_set(name)
    made = prepare(one, root, folder / "prepared" / "public")
    public, truth = folder / "prepared" / "public", made.questions[0].truth
    train, rows = pd.read_csv(public / "train.csv"), pd.read_csv(public / "rows.csv")
    task = PeerTask(train, rows, one.target, one.problem == "regression", metric, 60.0)
    ends = [score(metric, list(truth), peer(task), one.positive) for peer in (dummy, lightgbm)]
    (public / "rows.csv").unlink()
    rows.insert(0, KEY, np.arange(len(rows)))
    train.insert(0, KEY, np.arange(len(rows), len(rows) + len(train)))
    rows.to_csv(public / "test.csv", index=False)
    train.to_csv(public / "train.csv", index=False)
    rows[[KEY]].assign(**{one.target: train[one.target].iloc[0]}).to_csv(public / "sample_submission.csv", index=False)
    private = folder / "prepared" / "private"
    private.mkdir(parents=True, exist_ok=True)
    rows[[KEY]].assign(**{one.target: truth}).to_csv(private / "test.csv", index=False)
    places = np.random.default_rng(0).beta(6, 2, TEAMS) * 1.15
    board = pd.DataFrame({"score": ends[0] + (ends[1] - ends[0]) * places, MADE_UP: True})
    board.to_csv(folder / "leaderboard.csv", index=False)


def _target(public: Path) -> str:
    """The column that the training table has and the test table lacks."""
    train, test = (pd.read_csv(public / name, nrows=1) for name in ("train.csv", "test.csv"))
    sample = pd.read_csv(public / "sample_submission.csv", nrows=1)
    return str(next(name for name in sample if name in train and name not in test))


def _require(*files: Path) -> None:
    missing = [one for one in files if not one.is_file()]
    if missing:
        remedy = "Prepare the competition as MLE-bench does, or name a set with --rebuild."
        raise InputError([Mistake("no-such-file", f"There is no file {str(one)!r}.", remedy) for one in missing])
