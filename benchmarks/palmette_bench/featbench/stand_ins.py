"""Stand-ins for the actors, which only know whether they are wrong: the dynamics of a study in seconds, without Spark.

The topology, the engine, the planners and the way in which faults are drawn are the real ones. Each actor gives a file
that says what is wrong with it; a loud fault is refused at once, a latent one by the actor that the real one shows at:
the test coder for what it is told of the repository, the code generator for all else. All violations of an actor's
faults look alike, which is the worst for a planner. `calibrate` finds the probabilities of faults with them, because a
probability needs hundreds of runs. With `vague`, violations name no actor: a planner can
only learn from the memory of other runs which actor to ask first.
"""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pydantic import create_model

from palmette.documents import Model
from palmette.engine import Actor, Attempt, BaseActor, Context, TextFile, Verdict, Violation, load_topology
from palmette.features.artefacts import Config, FeatureDelivery, RunRequest, Script, Tests
from palmette.features.environment import TOPOLOGY
from palmette_bench.featbench.faults import CATALOGUE, Faulted, FaultKind, FaultSite
from palmette_bench.featbench.faults.faulty import VARIETY
from palmette_bench.featbench.faults.kind import with_text
from palmette_bench.featbench.open_task import OpenTask
from palmette_bench.featbench.records import HiddenResult
from palmette_bench.featbench.study import StudyTask

RIGHT = "right\n"
MAKES = {
    "config_generator": "config",
    "utils_retriever": "utilities",
    "code_template_generator": "template",
    "testcase_generator": "cases",
    "testcase_coder": "tests",
    "code_generator": "script",
    "pull_request": "pull_request",
}
SHOWS = {"testcase_coder": ("template",), "code_generator": ("config", "utilities", "cases", "tests")}
"""By actor: the artefacts whose latent faults it meets with."""
NEEDS = {
    "config_generator": (),
    "utils_retriever": ("config",),
    "code_template_generator": ("config",),
    "testcase_generator": (),
    "testcase_coder": ("cases", "template"),
    "code_generator": ("config", "template", "utilities", "cases", "tests"),
    "pull_request": ("config", "tests", "script"),
}


class StandInArtefact(Model):
    """An artefact of an actor whose real one has more parts."""

    file: TextFile


TYPES: dict[str, type[Model]] = {"config": Config, "tests": Tests, "script": Script, "pull_request": FeatureDelivery}


def made(artefact: str, text: str = RIGHT) -> Model:
    """An artefact with this text."""
    file = TextFile(path=artefact, text=text)
    match artefact:
        case "config":
            return Config(file=file, class_name="", accessors={})
        case "tests":
            return Tests(file=file)
        case "script":
            return Script(file=file, entry="build")
        case "pull_request":
            files = ("config", "tests", "script")
            return FeatureDelivery(repository="", branch="b", base="main", files=files, body=file, patch=file)
        case _:
            return StandInArtefact(file=file)


@cache
def _input_of(name: str) -> type[Model]:
    fields: dict[str, Any] = {need: (TYPES.get(need, StandInArtefact), ...) for need in NEEDS[name]}
    return create_model(f"{name}_input", __base__=Model, **fields or {"request": (RunRequest, ...)})


class StandIn(BaseActor):
    """Gives its artefact, and refuses what is wrong."""

    description = "Stands in."
    has_criterion = True
    Input: type[Model]
    Output: type[Model]

    def __init__(self, name: str, *, vague: bool = False) -> None:
        self.name, self.produces, self.vague = name, MAKES[name], vague
        self.Input = _input_of(name)
        self.Output = TYPES.get(self.produces, StandInArtefact)
        self.computed = 0
        """Calls of `run` and `check`."""

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        self.computed += 1
        return Attempt(made(self.produces))

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        """Nothing loud is in its own artefact, and nothing latent in what it meets with."""
        self.computed += 1
        if self.name == "pull_request":
            return Verdict(ok=True)
        found = [self.produces] if "loud" in output.file.text else []
        found += [name for name in SHOWS.get(self.name, ()) if "latent" in getattr(input, name).file.text]
        wrong = (Violation(code=f"{name}-wrong", message=f"{name} is wrong.", subject=name) for name in found)
        return Verdict.of(tuple(wrong))

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return "Do it anew." if self.vague or violation.code == f"{self.produces}-wrong" else None


class StandInTask(OpenTask):
    """A task without a repository."""

    def forget_deliveries(self) -> None: ...


def open_stand_in(*, vague: bool = False) -> OpenTask:
    files = {part: TextFile(path=f"{part}.yaml", text="") for part in ("fsc", "dfr", "run")}
    run = SimpleNamespace(budget=SimpleNamespace(steps=40, attempts=80, minutes=5), seed=0)
    inputs: Any = SimpleNamespace(request=RunRequest(**files), view=None, run=run, repository=Path())
    actors = {actor: cast(Actor, StandIn(actor, vague=vague)) for actor in MAKES}
    digest = "vague stand-ins" if vague else "stand-ins"
    return StandInTask(inputs, load_topology(TOPOLOGY).value, {}, actors, digest)


def kind(actor: str, *, latent: bool, number: int = 0, text: str = "") -> FaultKind:
    """A fault of a stand-in."""
    artefact, how = MAKES[actor], "latent" if latent else "loud"

    def mutate(output: Any, site: FaultSite) -> Faulted:  # noqa: ARG001 - as all take it
        return Faulted(with_text(output, text or f"{how} {number}\n"))

    return FaultKind(f"{artefact} {how} {number}", actor, latent, frozenset({f"{artefact}-wrong"}), mutate)


def catalogue() -> tuple[FaultKind, ...]:
    """As many kinds for each actor as the real catalogue has, `VARIETY` at most."""
    found: list[FaultKind] = []
    for actor in MAKES:
        for latent in (False, True):
            real = sum(one.actor == actor and one.latent == latent for one in CATALOGUE)
            found += [kind(actor, latent=latent, number=number) for number in range(min(VARIETY, real))]
    return tuple(found)


def task(name: str, rate: float, *, vague: bool = False) -> StudyTask:
    return StudyTask(name, lambda: open_stand_in(vague=vague), lambda _: HiddenResult(), rate)
