"""What candidates cost on this machine now, beside what `automl/planning/costs.yaml` has them expected to cost.

`python -m palmette.bench.costs TABLE.csv:TARGET [TABLE.csv:TARGET ...]`, on a machine that does nothing else. Every
algorithm is trained at its starting point, alone in an endpoint, and asked for one row after the other; what
the dummy takes is what every row takes to be prepared. The indented lines and the last one belong into the file; times
to train and sizes are told to be compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from palmette.automl.data.load import load
from palmette.automl.endpoint import Service, rows_of_requests
from palmette.automl.endpoint.answers import Row
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.planning.costs import Size, cost
from palmette.automl.selection import Candidate, Member, Selection
from palmette.bench.external import TRACK, Run, drafted
from palmette.sandbox import Sandbox
from palmette.sandbox.temporary import temporary_folder

SECONDS = 60.0
"""To train each table: enough for all starting points of tables of some thousand rows."""
WARM_UP, REQUESTS = 20, 200
QUICKEST = 0.2
"""Share of the requests that count: the quickest are those that nothing disturbed."""
FEW = 30
"""Different values, up to which a target is one of classes."""


class Found(NamedTuple):
    """What one algorithm cost on one table, all folds together."""

    table: str
    size: Size
    seconds: float
    megabytes: float
    milliseconds: float


def main(arguments: list[str]) -> None:
    """Measures and prints, algorithm by algorithm."""
    parser = argparse.ArgumentParser(prog="python -m palmette.bench.costs", description=__doc__)
    parser.add_argument("tables", nargs="+", metavar="TABLE.csv:TARGET")
    found: dict[str, list[Found]] = defaultdict(list)
    for table in parser.parse_args(arguments).tables:
        path, _, target = table.rpartition(":")
        for algorithm, one in measured(Path(path), target).items():
            found[algorithm].append(one)
    dummies = found.pop("dummy", [])
    bare = {one.table: one.milliseconds for one in dummies}
    print("algorithm table rows features folds | seconds MB ms a row: measured (expected)")
    for algorithm, all_of_it in sorted(found.items()):
        for one in all_of_it:
            due = cost(algorithm, one.size)
            pairs = zip((one.seconds, one.megabytes, one.milliseconds), due, strict=True)
            told = "  ".join(f"{measured:.3g} ({expected:.3g})" for measured, expected in pairs)
            print(f"{algorithm} {one.table} {one.size.rows} {one.size.features} {one.size.folds} | {told}")
        each = statistics.median((one.milliseconds - bare[one.table]) / one.size.folds for one in all_of_it)
        print(f"  {algorithm}: milliseconds: {each:.2g}")
    print(f"milliseconds: {statistics.median(bare.values()):.2g}")


def measured(path: Path, target: str) -> dict[str, Found]:
    """By algorithm: what its starting point costs on a table."""
    loaded = load([path])
    (column,) = [one for one in loaded.dataset.columns if one.name == target]
    is_classes = column.kind in ("categorical", "boolean") or column.distinct <= FEW
    task, metric = ("tabular_classification", "log_loss") if is_classes else ("tabular_regression", "rmse")
    rows = loaded.table[loaded.table[target].notna()].reset_index(drop=True)
    blueprint = drafted(loaded.dataset.columns, rows, task, target, metric)
    assert isinstance(blueprint, Blueprint)
    outputs = len(blueprint.classes) if len(blueprint.classes) > 2 else 1
    size = Size(len(rows), len(blueprint.columns), outputs, blueprint.folds.count)
    with temporary_folder() as folder:
        run = Run(folder, blueprint, rows)
        run.train(time.monotonic(), SECONDS)
        kinds = {one.name: one.kind for one in blueprint.columns}
        asked = rows_of_requests(rows.iloc[:: max(1, len(rows) // REQUESTS)][:REQUESTS], kinds)
        tried = run.modality.candidates(run.folder / "tracks" / TRACK, run.material).candidates
        first: dict[str, Candidate] = {}
        for one in tried:  # in the order in which they were tried: the starting point is the first
            first.setdefault(one.trial.algorithm, one)
        return {name: _cost(run, one, asked, Found(path.stem, size, 0, 0, 0)) for name, one in first.items()}


def _cost(run: Run, one: Candidate, asked: list[Row], found: Found) -> Found:
    """What a candidate costs that answers alone."""
    trained, trial = run.folder / "tracks" / TRACK, one.trial
    member = Member(**trial.model_dump(include={"track", "name", "algorithm", "settings", "rounds"}), weight=1.0)
    alone = Selection(metric=run.blueprint.metric, score=0.0, members=(member,), best_single=one.name, single_score=0.0)
    (trained / "members.json").write_text(alone.model_dump_json(), encoding="utf-8")
    model = run.folder / "model"
    model.unlink(missing_ok=True)
    model.symlink_to(trained, target_is_directory=True)
    with Service(Sandbox(), run.folder) as service:
        if not service.is_healthy():
            raise SystemExit(f"The endpoint of {one.name} does not start: {service.output()[-2000:]}")
        calls = (service.call("POST", "/predict", row) for row in islice(cycle(asked), WARM_UP + REQUESTS))
        times = sorted([1000 * call.seconds for call in calls][WARM_UP:])
    size = sum(file.stat().st_size for file in (trained / "fold_models" / one.name).iterdir()) / 1e6
    quick = statistics.fmean(times[: round(QUICKEST * REQUESTS)])
    return found._replace(seconds=trial.seconds, megabytes=size, milliseconds=quick)


if __name__ == "__main__":
    main(sys.argv[1:])
