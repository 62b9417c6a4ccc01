"""The actors that the contract suite runs. A new actor needs one line: how to make it, and an input to run it on."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from small_delivery import small_delivery
from small_model import SmallModel
from small_team import PREFIX, SmallTeam

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.comparator.actor import Comparator
from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.data_profiler.actor import DataProfiler
from palmette.automl.actors.data_profiler.offline import ProfilerInput
from palmette.automl.actors.data_retriever.actor import DataRetriever, RetrieverInput
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.model_planner.actor import ModelPlanner
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.actors.request_verifier.actor import RequestVerifier, VerifierInput
from palmette.automl.actors.requirement_parser.actor import ParserInput, RequirementParser
from palmette.automl.data import Places
from palmette.automl.data.load import load
from palmette.automl.requirements import DataSummary, Request, read_request
from palmette.engine import Context, Violation

WISH = "Build a model to classify the rating as good or bad from size and place, with an accuracy of at least 0.9."
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class ActorCase:
    """An actor, and a valid input."""

    name: str
    """As registered, or as it calls itself."""
    make: Callable[[SmallTeam], Any]
    input: Callable[[SmallTeam], Any]
    answers_for: Violation | None = None
    """One that implicates its output; None for an actor that answers for none."""
    repeats: bool = True
    """Whether the same input gives the same output: not where it changes something outside the run."""


def example(path: str) -> ModuleType:
    """A module of the examples, which are not installed."""
    file = EXAMPLES / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def own(cls: Any, **fields: Any) -> ActorCase:
    """An actor that needs no services."""
    return ActorCase(cls.name, lambda _: cls(), lambda _: cls.Input(**fields))


def of_automl(cls: Any, make_input: Callable[[Path], Any], code: str = "") -> ActorCase:
    """An actor of the AutoML environment, by the built-in rules, on a small table."""
    violation = Violation(code=code, message=f"{code} was found.", subject="rating") if code else None
    return ActorCase(f"automl.{cls.name}", lambda _: cls(), lambda team: make_input(ratings(team.folder)), violation)


def ratings(folder: Path) -> Path:
    """A file of forty rows with a number, a text and a target."""
    path = folder / "ratings.csv"
    rows = [f"{n % 7 + n / 10},{'east' if n % 3 else 'west'},{'good' if n % 2 else 'bad'}" for n in range(40)]
    path.write_text("\n".join(["size,place,rating", *rows, ""]), "utf-8")
    return path


def profiler_input(path: Path, wish: str = WISH) -> ProfilerInput:
    dataset = load([path]).dataset
    hints = DataSummary.model_validate(dataset.model_dump()).hints
    made = read_request(wish, hints).requirements
    return ProfilerInput(dataset=dataset, requirements=made)


def planned(path: Path, until: Any) -> Any:
    """The input of an actor that plans, with what those before it make of the file."""
    known: dict[str, Any] = dict(profiler_input(path))
    known["profile"] = made(DataProfiler, known)
    for actor, name in ((PlanWriter, "plan"), (DataPlanner, "data_plan"), (ModelPlanner, "proposals")):
        if until is actor:
            break
        output = made(actor, known)
        known[name] = output.plans[0] if name == "plan" else (output,) if name == "proposals" else output
    return until.Input(**{name: known[name] for name in until.Input.model_fields if name in known})


def made(actor: Any, known: dict[str, Any]) -> Any:
    """What an actor makes by its rules."""
    fields = {name: known[name] for name in actor.Input.model_fields if name in known}
    return actor().run(actor.Input(**fields), Context(actor.name, Path("/nowhere"))).output


def of_planning(cls: Any, code: str) -> ActorCase:
    """An actor of the AutoML environment that plans."""
    return of_automl(cls, lambda path: planned(path, cls), code)


@functools.cache
def small_model(folder: Path) -> SmallModel:
    return SmallModel(folder / "model", dict(profiler_input(ratings(folder))))


def of_model(cls: Any, code: str = "", subject: str = "", **options: bool) -> ActorCase:
    """An actor that writes, trains or judges a project."""
    violation = Violation(code=code, message=f"{code} was found.", subject=subject) if code else None
    return ActorCase(
        f"automl.{cls.name}",
        lambda team: small_model(team.folder).make(cls),
        lambda team: small_model(team.folder).input(cls),
        violation,
        **options,
    )


def of_features(name: str, code: str = "", subject: str = "", **options: bool) -> ActorCase:
    """An actor of the feature environment, with the services of a small team; `code` is what it answers for."""
    violation = Violation(code=code, message=f"{code} was found.", subject=subject) if code else None
    return ActorCase(
        PREFIX + name,
        lambda team: team.actor(PREFIX + name),
        lambda team: team.input(PREFIX + name),
        violation,
        **options,
    )


digest = example("own_actor/own_actors.py")

CASES = [
    own(digest.SplitNotes, text="- one\n- two\n"),
    own(digest.ChooseEntries, notes=digest.Notes(entries=("one", "two"))),
    own(digest.WriteDigest, chosen=digest.Chosen(entries=("one",))),
    of_features("config_generator", "config-refused", "view"),
    of_features("utils_retriever", "utility-failed", "load_yaml"),
    of_features("code_template_generator", "path-not-allowed", "features/buyer_sales.py"),
    of_features("testcase_generator", "mutant-survived", "sales_30d"),
    of_features("testcase_coder", "test-failed", "test_one"),
    of_features("code_generator", "differential", "sales_30d"),
    of_features("pull_request", repeats=False),
    of_automl(RequestVerifier, lambda path: VerifierInput(request=Request(text=WISH, files=(path.name,)))),
    of_automl(
        RequirementParser, lambda path: ParserInput(request=Request(text=WISH, files=(path.name,))), "metric-misfit"
    ),
    of_automl(DataRetriever, lambda path: RetrieverInput(places=Places(named=(str(path),))), "data-differ"),
    of_automl(DataProfiler, profiler_input, "leak-found"),
    of_planning(KnowledgeRetriever, "insight-unsourced"),
    of_planning(PlanWriter, "plan-rejected"),
    of_planning(DataPlanner, "column-used"),
    of_planning(ModelPlanner, "candidate-unknown"),
    of_planning(ExecutionVerifier, "choice-refused"),
    of_model(GuidelineWriter, "blueprint-differs", "metric"),
    of_model(PreprocessingCoder, "contract-unfulfilled", "preprocess.py"),
    of_model(ModelingCoder, "contract-misused", "models/traditional.py"),
    of_model(Assembler, "model-missing", "lightgbm", repeats=False),
    of_model(PipelineCoder, "contract-misused", "models/traditional.py", repeats=False),
    of_model(Comparator, "score-differs", "accuracy"),
    of_model(ImplementationVerifier, repeats=False),
    ActorCase("automl.deployer", lambda _: small_delivery().quick_deployer(), lambda _: small_delivery().input),
]
