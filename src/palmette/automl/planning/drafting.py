"""Drafts plans by rule: the learners' portfolios in the order of a strategy, within the request's demands."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import count, product, zip_longest
from typing import NamedTuple

from palmette.automl.artefacts import Knowledge, MeasuredRound, Plan, Plans
from palmette.automl.candidates import LEFT_OUT, Blueprint, Candidate, Cost, Ensembling, Strategy, substance
from palmette.automl.composition import ORDER, candidate_track, encoder_starts, facts_of, learner_named, meant
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig
from palmette.automl.kinds import file_kinds
from palmette.automl.planning.blueprints import blueprint
from palmette.automl.planning.columns import data_plan
from palmette.automl.planning.constraints import (
    ESTIMATED,
    MARGIN,
    Aim,
    Constraints,
    Costs,
    PlanStrategy,
    constraints_of,
    digest,
    shares,
    strategies,
    worst,
)
from palmette.automl.planning.insights import informed, recalled_candidates, resting_on
from palmette.automl.problems.problem import problem_named, problem_of
from palmette.automl.profile import Profile
from palmette.automl.samples import Samples
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec

PATIENCE = 2.0
"""Largest estimated time of a candidate, as a multiple of the remaining time; above 1 because estimates are rough."""
VARIED = 2  # number of leading candidates that are also trained with other strategies for target and classes
NEXT = 0.01  # difference of the ranks of a starting point and of the same without some kinds of columns
LEADERS = 4  # number of measured candidates that a revised plan keeps, so that its model is not worse
ENSEMBLE_TOLERANCE = 1.5
"""Factor by which a single model's estimate may exceed a limit if only an ensemble was measured."""
NEAR = 2.0  # after a round, factor by which the closest candidate's estimate may exceed a limit and still be tried
RESERVE = 0.1  # share of the budget that revisions may use beyond it, because the first round may use all of it
LIMIT = 1.15  # share of the budget within which training ends, except for the fit under way
LEAST, LEAST_SEARCH = 0.04, 5.0  # share of the budget, and seconds, that another search needs
TRAINING_SHARE = 0.9  # share of a limit on training time that search and final fit may use
NOTHING_KNOWN = Knowledge()
VARIATIONS: tuple[tuple[bool, Ensembling], ...] = tuple(product((True, False), ("best", "stacking", "single")))
"""Variations of tuning and ensembling, used if there are fewer strategies than plans."""


@dataclass(frozen=True)
class PlanContext:
    """The request, the data and the earlier rounds that plans are drafted for."""

    task: TaskSpec
    profile: Profile
    blueprint: Blueprint  # a blueprint by rule; its candidates are ignored
    knowledge: Knowledge = NOTHING_KNOWN
    rounds: tuple[MeasuredRound, ...] = ()

    @staticmethod
    def of(
        task: TaskSpec,
        samples: Samples,
        profile: Profile,
        rounds: tuple[MeasuredRound, ...] = (),
        knowledge: Knowledge = NOTHING_KNOWN,
    ) -> "PlanContext":
        """Returns a context with the rules' blueprint, whose seconds are those of the next round."""
        DataSplits.of(samples, profile.split)  # raises if a file has changed
        drawn = drafted(*(one.model_dump_json() for one in (task, samples, profile)))
        made = replace(drawn, rounds=rounds, knowledge=knowledge)
        return replace(made, blueprint=made.blueprint.model_copy(update={"seconds": made.round_seconds}))

    @cached_property
    def facts(self) -> DataFacts:
        return facts_of(self.blueprint)

    @cached_property
    def constraints(self) -> Constraints:
        return constraints_of(self.task, self.facts)

    @cached_property
    def costs(self) -> Costs:
        return Costs(self.facts, self.rounds)

    @property
    def seconds(self) -> float:
        """The part of the budget that earlier rounds left, or the reserve if that is more."""
        left, reserve = self.task.budget - sum(one.seconds for one in self.rounds), RESERVE * self.task.budget
        return max(left, min(reserve, left + reserve))

    @property
    def round_seconds(self) -> float:
        """The time for search and final fit in the next round: what is left, within a limit on training time."""
        limits = [TRAINING_SHARE * one.value for one in self.constraints.limits if one.quantity == "training_time"]
        return round(min([max(self.seconds, LEAST * self.task.budget), *limits]), 1)

    @property
    def tolerance(self) -> float:
        """Factor by which an estimate may exceed a limit."""
        return MARGIN if not self.rounds else ENSEMBLE_TOLERANCE if len(self.rounds[-1].selection.members) > 1 else 1.0

    def misfit(self, cost: Cost, tolerance: float) -> float:
        """The largest ratio of a cost to the time or, with a tolerance, to a limit; above 1 it does not fit."""
        patience = PATIENCE * max(self.seconds, 1.0)
        return max(cost.seconds / patience, worst(cost, self.constraints.limits) / tolerance)

    @property
    def too_large(self) -> frozenset[str]:
        """Digests of candidates that missed a limit when delivered alone."""
        chosen = [done.selection for done in self.rounds if done.misses_limit]
        return frozenset(substance(one.members[0].candidate) for one in chosen if len(one.members) == 1)

    def may_improve(self, plan: Plan) -> bool:
        """Returns whether a revised plan can deliver another model in the time that is left.

        A plan without a new candidate repeats an earlier one, unless a single model may keep a limit that was missed.
        """
        if not self.rounds:
            return True
        last, spent = self.rounds[-1], sum(one.seconds for one in self.rounds)
        left = LIMIT * self.task.budget - spent - last.fit_seconds
        if self.costs.measured.keys() >= {substance(one) for one in plan.candidates}:
            return left >= 0 and last.misses_limit and plan.ensembling == "single"
        return left >= max(LEAST * self.task.budget, LEAST_SEARCH)

    @cached_property
    def portfolio(self) -> tuple[Candidate, ...]:
        """The default configurations of all allowed learners, most promising first, with the default strategy.

        The leading ones appear with the other strategies, too. Recalled candidates take turns with the usual ones,
        which come first, so that a misleading memory costs little; a usual model or a baseline has its name.
        """
        usual, *others = self.strategies
        found, tracks = sorted(self._ranked(usual), key=lambda one: one[0]), self.task.tracks
        recalled = recalled_candidates(self.knowledge, self.constraints.allowed, self.facts, self.strategies)
        configs = [candidate for _, candidate in found]
        names = {substance(one): one.name for one in (*problem_of(self.blueprint).baselines(), *configs)}
        every: dict[str, Candidate] = {}
        for turn in zip_longest(configs, recalled):
            for one in filter(None, turn):
                key = substance(one)
                every.setdefault(key, one.model_copy(update={"name": names.get(key, one.name)}))
        made = [one for one in every.values() if not tracks or candidate_track(one) in tracks]
        varied = [_varied(one, other) for one in made[:VARIED] for other in others]
        return (*made[: VARIED + LEADERS], *varied, *made[VARIED + LEADERS :])

    @cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        return problem_named(self.facts.problem).strategies(self.task, self.profile) or (Strategy(),)

    def _ranked(self, usual: Strategy) -> Iterator[tuple[tuple[bool, float], Candidate]]:
        for name in self.constraints.allowed:
            own = (*learner_named(name).portfolio(self.facts), *encoder_starts(name, self.facts))
            starts = (*own, *on_columns_alone(name, self.facts))
            for number, config in enumerate(starts):
                made = Candidate(
                    name=config.name,
                    learner=name,
                    encoders=dict(config.encoders),
                    settings=dict(config.settings),
                    strategy=usual,
                    tuned=number == 0 or LEFT_OUT in config.encoders.values(),
                    reason=config.reason,
                )
                yield (name not in self.constraints.preferred, config.rank), made


def on_columns_alone(name: str, facts: DataFacts) -> Iterator[DefaultConfig]:
    """Yields a learner's first starting point without files and texts, if there are columns beside them.

    Without files it comes before the one with them, as it takes a small part of the time.
    """
    beside, learner = {*facts.kinds} - {*ORDER}, learner_named(name)
    if not beside or beside == {*facts.kinds} or learner.layout == "rows" or not facts.supervised:
        return
    encoders, reason = dict.fromkeys(sorted(beside), LEFT_OUT), f"without {' and '.join(sorted(beside))}"
    for one in learner.portfolio(facts)[:1]:
        rank = one.rank + (-NEXT if beside & {*file_kinds()} else NEXT)
        yield DefaultConfig(f"{one.name}-columns", one.settings, reason, rank, encoders)


@lru_cache(maxsize=2)
def drafted(*given: str) -> PlanContext:
    """Returns the context of a task, samples and profile as JSON; cached, as several actors in a row need it."""
    task, samples = TaskSpec.model_validate_json(given[0]), Samples.model_validate_json(given[1])
    profile = Profile.model_validate_json(given[2])
    data = data_plan(task, samples, profile, DataSplits.of(samples, profile.split).train)
    return PlanContext(task, profile, blueprint(task, samples, profile, data))


def _varied(candidate: Candidate, strategy: Strategy) -> Candidate:
    changed = strategy.model_dump(exclude_defaults=True) or {"target_transform": "plain"}
    label = "-".join(str(value) for value in changed.values())
    update = {"name": f"{candidate.name}-{label}", "strategy": strategy, "tuned": False}
    return candidate.model_copy(update={**update, "reason": f"{candidate.name} with another strategy"})


class Revision(NamedTuple):
    """The failures that lead to new plans; empty for the first draft."""

    number: int = 0  # number of revisions, including this one
    rounds: tuple[MeasuredRound, ...] = ()
    missed: tuple[str, ...] = ()  # quantities of the missed constraints
    why: str = ""  # what failed, as a sentence
    tried: tuple[str, ...] = ()  # digests of plans that are not drafted again
    names: tuple[str, ...] = ()  # names of earlier plans


FIRST_DRAFT = Revision()


def draft(context: PlanContext, revision: Revision = FIRST_DRAFT) -> Plans | None:
    """Drafts up to the requested number of plans, none of them tried before; returns None if nothing is left to try."""
    tried, names = {*revision.tried}, {*revision.names}
    made: list[Plan] = []
    for one in _plans(context, revision):
        if digest(one) in tried or len(made) == context.task.plans or not context.may_improve(one):
            continue
        numbered = (f"{one.name}-{number}" if number > 1 else one.name for number in count(1))
        name = next(name for name in numbered if name not in names)
        made.append(one.model_copy(update={"name": name, "revision": revision.number}))
        tried.add(digest(one))
        names.add(name)
    return Plans(plans=tuple(made), rounds=context.rounds, tried=revision.tried) if made else None


def _plans(context: PlanContext, revision: Revision) -> Iterator[Plan]:
    """Yields plans, most promising first: from measured candidates, from strategies, then variations of these."""
    fitting, wanted = affordable(context), context.constraints
    aim = aim_of(context, fitting, revision)
    asked: tuple[str, ...] = (revision.why,) if revision.why else ()
    if aim == "score" and (given_up := ", ".join(sorted(context.task.prefer))):
        asked += (f"The preference ({given_up}) gives way to the score that was missed.",)
    if context.rounds:
        yield from _from_measured(context, aim, fitting, asked)
    usable = []
    for strategy in informed(strategies(context.facts.problem, aim), context.knowledge):
        found = chosen_by(strategy, fitting, wanted)
        if len({one.learner for one in found}) >= strategy.least:
            usable.append((strategy, found))
    if wanted.preferred:
        usable.sort(key=lambda one: wanted.preferred[0] not in {each.learner for each in one[1]})
    yield from (plan_of(strategy, found, context, asked) for strategy, found in usable)
    for strategy, found in usable:
        for tuning, ensembling in VARIATIONS:
            yield plan_of(strategy._replace(tuning=tuning, ensembling=ensembling), found, context, asked)


def affordable(context: PlanContext) -> list[Candidate]:
    """Returns the candidates expected to keep time and limits; if there are none, those within the tolerance.

    If no candidate is, returns the one that comes closest. After a round, candidates that missed a limit when delivered
    alone are excluded. The result is empty if such a candidate had the lowest estimate, or if the others are far off.
    """
    portfolio = [one for one in context.portfolio if substance(one) not in context.too_large]
    costs = {one.name: context.costs.of(one) for one in context.portfolio}
    ratios = {name: worst(cost, context.constraints.limits) for name, cost in costs.items()}
    for tolerance in (1.0, context.tolerance):
        if fitting := [one for one in portfolio if context.misfit(costs[one.name], tolerance) <= 1]:
            return fitting
    most = [ratios[one.name] for one in context.portfolio if one not in portfolio] + [NEAR] * bool(context.rounds)
    ordered = sorted(portfolio, key=lambda one: context.misfit(costs[one.name], 1.0))
    return [one for one in ordered[:1] if ratios[one.name] <= min(most, default=math.inf)]


def aim_of(context: PlanContext, fitting: Sequence[Candidate], revision: Revision = FIRST_DRAFT) -> Aim:
    """Returns the goal of plans, by missed constraints, else preferences, else limits that ensembles miss."""
    if revision.number:
        return "score" if set(revision.missed) == {"score"} else "limited"
    if preferences := context.task.prefer:
        return "explain" if "explainable" in preferences else "lean"
    limits = [one for one in context.constraints.limits if one.quantity in ESTIMATED[1:]]
    return "limited" if limits and worst(context.costs.together(fitting), limits) > 1 else "usual"


def _from_measured(
    context: PlanContext, aim: Aim, fitting: Sequence[Candidate], asked: tuple[str, ...]
) -> Iterator[Plan]:
    """Yields plans made of measured candidates: fewer of them after a missed limit, more after a missed score."""
    known, greater = context.costs.measured, problem_of(context.blueprint).metric.greater_is_better
    ordered = sorted(known.values(), key=lambda one: one.score, reverse=greater)
    leaders = [one.candidate for one in ordered if one.candidate.learner in context.constraints.allowed]
    if aim == "limited":
        limits = context.constraints.limits
        kept = [one for one in leaders if worst(context.costs.of(one), limits) <= context.tolerance]
        idea = "Of the measured models the strongest that keeps the limits is delivered alone."
        strategy = PlanStrategy("narrowed", idea, ensembling="single")
        if kept:
            yield plan_of(strategy, kept[:LEADERS], context, asked)
        return
    leaders = leaders[:LEADERS]
    names = {one.name for one in leaders}
    varied = [_varied(one, other) for one in leaders for other in context.strategies if other != one.strategy]
    fresh = [one for one in (*varied, *fitting) if substance(one) not in known and one.name not in names]
    found = list({one.name: one for one in (*leaders, *fresh)}.values())
    idea = "The measured leaders, also with other strategies, and every model that was not tried yet."
    for ensembling in ("best", "stacking"):
        yield plan_of(PlanStrategy("widened", idea, ensembling=ensembling), found, context, asked)


def chosen_by(strategy: PlanStrategy, fitting: Sequence[Candidate], wanted: Constraints) -> list[Candidate]:
    """Returns a strategy's candidates in its order, and one of each learner that the request compares with."""
    here = list(dict.fromkeys(one.learner for one in fitting))
    named = [name for wish in strategy.learners for name in here if name in meant(wish)]
    place = {name: number for number, name in enumerate(dict.fromkeys(named if strategy.learners else here))}
    seen = dict.fromkeys(place, 0)
    found: list[tuple[tuple[int, ...], Candidate]] = []
    for number, one in enumerate(fitting):
        if one.learner in place and (not strategy.each or seen[one.learner] < strategy.each):
            key = (seen[one.learner], place[one.learner]) if strategy.learners else (number,)
            found.append((key, one))
            seen[one.learner] += 1
    chosen = [one for _, one in sorted(found, key=lambda one: one[0])]
    missing = [name for name in wanted.compared if chosen and name not in {one.learner for one in chosen}]
    return chosen + [next(one for one in fitting if one.learner == name) for name in missing if name in here]


def plan_of(
    strategy: PlanStrategy, candidates: Sequence[Candidate], context: PlanContext, asked: Iterable[str] = ()
) -> Plan:
    """Returns the plan of a strategy with the given candidates, adapted to the request's demands."""
    blends, is_asked = problem_named(context.facts.problem).blends, context.task.ensemble is not None
    ensembling = context.blueprint.ensembling if is_asked else strategy.ensembling
    return Plan(
        name=strategy.name,
        idea=strategy.idea,
        candidates=tuple(candidates),
        shares=shares(map(candidate_track, candidates), context.task.tracks),
        ensembling=ensembling if blends else "single",
        tuning=strategy.tuning,
        reasons=tuple(_reasons(candidates, context, asked)),
    )


def _reasons(candidates: Sequence[Candidate], context: PlanContext, asked: Iterable[str]) -> Iterator[str]:
    wanted = context.constraints
    yield from asked
    if wanted.required:
        yield f"The request demands {' or '.join(wanted.required)}."
    yield from (f"The request demands {one}." for one in context.task.constraints if one.quantity != "score")
    yield f"{context.facts.rows} training rows, {context.facts.columns} columns, {context.seconds:.0f} s."
    for one, names in resting_on(context.knowledge, candidates):
        yield f"{one.text} ({one.source}): {', '.join(names)}"
