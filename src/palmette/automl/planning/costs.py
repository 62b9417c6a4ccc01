"""Expected costs of candidates, corrected by what was measured in the rounds of this run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from palmette.automl.artefacts import MeasuredRound, Plan
from palmette.automl.candidates import Candidate
from palmette.automl.composition import encoding_seconds, learner_named
from palmette.automl.encoders.encoder import DataFacts
from palmette.automl.learners.learner import Cost

REQUEST = 6.0
"""Milliseconds that a request for one row takes beside the model: HTTP, reading and encoding the row."""
ENSEMBLE = 4
"""Members that an ensemble is estimated with."""


@dataclass(frozen=True)
class Costs:
    """Of candidates on data of this size."""

    facts: DataFacts
    rounds: tuple[MeasuredRound, ...] = ()

    def of(self, candidate: Candidate) -> Cost:
        """To train in all folds, to store, and to answer a request for one row; two significant digits."""
        expected, (seconds, megabytes, milliseconds) = self._expected(candidate), self._factors
        known = self._seconds.get(substance(candidate))
        return _rounded(
            expected.seconds * seconds if known is None else known,
            expected.megabytes * megabytes,
            (REQUEST + expected.milliseconds) * milliseconds,
        )

    def together(self, candidates: Sequence[Candidate]) -> Cost:
        """Of an ensemble of the cheapest; to train, that of the quickest, since others may be left out."""
        members, factors = sorted(map(self._expected, candidates))[:ENSEMBLE], self._factors
        due = _sum(members)
        return _rounded(
            members[0].seconds * factors.seconds,
            due.megabytes * factors.megabytes,
            due.milliseconds * factors.milliseconds,
        )

    def _expected(self, candidate: Candidate) -> Cost:
        cost = learner_named(candidate.learner).cost(self.facts)
        encoding = encoding_seconds(candidate, self.facts)
        return cost._replace(seconds=cost.seconds + self.facts.folds * encoding)

    @cached_property
    def _seconds(self) -> dict[str, float]:
        return {substance(one.candidate): one.seconds for done in self.rounds for one in done.candidates}

    @cached_property
    def _factors(self) -> Cost:
        """Measured over expected, by the last round: seconds of its candidates, size and latency of its model."""
        if not self.rounds:
            return Cost(1.0, 1.0, 1.0)
        done = self.rounds[-1]
        due = _sum([self._expected(one.candidate) for one in done.candidates if one.candidate.name in done.members])
        trained = _sum([self._expected(one.candidate) for one in done.candidates])
        return Cost(
            _ratio(sum(one.seconds for one in done.candidates), trained.seconds),
            _ratio(done.megabytes, due.megabytes),
            _ratio(done.milliseconds or 0.0, due.milliseconds),
        )


def substance(candidate: Candidate) -> str:
    """What makes two candidates the same model, whatever their names."""
    return json.dumps(candidate.model_dump(mode="json", exclude={"name", "reason", "tuned"}), sort_keys=True)


def digest(plan: Plan) -> str:
    """Equal for plans that train and deliver the same, in whatever order and under whatever name."""
    ensembling = "single" if len(plan.candidates) == 1 else plan.ensembling
    parts = [sorted(map(substance, plan.candidates)), ensembling, plan.tuning]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _sum(costs: Sequence[Cost]) -> Cost:
    """Of models that answer together."""
    seconds, megabytes = sum(one.seconds for one in costs), sum(one.megabytes for one in costs)
    return Cost(seconds, megabytes, REQUEST + sum(one.milliseconds for one in costs))


def _ratio(measured: float, expected: float) -> float:
    return measured / expected if measured > 0 and expected > 0 else 1.0


def _rounded(seconds: float, megabytes: float, milliseconds: float) -> Cost:
    return Cost(*(float(f"{value:.2g}") for value in (seconds, megabytes, milliseconds)))
