"""Decides which of the repository's functions a view needs, and which candidates pass the proofs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from palmette.features.actors.utils_retriever.candidates import Demand, UtilityCandidate, unfit
from palmette.features.actors.utils_retriever.proofs import ProofContext, proofs
from palmette.features.artefacts import Config, Need, RejectedUtility, Utilities, Utility
from palmette.features.harness.connect import CaseResult, HarnessProbe
from palmette.features.repository import Checkout
from palmette.features.spec.fsc import Aggregate, Expression, Lookup
from palmette.features.spec.fsc_steps import ComputeStep, FilterStep, JoinStep
from palmette.features.spec.run import Destination
from palmette.features.spec.view import View


class Probes(Protocol):
    """The part of the harness that the proofs use."""

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[HarnessProbe]) -> list[CaseResult]: ...


class RememberedProbes:
    """Caches probe results, because the repository does not change during a run.

    A probe that ended in an error runs again, because the machine may have caused the error.
    """

    def __init__(self, harness: Probes) -> None:
        self._harness = harness
        self._known: dict[str, CaseResult] = {}

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[HarnessProbe]) -> list[CaseResult]:
        keys = [f"{root} {probe!r}" for probe in probes]
        new = {key: probe for key, probe in zip(keys, probes, strict=True) if key not in self._known}
        answers: dict[str, CaseResult] = {}
        if new:
            results = self._harness.probes(root, python_path, list(new.values()))
            answers = dict(zip(new, results, strict=True))
            self._known.update((key, result) for key, result in answers.items() if not result.error)
        return [self._known.get(key) or answers[key] for key in keys]


def demands_of(view: View, config: Config, output: Destination) -> list[Demand]:
    """The needs that the repository may meet for the script of a view."""
    formats = _formats(view)
    reads = Demand("read_table", frozenset({"format"}) if formats != {"parquet"} else frozenset())
    written = {"format": f'"{output.format}"'} if output.path is not None else {}
    found = [
        Demand("load_config", class_name=config.class_name),
        Demand("build_session"),
        Demand("write_table", frozenset({"partition"}) if view.partition else frozenset(), written),
    ]
    if formats:
        found.append(reads)
    if any("/" in text for text in _expressions(view)):
        found.append(Demand("divide"))
    if _looks_up_states(view):
        found.append(Demand("latest_per_key"))
    if view.cutoff != "spine" and any(source.is_event for source in view.sources):
        windows = [feature.window for feature in view.features if feature.window is not None]
        in_days = any(window.days and not window.seconds for window in windows)
        found.append(Demand("before_cutoff", frozenset({"days"}) if in_days else frozenset()))
    return found


def _expressions(view: View) -> Iterator[str]:
    for feature in view.features:
        yield feature.derive or ""
        computation = feature.computation
        if isinstance(computation, Aggregate):
            yield from filter(None, (computation.of, computation.where, computation.weight, computation.rank_by))
        elif isinstance(computation, Expression):
            yield from filter(None, (computation.sql, computation.where))
    for source in view.sources:
        for step in source.steps:
            if isinstance(step, ComputeStep):
                yield from step.compute.values()
            elif isinstance(step, FilterStep):
                yield step.filter


def _looks_up_states(view: View) -> bool:
    """Whether the view looks up the newest row per key in a snapshot table."""
    looked_up = {feature.computation.table for feature in view.features if isinstance(feature.computation, Lookup)}
    looked_up |= {step.join.table for source in view.sources for step in source.steps if isinstance(step, JoinStep)}
    looked_up |= {source.table.name for source in view.sources}
    return any(view.tables[name].kind == "snapshot" for name in looked_up if name in view.tables)


def _formats(view: View) -> set[str]:
    """Formats that store types; for other formats, scripts apply the registry's schema."""
    return {str(table.format) for table in view.tables.values() if table.path is not None} & {
        "parquet",
        "orc",
    }


def setting_of(view: View, config: Config, output: Destination) -> ProofContext:
    return ProofContext(
        zone=view.zone,
        formats=tuple(sorted(_formats(view))),
        output_format=output.storage,
        partitioned=view.partition is not None,
        config=config,
    )


def retrieve(
    checkout: Checkout,
    demands: Sequence[Demand],
    candidates: Sequence[UtilityCandidate],
    setting: ProofContext,
    harness: Probes,
) -> Utilities:
    """Chooses the best candidate that passes its proofs for each need, and rejects those that fail, with reasons.

    If no candidate is left, functions that the team's scripts use but that this script cannot call are reported, too.
    """
    chosen: dict[Need, Utility] = {}
    rejected: list[RejectedUtility] = []
    for candidate, reason in zip(candidates, prove(candidates, setting, checkout, harness), strict=True):
        if reason:
            name, module = candidate.qualified, candidate.module
            rejected.append(RejectedUtility(name=name, module=module, need=candidate.need, reason=reason))
        else:
            chosen.setdefault(candidate.need, candidate.utility)
    judged = {(candidate.module, candidate.function.name) for candidate in candidates}
    open_demands = [demand for demand in demands if demand.need not in chosen]
    rejected += [one for one in unfit(checkout, open_demands) if (one.module, one.name) not in judged]
    return Utilities(chosen=tuple(chosen.values()), rejected=tuple(rejected))


def prove(
    candidates: Sequence[UtilityCandidate], setting: ProofContext, checkout: Checkout, harness: Probes
) -> list[str]:
    """Runs all proofs in one sandboxed process. Returns each candidate's failure, or an empty text."""
    if not candidates:
        return []
    jobs = [(index, proof) for index, candidate in enumerate(candidates) for proof in proofs(candidate, setting)]
    path = [checkout.root / part for part in checkout.python_roots]
    results = harness.probes(checkout.root, path, [proof.probe for _, proof in jobs])
    reasons = [""] * len(candidates)
    for (index, proof), result in zip(jobs, results, strict=True):
        reasons[index] = reasons[index] or proof.judge(result)
    return reasons
