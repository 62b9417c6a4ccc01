"""Turns insights into candidates and strategies, and records which candidates of a plan follow from them."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from pydantic import ValidationError

from palmette.automl.artefacts import Knowledge
from palmette.automl.candidates import LEFT_OUT, Candidate, Setting, Strategy, substance
from palmette.automl.composition import encoders, learner_named, meant
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.planning.constraints import PlanStrategy
from palmette.automl.task_spec.vocabulary import names_pattern, vocabulary
from palmette.knowledge import KnowledgeFinding, SuggestedCandidate

MOST_RECALLED = 4
"""Most candidates of earlier runs that are trained before the defaults; limits the cost of misleading memories."""
MOST_CITED = 3  # most insights that a plan cites, and most candidates listed for each
POSITION = 2  # position of the informed strategy: wrong insights do not displace the first two, which need none
_BETTER = re.compile(r"\b(?:outperforms?|beats?|is better than|are better than|surpass(?:es)?)\b", re.I)

RestsOn = tuple[KnowledgeFinding, tuple[str, ...]]  # an insight and the names of the candidates that follow from it


def advocated(text: str) -> tuple[str, ...]:
    """Returns the learners and families that a sentence recommends: in comparisons, those before the verb.

    >>> advocated("We show that random forests outperform kNN on small tables.")
    ('random_forest',)
    """
    before = _BETTER.split(text, maxsplit=1)[0]
    found = ((name, names_pattern([name, *words])) for name, words in vocabulary().learners.items())
    return tuple(name for name, pattern in found if re.search(rf"(?<!\w)(?:{pattern})s?(?!\w)", before, re.I))


def setting_objections(name: str, settings: Mapping[str, Setting], facts: DataFacts) -> Iterator[str]:
    """Yields reasons, as sentences, why a learner does not accept settings."""
    learner = learner_named(name)
    accepted, ranges = learner.settings(), learner.ranges(facts)
    for setting, value in settings.items():
        if setting not in accepted:
            yield f"{name} has no setting {setting!r}; it accepts {', '.join(accepted) or 'none'}."
        elif setting in ranges and (why := ranges[setting].objection(value)):
            yield f"The setting {setting!r} of {name} {why}."


def recalled_candidates(
    knowledge: Knowledge, allowed: Collection[str], facts: DataFacts, strategies: Sequence[Strategy]
) -> list[Candidate]:
    """Returns trainable candidates that led similar runs; those that several runs share come first."""
    votes, made, found = Counter[str](), dict[str, Candidate](), list[Candidate]()
    for insight in knowledge.insights:
        for place, one in enumerate(insight.candidates):
            if candidate := _trainable(one, allowed, facts, strategies):
                made.setdefault(key := substance(candidate), candidate)
                votes[key] += 10 - min(place, 9)
    for chosen in (made[key] for key, _ in votes.most_common(MOST_RECALLED)):
        number = 1 + sum(one.learner == chosen.learner for one in found)
        update = {"name": f"{chosen.learner}-recalled-{number}", "tuned": number == 1}
        found.append(chosen.model_copy(update=update))
    return found


def _trainable(
    one: SuggestedCandidate, allowed: Collection[str], facts: DataFacts, strategies: Sequence[Strategy]
) -> Candidate | None:
    known = {each.name: each.kind for each in encoders()}
    if one.learner not in allowed or any(setting_objections(one.learner, one.settings, facts)):
        return None
    named = {kind: name for kind, name in one.encoders.items() if name != LEFT_OUT}
    if not {*one.encoders} <= {*facts.kinds} or any(known.get(name) != kind for kind, name in named.items()):
        return None
    update = {"name": f"{one.learner}-recalled", "reason": "it led a similar run"}
    try:
        made = Candidate.model_validate(one.model_dump() | update)
    except ValidationError:
        return None
    return made if made.strategy in strategies else made.model_copy(update={"strategy": strategies[0]})


def informed(strategies: Sequence[PlanStrategy], knowledge: Knowledge) -> list[PlanStrategy]:
    """Adds a strategy that trains the learners first that most insights recommend."""
    votes = Counter(name for one in knowledge.insights for name in one.algorithms)
    if not votes:
        return list(strategies)
    learners = tuple(name for name, _ in votes.most_common())
    idea = f"What is known of such data speaks for {', '.join(learners[:3])}."
    return [*strategies[:POSITION], PlanStrategy("as-retrieved", idea, learners, each=2), *strategies[POSITION:]]


def resting_on(knowledge: Knowledge, candidates: Sequence[Candidate]) -> list[RestsOn]:
    """Returns the insights that a plan uses, each with the candidates that follow from it."""
    every = [(one, {learner for name in one.algorithms for learner in meant(name)}) for one in knowledge.insights]
    found = [(one, tuple(each.name for each in candidates if each.learner in advised)) for one, advised in every]
    return [(one, names[:MOST_CITED]) for one, names in found if names][:MOST_CITED]
