"""The final fit: the package of a selection and that of the best baseline, fitted side by side in the sandbox."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from palmette.automl.artefacts import LeaderboardRow
from palmette.automl.blame import located
from palmette.automl.candidates import Blueprint, Candidate, OwnCode
from palmette.automl.project import BuiltPackage, write_package
from palmette.automl.samples import DataSplits
from palmette.automl.store import Store
from palmette.automl.trials import Selection
from palmette.engine import TextFile, Violation
from palmette.sandbox import Sandbox

MOST_SECONDS = 600.0
"""For a fit, at least; a longer one may take some times what is expected."""
PATIENCE = 5.0


@dataclass(frozen=True)
class Fitted:
    """A package with its fitted model."""

    name: str
    """Of its folder in the store."""
    files: tuple[TextFile, ...]
    seconds: float


@dataclass(frozen=True)
class Fitter:
    """Writes packages into the store and fits them on all training rows."""

    store: Store
    sandbox: Sandbox
    blueprint: Blueprint
    splits: DataSplits
    modules: tuple[OwnCode, ...]
    scratch: Path
    expected: float
    """Seconds that the fit is expected to take."""

    def fitted(
        self, chosen: Selection, baseline: Selection | None, leaderboard: Sequence[LeaderboardRow]
    ) -> tuple[Fitted | Violation, Fitted | Violation | None]:
        """Both packages; why one could not be fitted."""
        package = self._written(chosen, leaderboard)
        if baseline is None or baseline.members == chosen.members:
            made = self._fit(package, "package")
            return made, None if baseline is None else made
        with ThreadPoolExecutor(2) as beside:
            other = beside.submit(self._fit, self._written(baseline, ()), "baseline")
            return self._fit(package, "package"), other.result()

    def _written(self, selection: Selection, leaderboard: Sequence[LeaderboardRow]) -> tuple[TextFile, ...]:
        modules = used_modules([one.candidate for one in selection.members], self.modules)
        return write_package(self.blueprint, selection, modules, leaderboard)

    def _fit(self, files: tuple[TextFile, ...], kind: str) -> Fitted | Violation:
        digest = hashlib.sha256("\0".join(one.text for one in files).encode()).hexdigest()[:12]
        name = f"{kind}-{digest}"
        package = BuiltPackage(self.store.fresh(name), self.sandbox, self.blueprint)
        package.write(files)
        started = time.monotonic()
        limit = max(MOST_SECONDS, PATIENCE * self.expected)
        done = package.fit(self.splits.train, self.scratch / kind, limit)
        if done.ok:
            return Fitted(name, files, time.monotonic() - started)
        last = (done.stderr.strip().splitlines() or [done.note])[-1]
        message = f"The final fit of the {kind} fails: {last[:300]}"
        wrong = Violation(code="fit-failed", message=message, evidence=done.stderr[-4000:], subject="train.py")
        return located([wrong], package.folder, self.modules)[0]


def fit_seconds(seconds: float, folds: int) -> float:
    """What a candidate's fit on all rows is expected to take, by the seconds of all its folds."""
    return seconds / (folds - 1)


def used_modules(candidates: Sequence[Candidate], modules: Sequence[OwnCode]) -> tuple[OwnCode, ...]:
    """The modules whose classes candidates use."""
    stems = {path.partition(".")[0] for one in candidates for path in (one.features, one.learner) if "." in path}
    return tuple(one for one in modules if Path(one.path).stem in stems)
