"""Estimates how long the features of candidates take to compute."""

import math
import statistics
from collections.abc import Iterable

from palmette.automl.candidates import Blueprint, Candidate
from palmette.automl.composition import encoders_of, encoding_key
from palmette.automl.encoders.encoder import DataFacts, Encoder
from palmette.automl.search.worker import DUMMY, SAMPLE_ROWS, FoldResult

LEAST_COST = 0.01  # estimates below this many seconds are not used to correct others


class EncodingCosts:
    """Estimates how long the features of candidates take to compute; those already computed take no time."""

    def __init__(self, blueprint: Blueprint, facts: DataFacts) -> None:
        self._blueprint, self._facts = blueprint, facts
        self._whole: dict[str, float] = {}
        """Seconds on one thread for all rows, as timed on a sample, by encoder; infinite while the sample runs."""
        self._keys: dict[str, str] = {}
        self._estimates: dict[str, float] = {}
        self._timed: dict[str, float] = {}
        self._measured: dict[str, float] = {}
        self._loading: dict[str, float] = {}
        """Seconds before the first row, as timed on a sample, by encoder."""
        self._spent: dict[str, float] = {}
        """Measured seconds for all rows, by encoder whose features are computed for all folds."""

    def take(self, facts: DataFacts) -> None:
        """Scales the estimates to another number of rows."""
        share = facts.rows / self._facts.rows
        self._facts = facts
        self._whole, self._estimates = (
            {key: share * one for key, one in known.items()} for known in (self._whole, self._estimates)
        )

    def record_timed(self, candidate: Candidate, seconds: float) -> None:
        """Records the seconds of encoding a sample of rows; few if another candidate had encoded it."""
        key = self._key(candidate)
        self._timed[key] = max(self._timed.get(key, 0.0), seconds * self._facts.rows / SAMPLE_ROWS)
        self._estimates[key] = self._timed[key]

    def expected(self, candidate: Candidate) -> float:
        """Returns the seconds to fit encoders on a fold, corrected by earlier estimates' errors; 0 if done."""
        key = self._key(candidate)
        if key in self._measured:
            return 0.0
        known = {one: self._estimates[one] for one in self._measured}
        ratios = (self._measured[one] / due for one, due in known.items() if due > LEAST_COST)
        return self._estimates[key] * usual_ratio(ratios)

    def shared(self, candidate: Candidate) -> float:
        """Returns the seconds that stateless encoders need for all rows; 0 if already done."""
        return sum(self._of_all_rows(one) for one in self._once(candidate) if one.name not in self._spent)

    def repeated(self, candidate: Candidate) -> float:
        """Returns the measured seconds of stateless encoders, which a final fit runs again."""
        known = (self._whole.get(one.name, 0.0) for one in self._once(candidate))
        return sum(one for one in known if math.isfinite(one))

    def again(self, candidate: Candidate) -> float:
        """Returns the seconds of stateless encoders in a final fit."""
        return self.loading(candidate) + self.repeated(candidate)

    def loading(self, candidate: Candidate) -> float:
        """Returns the seconds that stateless encoders take before the first row, in each program."""
        return sum(self._loading.get(one.name, 0.0) for one in self._once(candidate))

    def begins_sample(self, candidate: Candidate, most: float) -> bool:
        """Reserves stateless encoders for a timing sample if there are any and their estimate is at most `most`."""
        new = [one for one in self._once(candidate) if one.name not in self._whole]
        begins = bool(new) and sum(map(self._of_all_rows, new)) <= most
        self._whole |= {one.name: math.inf for one in new if begins}
        return begins

    def record_sample(self, candidate: Candidate, result: FoldResult) -> None:
        """Records the seconds for all rows that a sample predicts."""
        new = [one for one in self._once(candidate) if self._whole.get(one.name) == math.inf]
        for one in new:
            self._whole.pop(one.name)
            self._loading[one.name] = result.encoding / len(new)
            self._whole[one.name] = self._of_all_rows(one) if result.note else result.shared / len(new)

    def _once(self, candidate: Candidate) -> list[Encoder]:
        """The encoders of a candidate whose features are computed once for all folds."""
        known = encoders_of(candidate, self._facts) if candidate.learner != DUMMY else []
        return [one for one in known if one.once]

    def _of_all_rows(self, encoder: Encoder) -> float:
        return self._whole.get(encoder.name, encoder.seconds(self._facts) * self._facts.folds)

    def seconds(self, candidate: Candidate) -> float:
        """Returns the measured seconds of encoding a fold, or 0."""
        return self._measured.get(self._key(candidate), 0.0)

    def record(self, candidate: Candidate, result: FoldResult) -> None:
        """Records the seconds of encoding a fold, and of a worker's part of the features that all folds share."""
        if not (key := self._key(candidate)):
            return
        self._measured[key] = max(self._measured.get(key, 0.0), result.encoding)
        once = self._once(candidate)
        for one in once:
            self._spent[one.name] = self._spent.get(one.name, 0.0) + result.shared / len(once)
            self._whole[one.name] = max(self._whole.get(one.name, 0.0), self._spent[one.name])

    def _key(self, candidate: Candidate) -> str:
        """The key of the candidate's features; empty for the dummy, which has none."""
        if candidate.name not in self._keys:
            key = encoding_key(candidate, self._blueprint) if candidate.learner != DUMMY else ""
            self._keys[candidate.name] = key
            each = encoders_of(candidate, self._facts) if key else []
            self._estimates[key] = sum(one.seconds(self._facts) for one in each if not one.once)
        return self._keys[candidate.name]


def usual_ratio(ratios: Iterable[float]) -> float:
    """The median ratio of measured to expected times, between 0.2 and 5; 1 without measurements."""
    known = list(ratios)
    return min(max(statistics.median(known), 0.2), 5.0) if known else 1.0
