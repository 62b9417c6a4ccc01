"""Puts a feature run together: gives the actors what they work with."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import JsonValue

from palmette.delivery.export import export_base
from palmette.engine import Budget, ConsoleHuman, NoHuman, Setup, build_actors, create, load_topology
from palmette.features.inputs import read_inputs
from palmette.features.workbench import Workbench
from palmette.llm.opening import ModelChoice, about, open_models
from palmette.sandbox import Sandbox, WarmSpark

TOPOLOGY = Path(__file__).with_name("topology.yaml")


def open_features(arguments: dict[str, JsonValue], folder: Path) -> Setup:
    """The environment `features`.

    `arguments`: `run_file` (absolute path), and optionally `answers` (feature to words), `planner`, `human`, `model`
    and `seed`, which go before those of the run file.
    """
    answers = arguments.get("answers") or {}
    assert isinstance(answers, dict)
    run_file = Path(str(arguments["run_file"]))
    inputs = read_inputs(run_file, {name: str(text) for name, text in answers.items()})
    changes = {
        name: arguments[name] for name in ("planner", "human", "model", "seed") if arguments.get(name) is not None
    }
    run = inputs.run.model_copy(update=changes)
    choice = ModelChoice(model=run.model, models=run.models, fallback=run.fallback, settings=run.model_settings)
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
    topology = load_topology(run_file.parent / run.topology if run.topology else TOPOLOGY).value
    services = {
        "view": inputs.view,
        "workbench": bench,
        "run_spec": run,
        "repository_root": base,
        "sandbox": sandbox,
        "harness": bench.harness,
        "models": models,
        "seed": run.seed,
    }

    def close() -> None:
        bench.close()
        place.cleanup()

    limits = run.budget
    budget = Budget(
        steps=limits.steps,
        attempts=limits.attempts,
        seconds=limits.minutes * 60,
        tokens=limits.tokens,
        money=limits.money,
    )
    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", run.planner, services),
        given={"request": inputs.request},
        copied={"request": f"the files that {str(run_file)!r} names"},
        human=ConsoleHuman() if run.human == "console" else NoHuman(),
        budget=budget,
        approve=run.approve,
        seed=run.seed,
        about=about(choice, budget),
        close=close,
    )
