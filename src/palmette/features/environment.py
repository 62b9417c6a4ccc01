"""Sets up a feature run: reads its inputs and provides the services that actors use."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import JsonValue

from palmette.delivery.worktree import export_base
from palmette.documents import read_document
from palmette.engine import Human, Pay, RunBudget, Setup, build_actors, create, human_of, load_topology
from palmette.errors import InputError
from palmette.features.inputs import RunInputs, read_inputs
from palmette.features.questions import only_questions, understood
from palmette.features.samples import sample_of
from palmette.features.spec import Run, View
from palmette.features.workbench import Workbench
from palmette.knowledge.memory import mended_before
from palmette.llm.answerer import Models
from palmette.llm.opening import WORDS, ModelChoice, about, models_of, open_models
from palmette.llm.text import token_limit
from palmette.sandbox import Access, Sandbox, WarmSpark
from palmette.sandbox.temporary import temporary_folder

TOPOLOGY = Path(__file__).with_name("topology.yaml")


def open_features(
    arguments: dict[str, JsonValue],
    folder: Path,
    payer: Callable[[RunBudget], Pay],
    asker: Callable[[Human], Human],
) -> Setup:
    """Opens the environment `features`.

    `arguments`: `run_file` (absolute path), and optionally `answers` (feature to words), `planner`, `human`, `model`
    and `seed`, which override those of the run file.
    """
    run_file = Path(str(arguments["run_file"]))
    human = asker(human_of(arguments.get("human") or "console", folder))
    inputs, models = _open_run(run_file, arguments, folder, payer, human)
    run = inputs.run
    topology = load_topology(run_file.parent / run.topology if run.topology else TOPOLOGY).value
    choice = models_of(_choice(run), topology)
    if models is None or choice != _choice(run):
        models = open_models(choice, folder)
    held = ExitStack()
    base = export_base(inputs.repository, run.repository.base, held.enter_context(temporary_folder()) / "base")
    bench = _workbench(inputs, base, folder, is_offline=choice.is_offline)
    held.callback(bench.close)
    bench.spark.warm_up()
    services = services_of(inputs.view, bench, models)
    budget = _budget(run)
    return Setup(
        topology=topology,
        actors=build_actors(topology, services),
        planner=create("planner", run.decider, services),
        given={"request": inputs.request},
        copied={"request": f"the files that {str(run_file)!r} names"},
        human=human_of(run.human, folder),
        budget=budget,
        approve=run.approve,
        seed=run.seed,
        recall=mended_before,
        about=f"{about(choice, budget)}\nplanner: {run.decider}\nisolation: {bench.sandbox.isolation.name}",
        close=held.close,
    )


def _open_run(
    run_file: Path, arguments: dict[str, JsonValue], folder: Path, payer: Callable[[RunBudget], Pay], human: Human
) -> tuple[RunInputs, Models | None]:
    """Reads the run file, with overriding arguments. A model, then opened, reads the words that the rules cannot."""
    given = arguments.get("answers") or {}
    assert isinstance(given, dict)
    answers = {name: str(text) for name, text in given.items()}
    try:
        inputs = read_inputs(run_file, answers)
        return inputs._replace(run=_changed(inputs.run, arguments)), None
    except InputError as error:
        if not only_questions(error):
            raise
        run = _changed(read_document(run_file, Run), arguments)
        models = open_models(_choice(run), folder)
        model = models.of(WORDS)
        if model is None:
            raise
        inputs = read_inputs(run_file, understood(run_file, answers, error, model, human, payer(_budget(run))))
        return inputs._replace(run=_changed(inputs.run, arguments)), models


def _changed(run: Run, arguments: dict[str, JsonValue]) -> Run:
    settings = ("planner", "human", "model", "seed")
    return run.model_copy(update={name: arguments[name] for name in settings if arguments.get(name) is not None})


def _choice(run: Run) -> ModelChoice:
    return ModelChoice(model=run.model, models=run.models, fallback=run.fallback, settings=run.model_settings)


def _workbench(inputs: RunInputs, base: Path, folder: Path, *, is_offline: bool) -> Workbench:
    """Builds the workbench. `folder` belongs to the run: Spark may read it and the samples."""
    sandbox, spark = Sandbox(), inputs.run.spark
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    samples = [sample_of(table, inputs.repository) for table in inputs.view.tables.values()]
    access = Access(read=(base, work, *(sample.path for sample in samples if sample)))
    return Workbench(
        run=inputs.run,
        repository=base,
        checkout=inputs.repository,
        sandbox=sandbox,
        spark=WarmSpark(Sandbox(sandbox.isolation), master=spark.master, memory=spark.memory, access=access),
        tables=inputs.view.tables,
        is_offline=is_offline,
        passed_folder=folder.parent / "passed",
    )


def services_of(view: View, bench: Workbench, models: Models) -> dict[str, object]:
    """Constructor arguments of actors and planners, by name."""
    return {
        "view": view,
        "workbench": bench,
        "run_spec": bench.run,
        "repository_root": bench.repository,
        "sandbox": bench.sandbox,
        "harness": bench.harness,
        "passed": bench.passed(),
        "models": models,
        "planner_calls": bench.run.planner_calls,
        "seed": bench.run.seed,
    }


def _budget(run: Run) -> RunBudget:
    limits = run.budget
    return RunBudget(
        steps=limits.steps,
        attempts=limits.attempts,
        seconds=limits.minutes * 60,
        tokens=token_limit(limits.tokens, limits.money),
        money=limits.money,
    )
