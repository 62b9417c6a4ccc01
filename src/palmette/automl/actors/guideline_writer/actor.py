"""The actor `guideline_writer`: a blueprint with everything that the coders need to know, and the contract."""

from __future__ import annotations

from palmette.automl.actors.guideline_writer.offline import GuidelineInput, blueprint_of
from palmette.automl.modalities import Blueprint, modality_of
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import Agent, Answer, Section


class GuidelineAnswer(Answer):
    pass


class GuidelineWriter(Agent):
    """Fixes what the coders may not decide: columns, treatments, algorithms, folds, metric, bounds."""

    name = "guideline_writer"
    description = "Turns the chosen plan into a blueprint: preparation, models, training, evaluation, and the contract."
    produces = "blueprint"
    Input = GuidelineInput
    Output = Blueprint
    Answer = GuidelineAnswer
    has_criterion = True

    def offline(self, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        made = blueprint_of(input)
        context.progress(f"{len(made.columns)} columns, {', '.join(made.algorithms)}")
        return Attempt(made)

    def brief(self, input: GuidelineInput, context: Context) -> tuple[Section, ...]:
        return ()

    def read(self, answer: GuidelineAnswer, input: GuidelineInput, context: Context) -> Attempt[Blueprint]:
        return Attempt(blueprint_of(input), answer.reason, answer.fix)

    def check(self, input: GuidelineInput, output: Blueprint, context: Context) -> Verdict:
        """Metric, target, rows and what is left out are the harness's; nothing that leaks is used."""
        due = blueprint_of(input)
        wrong = [
            Violation(code="blueprint-differs", message=f"The blueprint's {name} is not what was fixed.", subject=name)
            for name in modality_of(due).FIXED
            if getattr(output, name) != getattr(due, name)
        ]
        allowed = {column.name for column in due.columns}
        wrong += [
            Violation(code="column-not-allowed", message=f"{column.name!r} is not to be used.", subject=column.name)
            for column in output.columns
            if column.name not in allowed
        ]
        detail = f"{len(output.columns)} columns used, {len(output.dropped)} left out, compared by {output.metric}"
        measured = Measurement(name="blueprint", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Blueprint) -> str | None:
        return f"Write the blueprint again: {violation.message}" if violation.code.startswith("blueprint") else None
