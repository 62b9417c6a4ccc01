"""The actor `guideline_writer`: the blueprint of what is built; a model edits the rules' draft by patches."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl import context as shown
from palmette.automl.actors.guideline_writer.offline import Basis, GuidelineInput, basis_of, blueprint_of, noted
from palmette.automl.candidates import Blueprint
from palmette.automl.planning import variants
from palmette.automl.planning.columns import ColumnEdits, edited, may_be, objections
from palmette.automl.planning.estimates import encoded
from palmette.automl.planning.request import leak_lines, request_section
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import Agent, Answer, Section, section

EDITABLE = frozenset({"columns", "dropped", "derived", "candidates", "remarks"})
MOST_CANDIDATES = 4
"""That a model adds."""


class GuidelineAnswer(Answer, ColumnEdits):
    candidates: tuple[variants.NewCandidate, ...] = ()
    """At most 4, trained beside those of the plan."""
    remarks: tuple[str, ...] = ()
    """What the coders must know about these data beyond the figures; a sentence each."""


class GuidelineWriter(Agent):
    """Turns the chosen plan into a blueprint; what the request, the data and the plan determine stays as it is."""

    name = "guideline_writer"
    description = "Turns the chosen plan into the blueprint: columns, features, candidates, folds, metric and policy."
    produces = "blueprint"
    Input = GuidelineInput
    Output = Blueprint
    Answer = GuidelineAnswer
    has_criterion = True

    def offline(self, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        return Attempt(_finished(blueprint_of(input, basis_of(input)), input, context))

    def brief(self, input: GuidelineInput, context: Context) -> tuple[Section, ...]:
        basis = basis_of(input)
        due = blueprint_of(input, basis)
        known = input.knowledge.insights if input.knowledge and not input.plans else ()
        guided = input.guided
        return (
            request_section(basis.context),
            shown.task(due, input.profile),
            shown.columns(due, input.profile),
            section("dropped", *(f"{one.name}: {one.reason}" for one in due.dropped), rank=1),
            shown.plan(due),
            section("learners", "\n".join(variants.learner_lines(basis.context)), rank=1),
            section("leaks", *(leak_lines(basis.context) if guided else ()), rank=1),
            section("insights", *(f"{one.text} (applies: {one.because})" for one in known if guided), rank=2),
        )

    def objection(self, answer: GuidelineAnswer, input: GuidelineInput) -> str:
        basis = basis_of(input)
        found = [*objections(answer, basis.data, input.samples), *variants.objections(answer.candidates, basis.context)]
        if len(answer.candidates) > MOST_CANDIDATES:
            found.append(f"There are {len(answer.candidates)} candidates; the most is {MOST_CANDIDATES}.")
        return " ".join(found)

    def read(self, answer: GuidelineAnswer, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        basis = basis_of(input)
        made = blueprint_of(input, _patched(basis, answer))
        remarks = tuple(text for one in answer.remarks if (text := " ".join(one.split())))
        made = made.model_copy(update={"remarks": (*made.remarks, *remarks)})
        return Attempt(_finished(made, input, context), answer.reason, answer.fix)

    def check(self, input: GuidelineInput, output: Blueprint, context: Context) -> Verdict:
        """Only columns, features, additional candidates and remarks may differ from the rules' blueprint."""
        basis = basis_of(input)
        found = list(_differing(output, blueprint_of(input, basis), input, basis))
        detail = f"{len(output.columns)} columns, {len(output.candidates)} candidates, compared by {output.metric}"
        measured = Measurement(name="blueprint", status="failed" if found else "passed", detail=detail)
        return Verdict.of(found, [measured])

    def implicated(self, violation: Violation, output: Blueprint) -> str | None:
        return f"Write the blueprint again: {violation.message}" if violation.code.startswith("blueprint") else None


def _finished(made: Blueprint, input: GuidelineInput, context: Context) -> Blueprint:
    derived = f", {len(made.derived)} derived features" if made.derived else ""
    context.progress(f"{len(made.columns)} columns{derived}, {len(made.candidates)} candidates, {made.seconds:.0f} s")
    return noted(made, input.profile)


def _patched(basis: Basis, answer: GuidelineAnswer) -> Basis:
    """The basis with a model's edits; its candidates follow those of the plan."""
    data, made = edited(basis.data, answer), [*basis.candidates]
    for one in answer.candidates:
        candidate = variants.made_of(one, basis.context.strategies[0], {each.name for each in made})
        made.append(encoded(candidate, data))
    return basis._replace(data=data, candidates=tuple(made))


def _differing(output: Blueprint, due: Blueprint, input: GuidelineInput, basis: Basis) -> Iterator[Violation]:
    for name in Blueprint.model_fields.keys() - EDITABLE:
        if getattr(output, name) != getattr(due, name):
            message = f"The blueprint's {name} is determined by request, data and plan, and differs."
            yield Violation(code="blueprint-differs", message=message, subject=name)
    known = {one.name: one for one in due.columns}
    for one in output.columns:
        column, rule = input.samples.column(one.name), known.get(one.name)
        if rule is None or column is None:
            message = f"Column {one.name!r} must not be used."
            yield Violation(code="blueprint-column", message=message, subject=one.name)
        elif (one.source, one.reading) != (rule.source, rule.reading) or not may_be(column, one.kind):
            message = f"Column {one.name!r} is not read as it is written in the file."
            yield Violation(code="blueprint-column", message=message, subject=one.name)
    if output.candidates[: len(due.candidates)] != due.candidates:
        message = "The blueprint's candidates do not begin with those of the plan."
        yield Violation(code="blueprint-candidates", message=message, subject="candidates")
    for each in output.candidates[len(due.candidates) :]:
        if each.learner not in basis.context.constraints.allowed:
            message = f"The request does not allow {each.learner!r}."
            yield Violation(code="blueprint-candidates", message=message, subject=each.name)
