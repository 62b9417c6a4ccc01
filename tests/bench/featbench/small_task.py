"""A task of six small actors with the artefacts of the real ones: no Spark, no sandbox, real engine and planners."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from palmette.bench.featbench.faults import Kind, Site, Struck
from palmette.bench.featbench.ground import Ground
from palmette.documents import Model
from palmette.engine import Actor, Attempt, BaseActor, Context, Node, TextFile, Topology, Verdict, Violation
from palmette.features.artefacts import Config, Delivery, Request, Script, Tests

WRONG, HIDDEN = "wrong\n", "hidden\n"


class OfRequest(Model):
    request: Request


class OfConfig(Model):
    config: Config


class OfBoth(Model):
    config: Config
    tests: Tests


class OfAll(Model):
    config: Config
    tests: Tests
    script: Script


@dataclass
class Worker(BaseActor):
    """Gives one artefact; refuses a script where anything that it works on is wrong."""

    name: str
    produces: str
    Input: type[Model]
    Output: type[Model]
    made: Model
    description: str = "Works."
    has_criterion: bool = True
    runs: int = 0
    checks: int = 0

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        self.runs += 1
        return Attempt(self.made)

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        self.checks += 1
        values = {self.produces: output}
        if self.name == "code_generator":
            values |= {"config": input.config, "tests": input.tests}
        return Verdict.of(
            [
                Violation(code=f"{name}-wrong", subject=value.file.path, message=f"{name} is wrong.")
                for name, value in values.items()
                if isinstance(value, Config | Tests | Script) and WRONG in value.file.text
                if name != "config" or self.name == "code_generator"
            ]
        )

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return "Do it anew." if violation.code == f"{self.produces}-wrong" else None


def file(path: str, text: str = "right\n") -> TextFile:
    return TextFile(path=path, text=text)


def workers() -> dict[str, Actor]:
    delivery = Delivery(
        repository="", branch="b", base="main", files=("config", "script", "tests"), body=file("b.md"), patch=file("p")
    )
    config = Config(file=file("config"), class_name="", accessors={})
    made = (
        Worker("config_generator", "config", OfRequest, Config, config),
        Worker("testcase_coder", "tests", OfConfig, Tests, Tests(file=file("tests"))),
        Worker("code_generator", "script", OfBoth, Script, Script(file=file("script"), entry="build")),
        Worker("pull_request", "pull_request", OfAll, Delivery, delivery),
    )
    return {worker.name: cast(Actor, worker) for worker in made}


TOPOLOGY = Topology(
    topology="small",
    given=("request",),
    start=("config_generator", "testcase_coder"),
    end=("pull_request",),
    actors={
        "config_generator": Node(next=("testcase_coder",)),
        "testcase_coder": Node(next=("code_generator",)),
        "code_generator": Node(next=("testcase_coder", "pull_request")),
        "pull_request": Node(),
    },
)


class SmallGround(Ground):
    """Without a repository."""

    def forget_deliveries(self) -> None: ...


def ground() -> Ground:
    request = Request(fsc=file("fsc.yaml"), dfr=file("dfr.yaml"), run=file("run.yaml"))
    limits = SimpleNamespace(steps=40, attempts=80, minutes=1)
    inputs: Any = SimpleNamespace(
        request=request, view=None, run=SimpleNamespace(budget=limits, seed=0), repository=None
    )
    return SmallGround("small", inputs, cast(Any, None), TOPOLOGY, {}, workers(), "ground")


def with_text(text: str) -> Any:
    """A change of an artefact's file."""

    def mutate(output: Any, site: Site) -> Struck:
        return Struck(output.model_copy(update={"file": output.file.model_copy(update={"text": text})}))

    return mutate


def kind(actor: str, artefact: str, *, latent: bool, text: str = WRONG, name: str = "") -> Kind:
    name = name or f"{artefact} {'latent' if latent else 'loud'}"
    return Kind(name, actor, latent, frozenset({f"{artefact}-wrong"}), with_text(f"{name}\n{text}"))


KINDS = (
    kind("config_generator", "config", latent=True),
    kind("testcase_coder", "tests", latent=False),
    kind("testcase_coder", "tests", latent=False, name="tests loud again"),
    kind("code_generator", "script", latent=False),
    kind("code_generator", "script", latent=False, name="script loud again"),
)
