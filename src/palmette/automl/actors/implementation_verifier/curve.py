"""What the strongest member would be worth, learnt from fewer rows: whether more data would help."""

from __future__ import annotations

import time

from palmette.automl.artefacts import Comparison, CurveFact
from palmette.automl.material import Material
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.project import Project

FEWEST = 50
"""Rows below which nothing is learnt from a part."""
LONGEST = 5.0
"""Seconds that the member took on all rows, above which the curve is not drawn."""
MOST = 15.0
"""Seconds for all points. A member that was stopped in time on all rows goes on to its end here, for much longer."""


def learning_curve(
    project: Project, material: Material, blueprint: Blueprint, comparison: Comparison
) -> tuple[CurveFact, ...]:
    """Scores out of fold by rows, those of all rows last; nothing where it would take too long or be too little."""
    modality = modality_of(blueprint)
    member = max(comparison.selection.members, key=lambda one: one.weight)
    lines = [line for line in comparison.leaderboard if line.name == member.name]
    counts = [round(part * len(material.train)) for part in modality.PARTS]
    if not lines or lines[0].seconds > LONGEST or min(counts, default=0) < FEWEST:
        return ()
    found, end = [], time.monotonic() + MOST
    for count in counts:
        sample, place = modality.sample(material, count), f"curve/{count}"
        project.lay_out(sample, blueprint, place)
        learning = member.model_copy(update={"weight": 1.0, "rounds": ()})
        project.fit_again([learning], blueprint, place, max(1.0, end - time.monotonic()))
        candidates = modality.candidates(project.folder / place / "again", sample).candidates
        if not candidates:
            return ()
        judge, outputs = modality.judge(sample), candidates[0].outputs
        found.append(CurveFact(rows=count, score=judge.score(outputs, judge.class_weights(outputs))))
    return (*found, CurveFact(rows=len(material.train), score=lines[0].score))
