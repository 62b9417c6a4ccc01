"""The adapter that a comparison of AutoML systems calls: from two CSV files to predictions within a budget.

`python -m palmette_bench external TRAIN_CSV TEST_FEATURES_CSV TARGET TASK METRIC BUDGET OUT_PREDICTIONS_CSV`

TASK is a kind of data and a problem, e.g. `tabular_regression` or `image_classification`, or `node_classification` or
`ts_forecasting`; BUDGET is seconds of wall time for everything. The output has the column `prediction`, a row for each
test row in order, and for classes one column `proba_<class>` each; that of a forecast has the next rows, a column for
each of the targets, which commas separate. The environment may name PEERS_SEED, and

- PEERS_POSITIVE, the positive class, and PEERS_CLUSTERS, the number of clusters
- of nodes: PEERS_EDGES, a file of edges, and PEERS_OTHER_NODES, a file of the nodes in no other file
- of series: PEERS_TIME, PEERS_FREQUENCY, PEERS_SERIES_ID, PEERS_HORIZON, and PEERS_STATE, a folder that keeps the model
  from the first origin to the last

Plan, search, selection and package are those of a run without a language model; no rows are held out, and no leaks are
looked for, as the comparison keeps rows of its own.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from palmette_bench.forecast_at_origin import forecast_at_origin

KINDS = ("tabular", "text", "image", "audio", "multimodal", "relational")
NODES, SERIES = "node_classification", "ts_forecasting"
PROBLEMS = ("classification", "regression", "clustering")
TASKS = (*(f"{kind}_{name}" for kind in KINDS for name in PROBLEMS), NODES, SERIES)


@click.command()
@click.argument("train_csv", type=click.Path(path_type=Path))
@click.argument("test_features_csv", type=click.Path(path_type=Path))
@click.argument("target")
@click.argument("task", type=click.Choice(TASKS))
@click.argument("metric")
@click.argument("budget", type=float)
@click.argument("out", type=click.Path(path_type=Path))
def main(
    train_csv: Path, test_features_csv: Path, target: str, task: str, metric: str, budget: float, out: Path
) -> None:
    """Write predictions for a test file within BUDGET seconds, as comparisons of AutoML systems ask for them."""
    if task == SERIES:
        forecast_at_origin(train_csv, test_features_csv, target, metric, budget).to_csv(out, index=False)
        return
    # These take seconds, and most calls for a series have their model.
    from palmette.automl.task_spec.spec import Clusters, TaskSpec
    from palmette.sandbox.temporary import temporary_folder
    from palmette_bench.external_run import ExternalRun, loaded_apart, nodes_of_environment

    started = time.monotonic()
    problem = task if task == NODES else task.rpartition("_")[2]
    apart = nodes_of_environment if task == NODES else loaded_apart
    train, asked = apart(train_csv, test_features_csv)
    spec = TaskSpec(
        target="" if problem == "clustering" else target,
        problem=problem,
        metric=metric if problem != "clustering" else "",
        positive=os.environ.get("PEERS_POSITIVE", "") if problem == "classification" else "",
        clusters=Clusters(count=int(os.environ.get("PEERS_CLUSTERS") or 0) or None),
        budget=budget,
        seed=int(os.environ.get("PEERS_SEED", "0")),
    )
    with temporary_folder() as folder:
        run = ExternalRun.of(spec, train.samples, folder)
        run.search(started)
        run.predict(asked).to_csv(out, index=False)
