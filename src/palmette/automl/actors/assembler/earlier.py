"""Candidates of the round before: where plans are revised for their score, what they trained can still be chosen."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

from palmette.automl.artefacts import Assembly, Plans
from palmette.automl.candidates import Blueprint, Candidate, OwnCode
from palmette.automl.problems.registry import problem_of
from palmette.automl.samples import Samples
from palmette.automl.search.job import uses_own_code
from palmette.automl.search.results import CandidateLoad, CandidateResult, read_results
from palmette.automl.store import Store

PLANNED = {"candidates", "shares", "ensembling", "tuning", "seconds", "remarks"}
"""What another plan may change without making outputs incomparable."""
LENGTH = 8


def store_name(blueprint: Blueprint, samples: Samples, modules: Sequence[OwnCode]) -> str:
    """Equal for equal blueprints, data and code; begins alike where outputs can be compared."""
    basis = _digest(blueprint.model_dump_json(exclude=PLANNED), samples.model_dump_json())
    return f"search-{basis}-{_digest(blueprint.model_dump_json(), *(one.text for one in modules))}"


def with_earlier(load: CandidateLoad, name: str, last: Assembly, store: Store, blueprint: Blueprint) -> CandidateLoad:
    """What was trained now and, where outputs can be compared, in the round before, under a name of its own."""
    if last.store == name or last.store.split("-")[1] != name.split("-")[1]:
        return load
    before = read_results(store.folder(last.store), problem_of(blueprint), blueprint.rows)
    known = {one.candidate.name: one.candidate for one in load.trials}
    kept = [_renamed(one, known) for one in before.results if not uses_own_code(one.trial.candidate)]
    added = [one for one in kept if one.name not in known]
    return dataclasses.replace(
        load, trials=(*load.trials, *(one.trial for one in added)), results=(*load.results, *added)
    )


def revises_a_score(plans: Plans | None) -> bool:
    """Whether the round before missed nothing but a score: candidates that miss another limit are not chosen again."""
    missed = plans.rounds[-1].missed if plans and plans.rounds else ()
    return bool(missed) and all(one.quantity == "score" for one in missed)


def _renamed(result: CandidateResult, known: dict[str, Candidate]) -> CandidateResult:
    candidate = result.trial.candidate
    if known.get(candidate.name, candidate) == candidate:
        return result
    other = candidate.model_copy(update={"name": f"{candidate.name}-before"})
    return CandidateResult(result.trial.model_copy(update={"candidate": other}), result.outputs)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:LENGTH]
