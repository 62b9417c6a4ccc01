"""Settings that are searched once all candidates are trained: Optuna's TPE, one study for each tuned candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from palmette.automl.candidates import Candidate
from palmette.automl.composition import learner_named
from palmette.automl.encoders.encoder import DataFacts

if TYPE_CHECKING:
    import optuna

START = 6
"""Settings drawn at random before the sampler has something to learn from."""
MOST_TRIALS = 400
MARK = "-tuned-"
"""In the names of candidates whose settings were searched."""
TURNS = 3
"""Of so many turns the last is the second best candidate's, the others are the leader's."""


def is_tuned(candidate: Candidate) -> bool:
    """Whether a candidate's settings were searched."""
    return MARK in candidate.name


class Tuner:
    """Asks for settings, two turns for the leading candidate and one for the second."""

    def __init__(self, facts: DataFacts, seed: int) -> None:
        self.facts, self.seed = facts, seed
        self.count = 0
        self._studies: dict[str, optuna.Study] = {}
        self._asked: dict[str, tuple[str, optuna.Trial]] = {}

    def ask(self, ranked: Sequence[Candidate]) -> Candidate | None:
        """A candidate with other settings, of tuned candidates with the best first; None where there is none."""
        if not ranked or self.count >= MOST_TRIALS:
            return None
        others = [one for one in ranked if one.learner != ranked[0].learner]
        base = others[0] if others and self.count % TURNS == TURNS - 1 else ranked[0]
        study = self._study(base.learner)
        trial = study.ask()
        found = learner_named(base.learner).space(trial, self.facts)
        if not found:
            return None
        self.count += 1
        update = {
            "name": f"{base.learner.replace('_', '')}{MARK}{self.count}",
            "settings": {**base.settings, **found},
            "reason": f"settings of {base.name} searched",
        }
        made = base.model_copy(update=update)
        self._asked[made.name] = (base.learner, trial)
        return made

    def tell(self, name: str, score: float | None, first_fold: float | None) -> None:
        """The score of a candidate; of one that was stopped, that of its first fold."""
        import optuna

        learner, trial = self._asked.pop(name)
        study = self._studies[learner]
        if score is not None:
            study.tell(trial, score)
        elif first_fold is not None:
            trial.report(first_fold, step=0)
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)

    def _study(self, learner: str) -> optuna.Study:
        import optuna

        if learner not in self._studies:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=START)
            self._studies[learner] = optuna.create_study(direction="maximize", sampler=sampler)
        return self._studies[learner]
