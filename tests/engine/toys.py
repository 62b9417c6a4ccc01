"""Toy actors for the engine's tests: each makes a part out of other parts, and may have a fault to find."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, create_model

from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Node, Planner, Setup, TextFile, Topology, Verdict, Violation
from palmette.planners.offline import OfflinePlanner


class ScriptedHuman:
    """Gives prepared answers in order, then none; records the questions."""

    def __init__(self, answers: Iterable[str | None] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    def ask(self, question: str) -> str | None:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else None


class Part(Model):
    """What a toy makes."""

    maker: str
    of: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    """Makers whose fault is in here."""
    file: TextFile


class Parts(Model):
    parts: tuple[Part, ...]


class ToyInput(Model):
    """Reads no docstrings of fields: pydantic looks for them in every module, which takes longer than a toy's run."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def part(maker: str, of: Iterable[Part] = (), faults: Iterable[str] = ()) -> Part:
    of = sorted(of, key=lambda one: one.maker)
    inherited = {fault for one in of for fault in one.faults}
    text = f"{maker}({', '.join(one.file.text.strip() for one in of)})\n"
    return Part(
        maker=maker,
        of=tuple(one.maker for one in of),
        faults=tuple(sorted({*inherited, *faults})),
        file=TextFile(path=f"parts/{maker}.txt", text=text),
    )


class Toy(BaseActor):
    """Makes the part of its name, with a fault until it is instructed; a strict one finds faults."""

    description = "A toy."
    needs_person = False
    Output = Part

    def __init__(
        self,
        name: str,
        needs: Sequence[str] = (),
        *,
        wants: Sequence[str] = (),
        faulty: bool = False,
        strict: bool = False,
        log: Path | None = None,
    ) -> None:
        self.name, self.produces, self.has_criterion = name, f"{name}_part", strict
        required: dict[str, Any] = {f"{need}_part": (Part, ...) for need in needs}
        optional: dict[str, Any] = {f"{want}_part": (Part | None, None) for want in wants}
        self.Input = create_model(f"{name}Input", __base__=ToyInput, **required, **optional)
        self.runs: list[str] = []
        self._faulty, self._log = faulty, log

    def run(self, input: Any, context: Context) -> Attempt[Part]:
        self.runs.append(context.instruction)
        if self._log:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"{self.name}\n")
        parts = [getattr(input, field) for field in type(input).model_fields]
        faults = [self.name] if self._faulty and not context.instruction else []
        return Attempt(part(self.name, [one for one in parts if one], faults))

    def check(self, input: Any, output: Part, context: Context) -> Verdict:
        """No fault is left in the part."""
        if not self.has_criterion:
            return Verdict(ok=True)
        return Verdict.of(
            [
                Violation(code="fault", message=f"{self.name} has the fault of {fault}", subject=fault)
                for fault in output.faults
            ]
        )

    def implicated(self, violation: Violation, output: Part) -> str | None:
        return f"mend {self.name}" if violation.subject == self.name and self.name in output.faults else None


class ListMaker(Toy):
    """Makes a list of parts."""

    Output = Parts

    def run(self, input: Any, context: Context) -> Attempt[Parts]:
        super().run(input, context)
        return Attempt(Parts(parts=tuple(part(f"{self.name}{index}") for index in range(3))))


class Each(Toy):
    """Works on one element at a time."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.Input = create_model(f"{name}Input", __base__=ToyInput, element=(Part, ...))


class Gather(Toy):
    """Puts the results of a fan-out together."""

    def __init__(self, name: str, of: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.Input = create_model(f"{name}Input", __base__=ToyInput, **{f"{of}_part": (tuple[Part, ...], ...)})

    def run(self, input: Any, context: Context) -> Attempt[Part]:
        self.runs.append(context.instruction)
        (parts,) = (getattr(input, field) for field in type(input).model_fields)
        return Attempt(part(self.name, parts))


def chain(*toys: Toy, planner: Planner | None = None, nodes: dict[str, Node] | None = None, **options: Any) -> Setup:
    """A setup in which each toy may follow the one before; the first is the start, the last the end."""
    names = [toy.name for toy in toys]
    following = {name: Node(next=(after,)) for name, after in pairwise(names)}
    nodes = {name: following.get(name, Node()) for name in names} | (nodes or {})
    given = options.pop("given", {})
    topology = Topology(topology="toy", start=(names[0],), end=(names[-1],), given=tuple(given), actors=nodes)
    return Setup(
        topology=topology,
        actors={toy.name: toy for toy in toys},
        planner=planner or OfflinePlanner(),
        given=given,
        **options,
    )
