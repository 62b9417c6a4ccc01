"""A finished run, told to people: artefacts and journal become the report and the model card of its delivery."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from palmette.automl.artefacts import Assembly, Assessment, Choice, Comparison, Delivery, Knowledge, Plans
from palmette.automl.data import Dataset
from palmette.automl.endpoint.folder import add
from palmette.automl.evidence import Evidence, Latency
from palmette.automl.material import Material
from palmette.automl.modalities import AnyBlueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.project import candidates_of
from palmette.automl.report.findings import Findings
from palmette.automl.report.history import bill, timeline
from palmette.automl.report.write import written
from palmette.automl.requirements import Requirements
from palmette.automl.selection import Selection
from palmette.automl.store import Store
from palmette.engine import RunResult, fold, read_journal

M = TypeVar("M", bound=BaseModel)


def describe(run: Path) -> None:
    """Writes `report.html` and `MODEL_CARD.md` of the run in a folder into what it delivered.

    Nothing is written where nothing was delivered, or the folder has another delivery by now.
    """
    entries = read_journal(run)
    result = RunResult(run, fold(entries), "finished")
    if "delivery" not in result.state.artefacts:  # a topology may end before
        return
    delivery = result.artefact("delivery", Delivery)
    members = Path(delivery.folder) / "model" / "members.json"
    chosen = result.artefact("comparison", Comparison).selection
    if not members.is_file() or Selection.model_validate_json(members.read_bytes()) != chosen:
        return
    told = replace(_evidence(result, delivery), timeline=timeline(entries), bill=bill(result.state))
    add(Path(delivery.folder), written(_findings(result, told)))


def _findings(run: RunResult, evidence: Evidence) -> Findings:
    def known(name: str, model: type[M]) -> M | None:
        return run.artefact(name, model) if name in run.state.artefacts else None

    begun = datetime.fromtimestamp(run.state.started, UTC)
    return Findings(
        requirements=run.artefact("requirements", Requirements),
        dataset=run.artefact("dataset", Dataset),
        profile=run.artefact("profile", Profile),
        assessment=run.artefact("assessment", Assessment),
        blueprint=run.artefact("blueprint", AnyBlueprint).root,
        tracks=run.artefact("assembly", Assembly).tracks,
        repairs=run.artefact("assembly", Assembly).repairs,
        comparison=run.artefact("comparison", Comparison),
        knowledge=known("knowledge", Knowledge),
        plans=known("plans", Plans),
        choice=known("choice", Choice),
        evidence=evidence,
        made=f"{begun:%-d %B %Y}, run {run.folder.name}",
    )


def _evidence(run: RunResult, delivery: Delivery) -> Evidence:
    """What was measured of the model, on the hold-out or else out of fold, and over HTTP."""
    import pandas as pd

    assessment, assembly = run.artefact("assessment", Assessment), run.artefact("assembly", Assembly)
    blueprint, chosen = run.artefact("blueprint", AnyBlueprint).root, run.artefact("comparison", Comparison).selection
    material = Material.of(run.artefact("dataset", Dataset), run.artefact("profile", Profile))
    fitted, modality = Store(run.folder / "fitted").folder(assembly.store), modality_of(blueprint)
    found = [one for _, one in candidates_of(fitted, assembly.tracks, blueprint, material).values()]
    made = None
    if assessment.answers is not None:
        said = pd.read_csv(io.StringIO(assessment.answers.text), dtype=str, keep_default_na=False)
        made = modality.predictions(said, len(material.holdout))
    elif not len(material.holdout):
        made = modality.judge(material).predictions(chosen.outputs(found), chosen.class_weights)
    latency = Latency(delivery.p50, delivery.p95) if delivery.p50 else None
    return replace(modality.evidence(material.judged, made, found, chosen.best_single), latency=latency)
