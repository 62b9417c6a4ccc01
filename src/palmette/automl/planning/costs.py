"""Estimates the costs of candidates and corrects them by the measurements of earlier rounds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from palmette.automl.artefacts import MeasuredRound, Plan
from palmette.automl.candidates import Candidate, substance
from palmette.automl.composition import encoding_seconds, learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import Cost

REQUEST = 6.0  # milliseconds of a one-row request outside the model: HTTP, and reading and encoding the row
ENSEMBLE_SIZE = 4  # number of members assumed for the estimate of an ensemble
LEAST_MEASURED = 3  # number of measured learners required before their times correct the estimates of others
LARGEST_CORRECTION = 5.0  # largest factor by which other learners' times correct an estimate


@dataclass(frozen=True)
class Costs:
    """Estimates the costs of candidates on the data described by `facts`."""

    facts: DataFacts
    rounds: tuple[MeasuredRound, ...] = ()

    def of(self, candidate: Candidate) -> Cost:
        """Returns the cost to train on all folds, store, and answer a one-row request, to two significant digits."""
        expected, (megabytes, milliseconds) = self._expected(candidate), self._factors
        known = self._seconds.get(substance(candidate))
        return _rounded(
            expected.seconds * self._slowness(candidate.learner) if known is None else known,
            expected.megabytes * megabytes,
            (REQUEST + expected.milliseconds) * milliseconds,
        )

    def together(self, candidates: Sequence[Candidate]) -> Cost:
        """Returns the cost of an ensemble of the cheapest candidates; training time is that of the fastest alone."""
        members, (megabytes, milliseconds) = sorted(map(self._expected, candidates))[:ENSEMBLE_SIZE], self._factors
        due = _sum(members)
        return _rounded(
            min(self.of(one).seconds for one in candidates), due.megabytes * megabytes, due.milliseconds * milliseconds
        )

    def _expected(self, candidate: Candidate) -> Cost:
        cost = learner_named(candidate.learner).cost(self.facts)
        encoding = encoding_seconds(candidate, self.facts)
        return cost._replace(seconds=cost.seconds + self.facts.folds * encoding)

    @cached_property
    def _seconds(self) -> dict[str, float]:
        return {substance(one.candidate): one.seconds for done in self.rounds for one in done.candidates}

    @cached_property
    def _ratios(self) -> dict[str, float]:
        """Ratios of measured to expected seconds, by learner."""
        found: dict[str, list[float]] = {}
        for one in (each for done in self.rounds for each in done.candidates):
            ratio = _ratio(one.seconds, self._expected(one.candidate).seconds)
            found.setdefault(one.candidate.learner, []).append(ratio)
        return {learner: median(ratios) for learner, ratios in found.items()}

    def _slowness(self, learner: str) -> float:
        """Returns the factor for a learner's times, from its own measurements, else from those of several others."""
        if learner in self._ratios:
            return self._ratios[learner]
        return _clipped(self._ratios.values()) if len(self._ratios) >= LEAST_MEASURED else 1.0

    @cached_property
    def _factors(self) -> tuple[float, float]:
        """Ratios of measured to expected size and latency, for the last round's model."""
        if not self.rounds:
            return 1.0, 1.0
        done = self.rounds[-1]
        due = _sum([self._expected(one.candidate) for one in done.candidates if one.candidate.name in done.members])
        return _ratio(done.megabytes, due.megabytes), _ratio(done.milliseconds or 0.0, due.milliseconds)


def digest(plan: Plan) -> str:
    """Returns a digest that is equal for plans that train and deliver the same, regardless of order and name."""
    ensembling = "single" if len(plan.candidates) == 1 else plan.ensembling
    parts = [sorted(map(substance, plan.candidates)), ensembling, plan.tuning]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _sum(costs: Sequence[Cost]) -> Cost:
    seconds, megabytes = sum(one.seconds for one in costs), sum(one.megabytes for one in costs)
    return Cost(seconds, megabytes, REQUEST + sum(one.milliseconds for one in costs))


def _ratio(measured: float, expected: float) -> float:
    return measured / expected if measured > 0 and expected > 0 else 1.0


def _clipped(ratios: Iterable[float]) -> float:
    return min(max(median(ratios), 1 / LARGEST_CORRECTION), LARGEST_CORRECTION)


def _rounded(seconds: float, megabytes: float, milliseconds: float) -> Cost:
    return Cost(*(float(f"{value:.2g}") for value in (seconds, megabytes, milliseconds)))
