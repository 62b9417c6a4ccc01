"""Whether models predict rows from others alone: a repeated fit, which is not told their targets, says the same.

A fit may look at the targets of its validation rows to stop early, and out-of-fold predictions are of the same rows.
All that may follow is the number of rounds; so a fit with that number, told other rows' targets in their place, repeats
the predictions, or has learnt what it is to predict.
"""

from __future__ import annotations

import numpy as np

from palmette.automl.material import Material
from palmette.automl.measure.metrics import Floats
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.project import Project
from palmette.automl.selection import Found, Member
from palmette.engine import Violation

SAME = 0.01
"""Share of their spread by which repeated predictions may differ, on average: threads add numbers in any order."""
SECONDS = 180.0
PLACE = "sample"


def unrepeated(
    project: Project, track: str, found: Found, sample: Material, blueprint: Blueprint
) -> Violation | None:
    """The candidates of a track on the sample that a repeated fit contradicts; None where there are none.

    Those without rounds, a number or none for each fold, were not fitted beside validation rows.
    """
    first = {one.name: one for one in found.candidates if one.trial.rounds}
    if not first:
        return None
    done = project.fit_again(map(Member.of, first.values()), blueprint, PLACE, SECONDS)
    again = modality_of(blueprint).candidates(project.folder / PLACE / "again", sample)
    outputs = {one.name: one.outputs for one in again.candidates}
    apart = {name: _apart(one.outputs, outputs[name]) for name, one in first.items() if name in outputs}
    told = [f"{name} (off by {share:.0%} of their spread)" for name, share in apart.items() if share > SAME]
    told += [f"{name} (it fails)" for name in first if name not in outputs][:1]  # which ends the program
    if not told:
        return None
    notes = [f"{trial.name}: {trial.note}" for trial in again.trials if trial.note]
    message = (
        f"{track} predicts validation rows otherwise where it is told other targets of them: {', '.join(told)}. Only "
        "`rounds` may follow from these targets; with as many rounds and the same seed a fit is the same again."
    )
    evidence = "\n".join([*notes, done.stderr, done.note])[-4000:]
    return Violation(code="contract-misused", message=message, evidence=evidence, subject=f"models/{track}.py")


def _apart(first: Floats, second: Floats) -> float:
    """By how much outputs differ on average, in their standard deviation."""
    off = float(np.abs(first - second).mean())
    return off / max(float(first.std()), 1e-12) if off else 0.0
