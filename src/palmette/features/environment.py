"""Puts a feature run together: gives the actors what they work with."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import JsonValue

from palmette.delivery.export import export_base
from palmette.engine import Budget, ConsoleHuman, NoHuman, Setup, build_actors, create, load_topology
from palmette.features.inputs import Inputs, read_inputs
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.features.workbench import Workbench
from palmette.llm.models import Models
from palmette.llm.opening import ModelChoice, about, check_roles, open_models
from palmette.sandbox import Sandbox, WarmSpark

TOPOLOGY = Path(__file__).with_name("topology.yaml")


def open_features(arguments: dict[str, JsonValue], folder: Path) -> Setup:
    """The environment `features`.

    `arguments`: `run_file` (absolute path), and optionally `answers` (feature to words), `planner`, `human`, `model`
    and `seed`, which go before those of the run file.
    """
    run_file = Path(str(arguments["run_file"]))
    inputs = _asked_for(run_file, arguments)
    run = inputs.run
    choice = ModelChoice(model=run.model, models=run.models, fallback=run.fallback, settings=run.model_settings)
    topology = load_topology(run_file.parent / run.topology if run.topology else TOPOLOGY).value
    check_roles(choice, topology)
    models = open_models(choice, folder)
    place = tempfile.TemporaryDirectory(prefix="palmette-base-")
    base = export_base(inputs.repository, run.repository.base, Path(place.name) / "base")
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
    services = services_of(inputs.view, bench, models)
    budget = _budget(run)

    def close() -> None:
        bench.close()
        place.cleanup()

    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", run.decider, services),
        given={"request": inputs.request},
        copied={"request": f"the files that {str(run_file)!r} names"},
        human=ConsoleHuman() if run.human == "console" else NoHuman(),
        budget=budget,
        approve=run.approve,
        seed=run.seed,
        about=f"{about(choice, budget)}\nplanner: {run.decider}",
        close=close,
    )


def _asked_for(run_file: Path, arguments: dict[str, JsonValue]) -> Inputs:
    """What the run file says, with what was asked for beside it."""
    answers = arguments.get("answers") or {}
    assert isinstance(answers, dict)
    inputs = read_inputs(run_file, {name: str(text) for name, text in answers.items()})
    settings = ("planner", "human", "model", "seed")
    changes = {name: arguments[name] for name in settings if arguments.get(name) is not None}
    return inputs._replace(run=inputs.run.model_copy(update=changes))


def services_of(view: View, bench: Workbench, models: Models) -> dict[str, object]:
    """What the constructors of actors and planners are filled from, by name."""
    return {
        "view": view,
        "workbench": bench,
        "run_spec": bench.run,
        "repository_root": bench.repository,
        "sandbox": bench.sandbox,
        "harness": bench.harness,
        "models": models,
        "seed": bench.run.seed,
    }


def _budget(run: Run) -> Budget:
    limits = run.budget
    return Budget(
        steps=limits.steps,
        attempts=limits.attempts,
        seconds=limits.minutes * 60,
        tokens=limits.tokens,
        money=limits.money,
    )
