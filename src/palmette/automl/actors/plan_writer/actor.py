"""The actor `plan_writer`: drafts independent plans, and other ones when those have failed."""

import re
from collections.abc import Iterator

from palmette.automl import context as shown
from palmette.automl.actors.shared import PlanningInput, RuledAgent, verdict
from palmette.automl.artefacts import Knowledge, Plan, Plans
from palmette.automl.candidates import Ensembling, first_of_each
from palmette.automl.composition import learner_named, meant, unavailable
from palmette.automl.planning.constraints import PlanStrategy, digest
from palmette.automl.planning.drafting import PlanContext, Revision, affordable, chosen_by, draft, plan_of
from palmette.automl.planning.rounds import MISSED, REJECTED, revised
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Verdict, Violation
from palmette.errors import did_you_mean
from palmette.llm import NEEDED, Answer, AnswerError, Section, section

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ANCHORS = 4  # leading configurations that every plan of a model trains, unless it delivers a single model


class PlanWriterInput(PlanningInput):
    knowledge: Knowledge = Knowledge()


class PlanDraft(Model):
    name: str
    """A few words, kebab-case."""
    idea: str
    """The belief about these data that sets it apart; one sentence."""
    learners: tuple[str, ...] = ()
    """In the order of training; empty for all, the most promising first."""
    ensembling: Ensembling = "best"
    tuning: bool = True
    """Whether time that is left is spent on the settings of the leading candidates."""
    reasons: tuple[str, ...] = ()
    """Figures and findings that it rests on, a sentence each."""


class PlansAnswer(Answer):
    plans: tuple[PlanDraft, ...]
    """As many as are wanted, the most promising first."""


class PlanWriter(RuledAgent):
    """Drafts plans in outline; which candidates stand for a learner follows from its portfolio and the request."""

    name = "plan_writer"
    description = "Drafts independent plans: families of models, ensembling and tuning, each with its reasons."
    produces = "plans"
    Input = PlanWriterInput
    Output = Plans
    Answer = PlansAnswer
    codes = ("plan-", "plans-", *MISSED)

    def in_short(self, output: Plans) -> str:
        return "; ".join(f"{one.name}: {', '.join(each.name for each in one.candidates)}" for one in output.plans)

    def offline(self, input: PlanWriterInput, context: Context) -> Attempt[Plans]:
        known, revision = _begin(input, context)
        if not known.portfolio:
            return Attempt(None, "No learner is left to plan.", TERMINATE, (_unavailable(known),))
        made = draft(known, revision)
        if made is None:
            return Attempt(None, "Every plan that the rules know was tried.", TERMINATE, context.evidence)
        context.progress(", ".join(one.name for one in made.plans))
        return Attempt(made)

    def sections(self, input: PlanWriterInput, context: Context) -> tuple[Section, ...]:
        known, _ = _begin(input, context)
        if not known.portfolio:
            raise AnswerError("No learner is left to plan.", violations=(_unavailable(known),))
        lines = list[str]()  # learners that can be afforded, with the expected costs of the first configuration of each
        for one in first_of_each(affordable(known)):
            learner = learner_named(one.learner)
            lines.append(f"{learner.name}: {learner.description} {learner.track}; {known.costs.of(one)}")
        return (
            section("count", str(input.task.plans), rank=NEEDED),
            shown.request(known),
            shown.task(known.blueprint, input.profile),
            shown.columns(known.blueprint, input.profile),
            shown.findings(input.profile),
            section("learners", "\n".join(lines), rank=NEEDED),
            shown.insights(input.knowledge.insights),
        )

    def redacted(self, violation: Violation) -> Violation:
        return violation.model_copy(update={"evidence": ""})

    def recalled(self, output: Plans) -> str:
        return "\n".join(f"{one.name}: {one.idea}" for one in output.plans)

    def objection(self, answer: PlansAnswer, input: PlanWriterInput) -> str:
        """Learners that are not listed; the rest is held by the criterion, so that the next attempt sees all of it."""
        allowed = {*input.known().constraints.allowed}
        families = {word for name in allowed for word in (name, *learner_named(name).families)}
        named = [(one.name, name) for one in answer.plans for name in one.learners if not allowed & meant(name)]
        return " ".join(
            f"{plan!r} trains {name!r}, which is not listed.{did_you_mean(name, families)}" for plan, name in named
        )

    def read(self, answer: PlansAnswer, input: PlanWriterInput, context: Context) -> Attempt[Plans]:
        known, revision = _begin(input, context)
        if not answer.plans:
            return Attempt(None, answer.reason, answer.fix, (_missing(0, input.task.plans),))
        made = [_read(one, known, revision) for one in answer.plans]
        plans = Plans(plans=tuple(made), rounds=known.rounds, tried=revision.tried)
        return Attempt(plans, answer.reason, answer.fix)

    def check(self, input: PlanWriterInput, output: Plans, context: Context) -> Verdict:
        """Plans are as many as wanted, or as the rules know; different, and not tried before."""
        known, revision = _begin(input, context)
        due, count = draft(known, revision), len(output.plans)
        is_number = (len(due.plans) if due else 1) <= count <= known.task.plans
        wrong = () if is_number else (_missing(count, known.task.plans),)
        return verdict("plans", (*wrong, *_of_names(output, revision)), self.in_short(output))

    def implicated(self, violation: Violation, output: Plans) -> str | None:
        """It answers for its own check, for plans that were rejected, and for constraints that were missed."""
        if violation.code in (REJECTED, *MISSED):
            return f"Write other plans than {', '.join(one.name for one in output.plans)}: {violation.message}"
        return super().implicated(violation, output)


def _begin(input: PlanWriterInput, context: Context) -> tuple[PlanContext, Revision]:
    revision = revised(context)
    return input.known(rounds=revision.rounds, knowledge=input.knowledge), revision


def _read(one: PlanDraft, known: PlanContext, revision: Revision) -> Plan:
    fitting = affordable(known)
    strategy = PlanStrategy(one.name, one.idea, one.learners, tuning=one.tuning, ensembling=one.ensembling)
    anchors = [] if one.ensembling == "single" else fitting[:ANCHORS]
    found = {each.name: each for each in (*chosen_by(strategy, fitting, known.constraints), *anchors)}
    made = plan_of(strategy, list(found.values()) or fitting[:1], known)
    reasons = (*one.reasons, *((revision.why,) if revision.why else ()))
    return made.model_copy(update={"reasons": reasons, "revision": revision.number})


def _unavailable(known: PlanContext) -> Violation:
    wanted, tracks = known.constraints.required, known.task.tracks
    reasons = [text for track in tracks if (text := unavailable(track, known.facts.problem, known.facts.kinds))]
    asked = f"of {' or '.join(wanted)}" if wanted else f"of the {' or '.join(tracks)} learners" if tracks else "of all"
    rows = f"{known.facts.rows} rows of {known.facts.problem}"
    none = f"No learner is left to plan: none {asked} is installed, allowed and fit for {rows}."
    message = " ".join([none, *reasons])
    remedy = "Install its library, or ask for another learner or track."
    return Violation(code="learner-unavailable", message=f"{message} {remedy}", subject=", ".join(wanted))


def _missing(count: int, wanted: int) -> Violation:
    return Violation(code="plans-missing", message=f"There are {count} plans; {wanted} are wanted.")


def _of_names(output: Plans, revision: Revision) -> Iterator[Violation]:
    taken, seen = set(revision.names), dict[str, str]()
    for one in output.plans:
        own, name = digest(one), repr(one.name)
        if one.name in taken or not NAME.fullmatch(one.name):
            message = f"The name {name} is taken or not kebab-case."
            yield Violation(code="plan-name", message=message, subject=one.name)
        if own in seen:
            message = f"{name} trains and delivers the same as {seen[own]!r}."
            yield Violation(code="plan-twice", message=message, subject=one.name)
        if own in revision.tried:
            yield Violation(code="plan-repeated", message=f"{name} is a plan again that has failed.", subject=one.name)
        seen.setdefault(own, one.name)
        taken.add(one.name)
