"""Situations of a run on the published shape, recorded by running it, and a good and a bad answer to each."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toys import Toy

from palmette.engine import Attempt, Context, Node, Setup, Situation, Topology, Verdict, Violation
from palmette.planners.offline import OfflinePlanner

NEXT = {
    "config": ("utils", "template"),
    "utils": ("template",),
    "template": ("utils", "cases"),
    "cases": ("tests", "code"),
    "tests": ("code",),
    "code": ("cases", "template", "deliver"),
    "deliver": (),
}
ALL = [*NEXT, "END"]
NEEDS: dict[str, list[str]] = {
    "config": [],
    "utils": [],
    "template": ["config"],
    "cases": [],
    "tests": ["cases"],
    "code": ["template", "utils", "config", "tests"],
    "deliver": ["code", "tests"],
}


class Stubborn(Toy):
    """Keeps its fault, whatever it is told."""

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        return super().run(input, replace(context, instruction=""))


class Judge(Toy):
    """Finds survivors where the cases have a fault, and names a folder of this machine in its evidence."""

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        found = super().check(input, output, context).violations
        trace = f'File "{context.workspace}/scripts/code.py", line 3'
        changes = {"code": "mutant-survived", "message": "The tests do not notice `<` for `<=`.", "evidence": trace}
        return Verdict.of([one.model_copy(update=changes if one.subject == "cases" else {}) for one in found])


class Silent(Judge):
    """Fails for a reason that nobody recognises."""

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        found = Violation(code="ambiguous", message="Two columns could be the price.", subject="price")
        return Verdict.of([found] if not context.instruction else [])


def published(*toys: Toy, **options: Any) -> Setup:
    """The published shape, with these instead of the plain toys of their names."""
    made = {name: Toy(name, needs, strict=name == "deliver") for name, needs in NEEDS.items()}
    made["code"] = Judge("code", NEEDS["code"], strict=True)
    made |= {toy.name: toy for toy in toys}
    topology = Topology(
        topology="published",
        description="From a wish to a delivery.",
        start=("config", "tests"),
        end=("deliver",),
        actors={name: Node(next=following, retries=1) for name, following in NEXT.items()},
    )
    return Setup(topology=topology, actors=made, planner=OfflinePlanner(), **options)


class Editor:
    """A human who edits the configuration when asked, and says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ask(self, question: str) -> str | None:
        (self.folder / "artefacts/config_part/parts/config.txt").write_text("edited\n", encoding="utf-8")
        return "I have corrected the configuration."


def edited(situation: Situation) -> bool:
    return any(version.by == "person" for version in situation.state.artefacts.values())


def failed(situation: Situation) -> bool:
    return situation.state.actor("code").status == "failed"


@dataclass(frozen=True)
class Case:
    """A situation, a good and a bad answer to it."""

    name: str
    when: Callable[[Situation], bool]
    good: dict[str, Any]
    bad: dict[str, Any]
    refusal: str
    """Why the bad one is refused."""
    toys: tuple[Toy, ...] = ()
    answers: tuple[str, ...] = ()
    """Of the human."""
    editor: bool = False
    differs: bool = False
    """Whether the rules decide otherwise."""


def faulty(name: str) -> Toy:
    return Toy(name, NEEDS[name], faulty=True)


CASES = [
    Case(
        "own_failure",
        failed,
        {
            "reason": "The script compares with the wrong sign.",
            "route": ["code", "deliver", "END"],
            "target": "code",
            "instruction": "Compare with <.",
        },
        {"route": ["deliver"], "target": "code", "instruction": "Compare with <."},
        "deliver needs code_part, which does not exist yet.",
        toys=(Judge("code", NEEDS["code"], faulty=True, strict=True),),
    ),
    Case(
        "fault_upstream",
        failed,
        {
            "reason": "The configuration names a table that is not there.",
            "route": ["config", "template", "cases", "code", "deliver", "END"],
            "target": "config",
            "instruction": "Name the table as the registry does.",
            "errors": [1],
        },
        {"reason": "All is well.", "route": ["END"]},
        "code did not meet the criterion with the current inputs.",
        toys=(faulty("config"),),
    ),
    Case(
        "surviving_mutants",
        failed,
        {
            "reason": "No case has a row exactly at the cut-off.",
            "route": ["cases", "tests", "code", "deliver", "END"],
            "target": "cases",
            "instruction": "Add a row exactly at the cut-off.",
        },
        {"route": ["mutants", "code"]},
        "There is no actor 'mutants'.",
        toys=(faulty("cases"),),
    ),
    Case(
        "survivors_after_re_entry",
        lambda situation: failed(situation) and situation.state.actor("cases").invocations == 2,
        {
            "reason": "The cases were asked already; the tests may drop them.",
            "route": ["tests", "code", "deliver", "END"],
            "target": "tests",
            "instruction": "Write a test for every case.",
        },
        {"route": ["tests"], "target": "test", "instruction": "Write a test for every case."},
        "There is no actor 'test' to instruct. Did you mean 'tests'?",
        toys=(Stubborn("cases", faulty=True),),
        differs=True,
    ),
    Case(
        "edited",
        lambda situation: edited(situation) and not situation.state.route,
        {"route": ["config", "template", "cases", "code", "deliver", "END"]},
        {"route": ["deliver", "END"]},
        "deliver needs code_part, which does not exist yet.",
        toys=(Silent("code", NEEDS["code"], strict=True),),
        editor=True,
        differs=True,
    ),
    Case(
        "human_needed",
        failed,
        {"reason": "Two columns fit.", "route": [], "question": "Is the price `net` or `gross`?"},
        {"route": ["human"]},
        "There is no actor 'human'.",
        toys=(Silent("code", NEEDS["code"], strict=True),),
    ),
    Case(
        "human_answered",
        lambda situation: situation.state.answer is not None,
        {"route": ["code", "deliver", "END"], "target": "code", "instruction": "The price is `net`."},
        {"route": ["deliver"]},
        "deliver needs code_part, which does not exist yet.",
        toys=(Silent("code", NEEDS["code"], strict=True),),
        answers=("The price is `net`.",),
    ),
]
