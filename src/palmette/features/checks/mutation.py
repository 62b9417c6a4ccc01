"""How much of the script the generated tests would notice if it were wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from palmette.engine.actor import Violation
from palmette.features.checks.base import Outcome, Owner, Subject
from palmette.features.checks.cases import EVIDENCE, difference
from palmette.features.checks.static.source import parse
from palmette.features.checks.tests import NO_TESTS
from palmette.features.frames import scenarios
from palmette.features.harness.harness import Case, CaseResult
from palmette.features.mutation import Mutant, mutants, sample


class MutationCheck:
    """The generated tests fail on the script with one small change; survivors are shown to the reviewer."""

    code: ClassVar[str] = "mutation"
    codes: ClassVar[tuple[str, ...]] = ("mutation", "mutant-survived")
    owner: ClassVar[Owner] = "testcase_generator"
    cost: ClassVar[int] = 40

    def __init__(self, size: int = 40, required: float = 0.85) -> None:
        self.size, self.required = size, required

    def check(self, subject: Subject) -> Outcome:
        if subject.tests is None:
            return Outcome(skipped=NO_TESTS)
        text = subject.script.read_text(encoding="utf-8")
        every = mutants(parse(text, subject.view, subject.entry))
        if not every:
            return Outcome(skipped="the script has nothing that a mutation operator knows")
        chosen = sample(every, self.size, subject.seed)
        results = subject.harness.run_tests(
            subject.tests,
            {mutant.name: mutant.text for mutant in chosen},
            subject.script,
            root=subject.root,
            python_path=subject.python_path,
            stop_at_first=True,
        )
        alive = [mutant for mutant in chosen if results[mutant.name].ok]
        equivalent = presumed_equivalent(subject, alive)
        survivors = [mutant for mutant in alive if mutant.name not in equivalent]
        judged = len(chosen) - len(equivalent)
        killed = judged - len(survivors)
        found = [_survivor(mutant, subject) for mutant in survivors]
        if judged and killed < self.required * judged:
            found.insert(
                0,
                Violation(
                    code="mutation",
                    subject=subject.tests.name,
                    evidence="\n".join(v.message for v in found)[:EVIDENCE],
                    message=f"The tests notice {killed} of {judged} mutants, {killed / judged:.0%}; "
                    f"{self.required:.0%} are required.",
                ),
            )
        return Outcome(
            tuple(found),
            detail=f"{killed} of {judged} mutants killed ({len(every)} possible, "
            f"{len(equivalent)} presumed equivalent)",
        )


def presumed_equivalent(subject: Subject, alive: Sequence[Mutant]) -> set[str]:
    """Names of the mutants whose output equals the script's in every scenario."""
    if not alive:
        return set()
    cases = [Case(item.name, item.frames, item.as_of) for item in scenarios(subject.view, seed=subject.seed)]
    original = _outputs(subject, subject.script, cases)
    equal = set()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for number, mutant in enumerate(alive):
            file = Path(folder) / f"mutant_{number}.py"
            file.write_text(mutant.text, encoding="utf-8")
            if _same(subject, original, _outputs(subject, file, cases)):
                equal.add(mutant.name)
    return equal


def _outputs(subject: Subject, script: Path, cases: Sequence[Case]) -> list[CaseResult]:
    return subject.harness.execute(
        script, subject.entry, cases, root=subject.root, python_path=subject.python_path
    )


def _same(subject: Subject, left: Sequence[CaseResult], right: Sequence[CaseResult]) -> bool:
    return all(
        a.frame is not None and b.frame is not None and not difference(subject.view, a.frame, b.frame)
        for a, b in zip(left, right, strict=True)
    )


def _survivor(mutant: Mutant, subject: Subject) -> Violation:
    return Violation(
        code="mutant-survived",
        subject=mutant.function,
        evidence=f"- {mutant.before}\n+ {mutant.after}",
        message=f"{subject.script.name}:{mutant.line}: no test notices "
        f"{_short(mutant.before)} -> {_short(mutant.after)} "
        f"({mutant.operator}).",
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line if len(line) <= 60 else line[:57] + '...'}`"
