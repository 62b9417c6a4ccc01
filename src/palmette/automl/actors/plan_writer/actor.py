"""The actor `plan_writer`: writes independent plans, and other ones when those have failed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from palmette.automl.actors.plan_writer.offline import PlanWriterInput, plans, substance, wishes
from palmette.automl.artefacts import Plan, Plans
from palmette.automl.modalities import modality_for
from palmette.automl.planning.algorithms import available, track_of
from palmette.automl.planning.facts import listed, shown_figures, validation
from palmette.automl.planning.wishes import Wishes
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Measurement, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Agent, Answer, AnswerError, Section, section

LONGEST = 400
MOST_TEXTS = 20
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
FAILED = ("plan-rejected", "constraint-missed", "plan-empty")
"""What later actors find wrong with plans."""
CODES = (
    *FAILED, "plans-missing", "plan-name", "plan-miscounted", "plan-twice", "plan-repeated", "plan-algorithm",
    "algorithm-not-allowed", "tracks-differ", "ensemble-misfit", "plan-too-long",
)  # fmt: skip
"""What it answers for."""


class Draft(Model):
    name: str
    """A few words, kebab-case."""
    idea: str
    """What it bets on, in one sentence."""
    algorithms: tuple[str, ...]
    """In the order in which they are to be tried."""
    preparation: tuple[str, ...] = ()
    """Steps on the data, in order, each a sentence."""
    tuning: str = ""
    """What is searched after the starting points."""
    ensemble: bool = True
    """Whether several models may be delivered together."""
    reasons: tuple[str, ...] = ()
    """The figures and insights that it rests on, each a sentence."""


class PlansAnswer(Answer):
    plans: tuple[Draft, ...]
    """As many as are asked for; each with a bet of its own."""


class PlanWriter(Agent):
    """Writes plans that differ in what they bet on, and keep to the request."""

    name = "plan_writer"
    description = "Writes several independent plans, from data to model, each with the reasons that it rests on."
    produces = "plans"
    Input = PlanWriterInput
    Output = Plans
    Answer = PlansAnswer
    has_criterion = True

    def offline(self, input: PlanWriterInput, context: Context) -> Attempt[Plans]:
        wanted = wishes(input)
        if not wanted.allowed:
            return Attempt(None, "No algorithm may be planned.", TERMINATE, (_nothing_here(input, wanted),))
        made = plans(input, _failures(context), _before(context))
        if made is None:
            return Attempt(None, "Every bet was made already.", TERMINATE, context.evidence)
        context.progress(", ".join(one.name for one in made.plans))
        return Attempt(made)

    def brief(self, input: PlanWriterInput, context: Context) -> tuple[Section, ...]:
        wanted = wishes(input)
        if not wanted.allowed:
            raise AnswerError("No algorithm may be planned.", violations=(_nothing_here(input, wanted),))
        problem, profile = input.requirements.problem, input.profile
        said = [f"must be one of: {', '.join(wanted.named)}"] if wanted.named else []
        said += [f"to be tried first: {name}" for name in wanted.preferred]
        said += [str(one) for one in problem.constraints]
        said += [f"preferred: {one.name}" for one in input.requirements.knowledge.preferences]
        if wanted.ensemble is not None:
            said.append("several models together" if wanted.ensemble else "one model, not several together")
        algorithms = [f"{name} ({track_of(name)})" for name in wanted.allowed]
        return (
            section("request", input.requirements.text, rank=NEEDED, language="text"),
            section("count", str(input.settings.plans), rank=NEEDED),
            section("seconds", f"{input.settings.seconds:g}", rank=NEEDED),
            section("wishes", "\n".join([*said, *input.requirements.dataset.preprocessing]), rank=NEEDED),
            section("algorithms", "\n".join(algorithms), rank=NEEDED, language="text"),
            section("insights", *(f"{one.text} ({one.source}; {one.because})" for one in input.knowledge.insights)),
            section("aim", profile.aim.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json"),
            section("figures", shown_figures(profile), rank=1),
            section("findings", *(fact.text for fact in profile.suggestions), *profile.remarks, rank=2),
            section("validation", validation(profile, input.requirements), rank=NEEDED),
        )

    def read(self, answer: PlansAnswer, input: PlanWriterInput, context: Context) -> Attempt[Plans]:
        revision, how = _revision(context), validation(input.profile, input.requirements)
        made = tuple(
            Plan(
                **draft.model_dump(),
                tracks=tuple(dict.fromkeys(map(track_of, draft.algorithms))),
                validation=how,
                revision=revision,
            )
            for draft in answer.plans
        )
        return Attempt(Plans(plans=made), answer.reason, answer.fix)

    def check(self, input: PlanWriterInput, output: Plans, context: Context) -> Verdict:
        """There are as many plans as wanted, all different, of algorithms and tracks that are here and allowed."""
        wanted = wishes(input)
        found = [*_of_number(input, output, context), *_alike(output.plans, context)]
        for one in output.plans:
            found += [*_of_algorithms(one, input, wanted), *_of_texts(one)]
        detail = "; ".join(f"{one.name}: {one.idea}" for one in output.plans)
        return Verdict.of(found, [Measurement(name="plans", status="failed" if found else "passed", detail=detail)])

    def implicated(self, violation: Violation, output: Plans) -> str | None:
        """To blame for what its own check finds, for plans that were refused, and for constraints that were missed."""
        if violation.code in FAILED:
            names = listed([one.name for one in output.plans])
            return f"Write other plans than {names}, which answer this: {violation.message}"
        return f"Write the plans again: {violation.message}" if violation.code in CODES else None


def _failures(context: Context) -> tuple[Violation, ...]:
    """What later actors found wrong with the last plans."""
    return tuple(violation for violation in context.evidence if violation.code in FAILED)


def _revision(context: Context) -> int:
    """How often plans have been revised, with this time."""
    if not _failures(context):
        return 0
    last = max((one.revision for one in context.last.plans), default=0) if isinstance(context.last, Plans) else 0
    return last + 1 if context.attempt == 1 else max(last, 1)


def _before(context: Context) -> Plans | None:
    """The plans that failed later; not those of this revision that the check refused."""
    if isinstance(context.last, Plans) and all(one.revision < _revision(context) for one in context.last.plans):
        return context.last
    return None


def _nothing_here(input: PlanWriterInput, wanted: Wishes) -> Violation:
    here = available(input.profile, input.tracks)
    reasons = filter(None, map(modality_for(input.profile.aim.task).unavailable, input.tracks))
    others = " ".join(reasons).removesuffix(".") or "The request excludes the others"
    asked = f"Asked for: {' or '.join(wanted.named)}" if wanted.named else others
    rows = input.profile.holdout.training_rows
    installed = f"installed for {', '.join(input.tracks)} and fit for {rows} rows: {', '.join(here) or 'none'}"
    message = f"No algorithm is left to plan. {asked}; {installed}."
    remedy = "Install the library of what is asked for, or ask for another algorithm."
    return Violation(code="algorithm-unavailable", message=f"{message} {remedy}", subject=", ".join(wanted.named))


def _of_number(input: PlanWriterInput, output: Plans, context: Context) -> Iterator[Violation]:
    """Fewer than wanted will do where the rules could not write more."""
    known = plans(input, _failures(context), _before(context))
    least = len(known.plans) if known else 1
    if not least <= len(output.plans) <= input.settings.plans:
        message = f"There are {len(output.plans)} plans; {input.settings.plans} are wanted."
        yield Violation(code="plans-missing", message=message)
    if due := {one.revision for one in output.plans} - {_revision(context)}:
        message = f"The revision {min(due)} of a plan is not counted right; this is revision {_revision(context)}."
        yield Violation(code="plan-miscounted", message=message)


def _alike(made: tuple[Plan, ...], context: Context) -> Iterator[Violation]:
    before = _before(context)
    old = {substance(one): one.name for one in before.plans} if before else {}
    seen: dict[object, str] = {}
    for number, one in enumerate(made):
        if one.name in [other.name for other in made[:number]] or not NAME.fullmatch(one.name):
            message = f"The name {one.name!r} is not kebab-case, or stands for two plans."
            yield Violation(code="plan-name", message=message, subject=one.name)
        if (same := substance(one)) in seen:
            message = f"{one.name!r} bets on the same as {seen[same]!r}: equal algorithms, tuning and ensembling."
            yield Violation(code="plan-twice", message=message, subject=one.name)
        if same in old:
            message = f"{one.name!r} is the plan {old[same]!r} again, which has failed."
            yield Violation(code="plan-repeated", message=message, subject=one.name)
        seen.setdefault(same, one.name)


def _of_algorithms(one: Plan, input: PlanWriterInput, wanted: Wishes) -> Iterator[Violation]:
    here = available(input.profile, input.tracks)
    for name in one.algorithms:
        if name not in here:
            message = f"{name!r} is not here for this task.{did_you_mean(name, here)} There are {', '.join(here)}."
            yield Violation(code="plan-algorithm", message=message, subject=one.name)
        elif name not in wanted.allowed:
            message = f"The request does not allow {name!r}; it allows {', '.join(wanted.allowed)}."
            yield Violation(code="algorithm-not-allowed", message=message, subject=one.name)
    if not one.algorithms:
        message = f"{one.name!r} names no algorithm. Name those to be tried, of {', '.join(wanted.allowed)}."
        yield Violation(code="plan-algorithm", message=message, subject=one.name)
    if set(one.tracks) != (needed := set(map(track_of, one.algorithms))):
        message = f"The tracks of {one.name!r} are those of its algorithms: {', '.join(sorted(needed)) or 'none'}."
        yield Violation(code="tracks-differ", message=message, subject=one.name)
    if wanted.ensemble is not None and one.ensemble != wanted.ensemble:
        wish = "several models together" if wanted.ensemble else "one model"
        message = f"{one.name!r} does not deliver what the request wants: {wish}."
        yield Violation(code="ensemble-misfit", message=message, subject=one.name)


def _of_texts(one: Plan) -> Iterator[Violation]:
    texts = [one.idea, one.validation, one.tuning, *one.preparation, *one.reasons]
    if not one.idea.strip() or len(texts) > MOST_TEXTS or any(len(text) > LONGEST for text in texts):
        message = f"{one.name!r} needs an idea in a sentence, and no text of more than {LONGEST} characters."
        yield Violation(code="plan-too-long", message=message, subject=one.name)
