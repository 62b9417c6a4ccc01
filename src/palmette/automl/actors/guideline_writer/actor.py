"""The actor `guideline_writer`: a blueprint with everything that the coders need to know, and the contract."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl.actors.guideline_writer.decisions import LONGEST, Decisions, Taken, decided, may_be, objections
from palmette.automl.actors.guideline_writer.offline import GuidelineInput, blueprint_of, outline_of
from palmette.automl.artefacts import Derived
from palmette.automl.modalities import AnyBlueprint, Blueprint, draft, modality_of
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section


class GuidelineAnswer(Answer):
    columns: tuple[Taken, ...] = ()
    """Those about which there is more to say than what is listed, or that are left out or taken for another kind."""
    derived: tuple[Derived, ...] = ()
    """At most 12 features beside the columns; none where models find them by themselves."""
    algorithms: tuple[str, ...] = ()
    """Those of the listed algorithms that are to be used, the most promising first; all where none is named."""
    training: str = ""
    """One or two sentences: which settings of these algorithms suit the data, and which do not."""
    validation: str
    """One sentence: what the way in which candidates are compared can say here, and what it cannot."""


class GuidelineWriter(Agent):
    """Fixes what the coders may not decide: columns, treatments, algorithms, folds, metric, bounds."""

    name = "guideline_writer"
    description = "Turns the chosen plan into a blueprint: preparation, models, training, evaluation, and the contract."
    produces = "blueprint"
    Input = GuidelineInput
    Output = AnyBlueprint
    Answer = GuidelineAnswer
    has_criterion = True

    def offline(self, input: GuidelineInput, context: Context) -> Attempt[AnyBlueprint]:
        return Attempt(AnyBlueprint(_told(blueprint_of(input), context)))

    def brief(self, input: GuidelineInput, context: Context) -> tuple[Section, ...]:
        due, profile = blueprint_of(input), input.profile
        fixed = due.model_dump_json(include={*modality_of(due).FIXED} - {"source"}, exclude_defaults=True, indent=1)
        plan = input.plan.model_dump_json(exclude_defaults=True, indent=1) if input.plan else ""
        shape = {"name", "kind", "treatment", "nullable", "minimum", "maximum"}
        columns = [one.model_dump_json(include=shape, exclude_defaults=True) for one in due.columns]
        wishes = [*input.requirements.dataset.preprocessing, *input.requirements.knowledge.hints]
        known = [f"{one.text} ({one.because})" for one in input.knowledge.insights] if input.knowledge else []
        found = [*profile.remarks, *(fact.text for fact in profile.suggestions), *(leak.text for leak in profile.leaks)]
        return (
            section("fixed", fixed, rank=NEEDED, language="json"),
            section("wishes", *wishes),
            section("plan", plan),
            section("columns", *columns),
            section("dropped", *(f"{one.name}: {one.reason}" for one in due.dropped)),
            section("algorithms", ", ".join(due.algorithms), rank=NEEDED),
            section("findings", *(found if input.guided else ()), rank=2),
            section("knowledge", *(known if input.guided else ()), rank=2),
        )

    def objection(self, answer: GuidelineAnswer, input: GuidelineInput) -> str:
        due, made = blueprint_of(input), _decisions(answer)
        found = [one.message for one in objections(made, due)]
        kinds = {one.column: one.kind for one in made.columns}
        columns = [
            one.model_copy(update={"kind": kinds.get(one.name, one.kind)})
            for one in due.columns
            if kinds.get(one.name) != "drop"
        ]
        found += [message for _, message in due.model_copy(update={"columns": tuple(columns)}).objections(made.derived)]
        return " ".join(found)

    def read(self, answer: GuidelineAnswer, input: GuidelineInput, context: Context) -> Attempt[AnyBlueprint]:
        training = " ".join(answer.training.split())[:LONGEST]
        made = draft(decided(outline_of(input), _decisions(answer))).model_copy(update={"training": training})
        return Attempt(AnyBlueprint(_told(made, context)), answer.reason, answer.fix)

    def check(self, input: GuidelineInput, output: AnyBlueprint, context: Context) -> Verdict:
        """Metric, target, rows and what is left out are the harness's; nothing that leaks is used."""
        made = output.root
        wrong = list(_differing(made, blueprint_of(input)))
        detail = f"{len(made.columns)} columns used, {len(made.dropped)} left out, compared by {made.metric}"
        measured = Measurement(name="blueprint", status="failed" if wrong else "passed", detail=detail)
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: AnyBlueprint) -> str | None:
        return f"Write the blueprint again: {violation.message}" if violation.code.startswith("blueprint") else None


def _told(made: Blueprint, context: Context) -> Blueprint:
    derived = f", {len(made.derived)} derived features" if made.derived else ""
    context.progress(f"{len(made.columns)} columns{derived}, {', '.join(made.algorithms)}")
    return made


def _decisions(answer: GuidelineAnswer) -> Decisions:
    said = {name: getattr(answer, name) for name in Decisions.model_fields}
    return Decisions.model_validate(said)


def _differing(output: Blueprint, due: Blueprint) -> Iterator[Violation]:
    """What is not as it was fixed, or not to be used."""
    for name in modality_of(due).FIXED:
        if getattr(output, name) != getattr(due, name):
            message = f"The blueprint's {name} is not what was fixed."
            yield Violation(code="blueprint-differs", message=message, subject=name)
    known = {column.name: column for column in due.columns}
    for column in output.columns:
        plan = known.get(column.name)
        if plan is None:
            message = f"{column.name!r} is not to be used."
            yield Violation(code="blueprint-column", message=message, subject=column.name)
        elif column.reading != plan.reading or column.source != plan.source or not may_be(due, plan.name, column.kind):
            message = f"The column {column.name!r} is not read as it stands in the file."
            yield Violation(code="blueprint-kind", message=message, subject=column.name)
    for name in output.algorithms:
        if name not in due.algorithms:
            message = f"{name!r} is none of the algorithms of the plan."
            yield Violation(code="blueprint-algorithm", message=message, subject=name)
