"""The rules of the guideline writer: the chosen plan and the profile become a blueprint."""

from __future__ import annotations

from palmette.automl.artefacts import Choice, DataPlan, Knowledge, Plan, Plans, Proposal, Settings
from palmette.automl.data import Dataset
from palmette.automl.material import Material
from palmette.automl.modalities import Blueprint, Outline, draft
from palmette.automl.profile import Profile
from palmette.automl.requirements import Requirements
from palmette.documents import Model


class GuidelineInput(Model):
    requirements: Requirements
    dataset: Dataset
    profile: Profile
    choice: Choice | None = None
    proposals: tuple[Proposal, ...] = ()
    plans: Plans | None = None
    knowledge: Knowledge | None = None
    settings: Settings = Settings()
    guided: bool = True
    """False: from what is fixed alone, as if nobody had profiled the data or planned."""

    @property
    def proposal(self) -> Proposal | None:
        """What was chosen, or the first proposal where nobody chooses."""
        proposal = self.choice.proposal if self.choice else next(iter(self.proposals), None)
        return proposal if self.guided else None

    @property
    def data_plan(self) -> DataPlan | None:
        return self.proposal.data if self.proposal else None

    @property
    def plan(self) -> Plan | None:
        """That of the proposal, or the first one where none was decomposed."""
        if self.proposal:
            return self.proposal.data.plan
        return self.plans.plans[0] if self.plans and self.guided else None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Those of what was chosen, else of the first proposal, else of the first plan, in order."""
        candidates = [one.algorithm for one in self.proposal.candidates] if self.proposal else []
        return tuple(dict.fromkeys([*(self.plan.algorithms if self.plan else ()), *candidates]))


def blueprint_of(input: GuidelineInput) -> Blueprint:
    """The blueprint that follows from the chosen plan.

    Raises:
        UserError: no column is left to learn from.
    """
    return draft(outline_of(input))


def outline_of(input: GuidelineInput) -> Outline:
    """What is decided, and what follows from the chosen plan."""
    return Outline(
        requirements=input.requirements,
        dataset=input.dataset,
        profile=input.profile,
        rows=Material.of(input.dataset, input.profile).train,
        left_out=_left_out(input),
        reasons={one.column: one.reason for one in input.data_plan.treatments} if input.data_plan else {},
        algorithms=input.algorithms,
        seed=input.settings.seed,
    )


def _left_out(input: GuidelineInput) -> dict[str, str]:
    """By column that no model is given: why."""
    treatments = input.data_plan.treatments if input.data_plan else ()
    found = {one.column: one.reason for one in treatments if one.action == "drop"}
    if input.guided:
        found |= input.profile.dropped
    for one in input.requirements.dataset.excluded:
        column = input.dataset.column(one.column)
        if column is not None:
            found[column.name] = "the request excludes it"
    if input.dataset.key and input.dataset.key != input.profile.aim.target:
        found.setdefault(input.dataset.key, "it only says which row an answer is for")
    return {name: why for name, why in found.items() if input.dataset.column(name) and name != input.profile.aim.target}
