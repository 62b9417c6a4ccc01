"""The planner study on the tasks of FeatBench: which runs it consists of, and where everything is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from palmette.engine import create
from palmette.llm import Models
from palmette.llm.opening import BUILT_IN, PLANNER, ModelChoice, open_models
from palmette.sandbox import Access, Sandbox, WarmSpark
from palmette.sandbox.temporary import temporary_folder
from palmette_bench.featbench import stand_ins, suite
from palmette_bench.featbench.faults.rates import probability
from palmette_bench.featbench.hidden import HiddenTables
from palmette_bench.featbench.open_task import OpenTask
from palmette_bench.featbench.operations import count
from palmette_bench.featbench.records import Condition, HiddenResult, RunRecord
from palmette_bench.featbench.result_cache import ResultCache, code_digest, digest
from palmette_bench.featbench.study import WITH_MEMORY, PlannedRun, Study, StudyTask

BASE = Condition()
FACTORS = (0.5, 2.0)
LATENT = (0.0, 0.15, 0.45, 0.6, 0.8)
ATTEMPTS = (1, 2, 4, 5, 7, 10)
QUICK_TASKS = 2
GROUPS: Mapping[str, Callable[[suite.BenchTask], bool]] = {
    "all": lambda _: True,
    "paper": lambda task: task.description.origin == "paper" and task.description.number > 0,
    "open": lambda task: task.description.origin == "open",
}
"""Names that stand for several tasks; the held-out task is in `all` only."""


@dataclass(frozen=True)
class StudyOptions:
    """Options of a study."""

    tasks: tuple[str, ...] = ("paper",)
    """Names, aliases or groups."""
    planners: tuple[str, ...] = ("offline", "sequential", "random")
    runs: int = 3
    rate: float | None = None
    """Probability of a fault at each draw, in all tasks; that of each task when None; 0 for none."""
    sensitivity: bool = False
    """Whether rates, latent share and attempts are varied, too."""
    stand_ins: bool = False
    """Whether stand-ins take the place of the actors: the dynamics alone, without Spark."""
    vague: bool = False
    """Whether every stand-in upstream of a failure may be at fault."""
    words: bool = False
    """Whether the specifications say in words what they else say in expressions."""
    model: str = BUILT_IN
    """Who answers the agents' tasks, `provider:name`, or the built-in rules."""
    planner_model: str = ""
    """Of the planner `model`."""
    seed: int = 0


def chosen(wanted: Sequence[str]) -> list[suite.BenchTask]:
    """The tasks that are asked for, by name, alias or group, each once, in the order of the benchmark."""
    found: set[str] = set()
    for name in wanted:
        group = GROUPS.get(name)
        found |= {task.name for task in suite.tasks() if group(task)} if group else {suite.task(name).name}
    return [task for task in suite.tasks() if task.name in found]


def smallest(wanted: Sequence[str]) -> list[suite.BenchTask]:
    """The few tasks of those asked for whose scripts have the fewest operations."""
    return sorted(chosen(wanted), key=lambda task: count(task.gold()[task.script]).total())[:QUICK_TASKS]


def cells(tasks: Sequence[suite.BenchTask], options: StudyOptions) -> list[PlannedRun]:
    """All runs: first those of the comparison, then those of the sensitivity."""
    conditions = [BASE if options.rate != 0 else Condition(factor=0.0)]
    if options.sensitivity:
        conditions += [Condition(factor=0.0)]
        conditions += [BASE.model_copy(update={"factor": factor}) for factor in FACTORS]
        conditions += [BASE.model_copy(update={"latent": share}) for share in LATENT]
        conditions += [BASE.model_copy(update={"attempts": most}) for most in ATTEMPTS]
    return [
        PlannedRun(task.name, planner, run, condition)
        for condition in conditions
        for task in tasks
        for run in range(options.runs if condition.factor else 1)
        for planner in options.planners
    ]


def experiment(options: StudyOptions, out: Path, done: Callable[[RunRecord, int], None]) -> list[RunRecord]:
    """Makes all runs that `out/records.jsonl` does not have, and returns the records of all.

    `done` is called with each record and the total number of runs.
    """
    tasks, sandbox = chosen(options.tasks), Sandbox()
    planning = ModelChoice(models={PLANNER: options.planner_model} if options.planner_model else {})
    models = open_models(planning, out)
    for planner in options.planners:
        create("planner", planner.removesuffix(WITH_MEMORY), {"models": models})  # an unknown one fails early
    answering = open_models(ModelChoice(model=options.model), out)
    every, code = cells(tasks, options), code_digest()

    def report(record: RunRecord) -> None:
        done(record, len(every))

    if options.stand_ins:
        with temporary_folder() as folder:
            return _with_stand_ins(tasks, options, out, code, folder).run(every, report, workers=1)
    with temporary_folder() as folder, WarmSpark(sandbox, access=Access(write=(folder,))) as spark:
        spark.warm_up()
        memory = ResultCache(out / "memory", code)
        at_work = [_task(task, options, folder, memory, sandbox, spark, answering) for task in tasks]
        study = Study(
            at_work,
            out / "records.jsonl",
            folder,
            memory,
            digest([code, options.words, options.model, options.planner_model]),
            options.seed,
            planner_services=lambda opened: {**opened.services, "models": models},
        )
        return study.run(every, report)


def _with_stand_ins(
    tasks: Sequence[suite.BenchTask], options: StudyOptions, out: Path, code: str, folder: Path
) -> Study:
    at_work = [stand_ins.task(task.name, _rate(task, options), vague=options.vague) for task in tasks]
    file = out / "stand-ins.jsonl"
    return Study(at_work, file, folder, None, code, options.seed, stand_ins.catalogue())


def _rate(task: suite.BenchTask, options: StudyOptions) -> float:
    return options.rate if options.rate is not None else probability(task.name)


def _task(
    task: suite.BenchTask,
    options: StudyOptions,
    folder: Path,
    memory: ResultCache,
    sandbox: Sandbox,
    spark: WarmSpark,
    models: Models,
) -> StudyTask:
    place = folder / task.name

    def opened() -> OpenTask:
        run_file = suite.prepare(task, place / "task", words=options.words)
        return OpenTask.open(task.name, run_file, place / "scratch", sandbox, spark, memory, models)

    return StudyTask(task.name, opened, partial(_outcome, task, place, memory, spark), _rate(task, options))


def _outcome(
    task: suite.BenchTask, place: Path, memory: ResultCache, spark: WarmSpark, files: Mapping[str, str]
) -> HiddenResult:
    """Of a delivered view on hidden tables; equal views are run once."""
    hidden = HiddenTables(task, place / "hidden")
    tested = {path: text for path, text in sorted(files.items()) if not path.startswith("tests/")}
    key = ["hidden", task.name, task.expected, hidden.rows, hidden.seed, tested]
    found = memory.recall(
        key, lambda: hidden.outcome(tested, spark).model_dump(mode="json"), keep=lambda one: not one["unmeasured"]
    )
    return HiddenResult.model_validate(found.value)
