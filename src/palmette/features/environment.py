"""Puts a feature run together: reads and resolves the documents, and gives the actors what they work with."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from palmette.delivery.export import export_base
from palmette.documents import Located, read_located
from palmette.engine import Budget, ConsoleHuman, NoHuman, Setup, build_actors, create, load_topology
from palmette.engine.actor import TextFile
from palmette.errors import InputError, Problem
from palmette.features.artefacts import Request
from palmette.features.checks.golden import contradictions
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import check_samples, load_run, load_view
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.features.workbench import Workbench
from palmette.sandbox import Sandbox, WarmSpark

TOPOLOGY = Path(__file__).with_name("topology.yaml")


class Inputs(NamedTuple):
    """A run file and all that it names, read and found to fit together.

    Relative paths of tables and of the output are relative to the repository: there the team's jobs are started,
    so that is how its configurations write them.
    """

    run: Run
    view: View
    request: Request
    repository: Path
    """The team's checkout; only read."""


def read_inputs(run_file: Path, answers: Mapping[str, str] | None = None) -> Inputs:
    """Reads the run file, the FSC and the DFR that it names.

    Args:
        answers: What the human answered to questions about features in words, by feature name.

    Raises:
        InputError: every mistake in the three files, and every question that words leave open.
    """
    run = load_run(run_file)
    base = run_file.parent
    fsc_path, dfr_path = (Path(os.path.normpath(base / name)) for name in (run.fsc, run.dfr))
    view = load_view(fsc_path, dfr_path, answers=answers)
    problems = [
        *_contradictions(view, read_located(fsc_path, FeatureSpec)),
        *check_samples(view, dfr_path.parent),
    ]
    if problems:
        raise InputError(problems)
    texts = {"fsc": fsc_path, "dfr": dfr_path, "run": run_file}
    request = Request(
        **{
            name: TextFile(path=f"{name}.yaml", text=path.read_text(encoding="utf-8-sig"))
            for name, path in texts.items()
        }
    )
    repository = (base / run.repository.path).resolve()
    output = run.output.model_copy(update={"path": rebased(run.output.path, base, repository)})
    tables = {name: _rebased_table(table, dfr_path.parent, repository) for name, table in view.tables.items()}
    return Inputs(
        run.model_copy(update={"output": output}), dataclasses.replace(view, tables=tables), request, repository
    )


def rebased(path: str | None, base: Path, onto: Path) -> str | None:
    """A path that is relative to `base`, relative to `onto`; URLs and absolute paths stay as they are.

    >>> rebased("tables/users", Path("/data"), Path("/code/team")), rebased("s3://lake/users", Path(), Path())
    ('../../data/tables/users', 's3://lake/users')
    """
    if path is None or "://" in path or Path(path).is_absolute():
        return path
    return Path(os.path.relpath(base.resolve() / path, onto.resolve())).as_posix()


def _rebased_table(table: Table, base: Path, onto: Path) -> Table:
    changed = {name: rebased(getattr(table, name), base, onto) for name in ("path", "sample")}
    return table.model_copy(update=changed)


def _contradictions(view: View, spec: Located[FeatureSpec]) -> list[Problem]:
    """The author's own test cases that the author's own definitions do not fulfil."""
    return [
        spec.problem(
            "test-contradicts",
            f"Test {found.subject!r} expects what the definitions do not give: {found.evidence}.",
            "Correct the test or the definition.",
            field=f"tests[{index}].expect",
        )
        for index, test in enumerate(view.tests)
        for found in contradictions(view)
        if found.subject == test.name
    ]


def open_features(arguments: dict[str, JsonValue]) -> Setup:
    """The environment `features`.

    `arguments`: `run_file` (absolute path), and optionally `answers` (feature to words), `planner`, `human` and `seed`,
    which go before those of the run file.
    """
    answers = arguments.get("answers") or {}
    assert isinstance(answers, dict)
    run_file = Path(str(arguments["run_file"]))
    inputs = read_inputs(run_file, {name: str(text) for name, text in answers.items()})
    changes = {name: arguments[name] for name in ("planner", "human", "seed") if arguments.get(name) is not None}
    run = inputs.run.model_copy(update=changes)
    folder = tempfile.TemporaryDirectory(prefix="palmette-base-")
    base = export_base(inputs.repository, run.repository.base, Path(folder.name) / "base")
    sandbox = Sandbox()
    bench = Workbench(
        run=run,
        repository=base,
        checkout=inputs.repository,
        sandbox=sandbox,
        spark=WarmSpark(sandbox, master=run.spark.master, memory=run.spark.memory),
        tables=inputs.view.tables,
    )
    bench.spark.warm_up()
    topology = load_topology(run_file.parent / run.topology if run.topology else TOPOLOGY).value
    services = {
        "view": inputs.view,
        "workbench": bench,
        "run_spec": run,
        "repository_root": base,
        "sandbox": sandbox,
        "harness": bench.harness,
        "seed": run.seed,
    }

    def close() -> None:
        bench.close()
        folder.cleanup()

    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", run.planner, services),
        given={"request": inputs.request},
        copied={"request": f"the files that {str(run_file)!r} names"},
        human=ConsoleHuman() if run.human == "console" else NoHuman(),
        budget=Budget(steps=run.budget.steps, attempts=run.budget.attempts, seconds=run.budget.minutes * 60),
        approve=run.approve,
        seed=run.seed,
        close=close,
    )
