"""What the chosen model is worth where no rows were held out: by the predictions that it was chosen by."""

from __future__ import annotations

from palmette.automl.actors.implementation_verifier.asking import Told, wanted
from palmette.automl.actors.implementation_verifier.curve import learning_curve
from palmette.automl.actors.implementation_verifier.input import ImplementationInput
from palmette.automl.material import Material
from palmette.automl.modalities import modality_of
from palmette.automl.project import Project, candidates_of


def told_of_training_rows(input: ImplementationInput, project: Project, material: Material) -> Told:
    """Every metric of the whole model's verified predictions, beside those of the best baseline.

    What columns are worth is not told: that takes rows which no member has learnt from.
    """
    modality, chosen = modality_of(input.blueprint), input.comparison.selection
    judge = modality.judge(material)
    found = [one for _, one in candidates_of(project.folder, input.assembly.tracks, input.blueprint, material).values()]
    bases = [one.outputs for one in found if one.name in modality.BASELINES]
    best = max(bases, key=judge.worth, default=None)
    made = judge.predictions(chosen.outputs(found), chosen.class_weights)
    other = None if best is None else judge.predictions(best, judge.class_weights(best))
    scores = modality.scores(material.judged, made, other, wanted(input.requirements))
    return Told(tuple(scores), curve=learning_curve(project, material, input.blueprint, input.comparison))
