"""Tunes settings once all candidates are trained, with Optuna's TPE and one study for each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palmette.automl.candidates import Candidate
from palmette.automl.composition import learner_named
from palmette.automl.encoders.encoder import DataFacts

if TYPE_CHECKING:
    import optuna

START = 6  # random trials before the sampler starts to learn
MOST_TRIALS = 400
MARK = "-tuned-"  # part of the name of a candidate whose settings were tuned
TURNS = 3  # every third turn tunes the second-best learner, the others the best
PATIENCE = 12  # settings of a learner without a gain after which others are tuned
LEAST_GAIN = 1e-3  # gain, as a share of the learner's best score


class Tuner:
    """Suggests settings for the best learner that still gains by them, and every third time for the second-best."""

    def __init__(self, facts: DataFacts, seed: int) -> None:
        self.facts, self.seed = facts, seed
        self.count = 0
        self._best: dict[str, float] = {}
        self._without_gain = Counter[str]()
        self._studies: dict[str, optuna.Study] = {}
        self._asked: dict[str, tuple[str, optuna.Trial]] = {}

    def ask(self, ranked: Sequence[Candidate]) -> Candidate | None:
        """Returns a candidate with new settings, or None. `ranked` lists the tunable candidates, best first."""
        if not ranked or self.count >= MOST_TRIALS:
            return None
        import optuna

        gaining = [one for one in ranked if self._without_gain[one.learner] < PATIENCE] or ranked
        others = [one for one in gaining if one.learner != gaining[0].learner]
        base = others[0] if others and self.count % TURNS == TURNS - 1 else gaining[0]
        if base.learner not in self._studies:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=START)
            self._studies[base.learner] = optuna.create_study(direction="maximize", sampler=sampler)
        trial = self._studies[base.learner].ask()
        found = learner_named(base.learner).space(trial, self.facts)
        if not found:  # nothing to search: its turns go to the others
            return self.ask([one for one in ranked if one.learner != base.learner])
        rounded = {key: float(f"{one:.4g}") if isinstance(one, float) else one for key, one in found.items()}
        self.count += 1
        update = {
            "name": f"{base.learner}{MARK}{self.count}",
            "settings": {**base.settings, **rounded},
            "reason": f"settings of {base.name} searched",
        }
        made = base.model_copy(update=update)
        self._asked[made.name] = (base.learner, trial)
        return made

    def tell(self, name: str, score: float | None, first_fold: float | None) -> None:
        """Reports the score of a candidate, or that of its first fold if it was stopped."""
        import optuna

        learner, trial = self._asked.pop(name)
        study = self._studies[learner]
        self._without_gain[learner] += 1
        if score is not None:
            study.tell(trial, score)
            best = self._best.get(learner)
            if best is None or score - best > LEAST_GAIN * abs(best):
                self._best[learner], self._without_gain[learner] = score, 0
        elif first_fold is not None:
            trial.report(first_fold, step=0)
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
