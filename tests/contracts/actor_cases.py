"""The actors that the contract suite runs. A new actor needs one line: how to make it, and an input to run it on."""

import functools
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from small_coding import Shop
from small_delivery import small_delivery
from small_team import PREFIX, SmallTeam

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.comparator.actor import Comparator
from palmette.automl.actors.data_planner.actor import DataPlanner
from palmette.automl.actors.data_profiler.actor import DataProfiler
from palmette.automl.actors.data_retriever.actor import DataRetriever
from palmette.automl.actors.execution_verifier.actor import ExecutionVerifier
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.model_planner.actor import ModelPlanner
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.actors.request_verifier.actor import RequestVerifier
from palmette.automl.actors.requirement_parser.actor import RequirementParser
from palmette.automl.samples import DataSource
from palmette.automl.task_spec.request import DataSummary, Request
from palmette.engine import Violation

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
    made: Callable[[SmallTeam], Any] | None = None
    """What it has made of the input already, where that takes long."""


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


@functools.cache
def shop() -> Shop:
    """A small table with the artefacts of every actor before the delivery."""
    found = small_delivery().shop
    task, samples = found.known["task"], found.known["samples"]
    found.known |= {
        "request": Request(text="Predict the grade, with an accuracy of at least 0.6."),
        "columns": DataSummary.model_validate(samples.model_dump()),
        "places": DataSource(named=task.data),
        "given_task": task.model_copy(update={"target": "", "problem": "", "constraints": ()}),
    }
    return found


def of_automl(cls: Any, code: str = "", subject: str = "grade", **options: bool) -> ActorCase:
    """An actor of the AutoML environment, by the built-in rules; `code` is what it answers for."""
    violation = Violation(code=code, message=f"{code} was found.", subject=subject) if code else None
    return ActorCase(
        f"automl.{cls.name}", lambda _: shop().make(cls), lambda _: shop().input(cls), violation, **options
    )


def trained(cls: Any, code: str = "", subject: str = "") -> ActorCase:
    """An actor of the AutoML environment that trains or measures, and has done so for the small delivery."""
    case = of_automl(cls, code, subject, repeats=False)
    return replace(case, made=lambda _: shop().known[cls.produces])


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
    of_automl(RequestVerifier),
    of_automl(RequirementParser, "unknown-metric"),
    of_automl(DataRetriever),
    of_automl(DataProfiler),
    of_automl(KnowledgeRetriever),
    of_automl(PlanWriter, "plan-rejected"),
    of_automl(DataPlanner, "data-plan-unsound"),
    of_automl(ModelPlanner),
    of_automl(ExecutionVerifier, "choice-rejected"),
    of_automl(GuidelineWriter),
    of_automl(PreprocessingCoder),
    of_automl(ModelingCoder),
    of_automl(PipelineCoder),
    trained(Assembler, "model-missing", "linear"),
    trained(Comparator),
    trained(ImplementationVerifier),
    ActorCase(
        "automl.deployer",
        lambda _: small_delivery().deployer(),
        lambda _: small_delivery().input,
        repeats=False,
        made=lambda _: small_delivery().delivery,
    ),
]
