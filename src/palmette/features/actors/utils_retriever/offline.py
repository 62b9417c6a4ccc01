"""Decides which of the repository's functions a view needs, and which candidates pass the proofs."""

from collections.abc import Iterator, Sequence

from palmette.engine.actor import Measurement
from palmette.features.actors.utils_retriever.candidates import Demand, UtilityCandidate
from palmette.features.actors.utils_retriever.proofs import proofs, typed_formats
from palmette.features.artefacts import Config, Need, RejectedUtility, Utilities, Utility
from palmette.features.harness.connect import ConnectHarness
from palmette.features.passed import PassedBefore
from palmette.features.repository import Checkout
from palmette.features.spec import Aggregate, Expression, Lookup, View
from palmette.features.spec.run import Destination


def prove(
    candidates: Sequence[UtilityCandidate],
    view: View,
    config: Config,
    checkout: Checkout,
    harness: ConnectHarness,
    passed: PassedBefore,
) -> list[str]:
    """Runs all proofs in one sandboxed process. Returns each candidate's failure, or an empty text.

    Args:
        passed: Probes that have passed before do not run again, and new ones are added.
    """
    jobs = [
        (index, proof)
        for index, candidate in enumerate(candidates)
        for proof in proofs(candidate, view, config)
        if passed.find(proof.probe) is None
    ]
    reasons = [""] * len(candidates)
    path = [checkout.root / part for part in checkout.python_roots]
    results = harness.probes(checkout.root, path, [proof.probe for _, proof in jobs]) if jobs else []
    for (index, proof), result in zip(jobs, results, strict=True):
        reason = proof.judge(result)
        reasons[index] = reasons[index] or reason
        if not reason:
            passed.keep(Measurement(name=proof.probe.name, status="passed"), proof.probe)
    return reasons


def demands_of(view: View, config: Config, output: Destination) -> list[Demand]:
    """The needs that the repository may meet for the script of a view."""
    formats = typed_formats(view)
    written = {"format": f'"{output.format}"'} if output.path is not None else {}
    found = [
        Demand("load_config", class_name=config.class_name),
        Demand("build_session"),
        Demand("write_table", frozenset({"partition"}) if view.partition else frozenset(), written),
    ]
    if formats:
        found.append(Demand("read_table", frozenset({"format"}) if formats != {"parquet"} else frozenset()))
    if any("/" in text for text in _expressions(view)):
        found.append(Demand("divide"))
    if _looks_up_states(view):
        found.append(Demand("latest_per_key"))
    if view.cutoff != "spine" and any(source.is_event for source in view.sources):
        windows = [feature.window for feature in view.features if feature.window is not None]
        in_days = any(window.days and not window.seconds for window in windows)
        found.append(Demand("before_cutoff", frozenset({"days"}) if in_days else frozenset()))
        found += [Demand("in_window", frozenset({"days"}))] if in_days else []
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
            yield from (step.compute or {}).values()
            if step.filter is not None:
                yield step.filter


def _looks_up_states(view: View) -> bool:
    """Whether the view looks up the newest row per key in a snapshot table."""
    looked_up = {feature.computation.table for feature in view.features if isinstance(feature.computation, Lookup)}
    looked_up |= {step.join.table for source in view.sources for step in source.steps if step.join}
    looked_up |= {source.table.name for source in view.sources}
    return any(view.tables[name].kind == "snapshot" for name in looked_up if name in view.tables)


def retrieve(candidates: Sequence[UtilityCandidate], reasons: Sequence[str]) -> Utilities:
    """Chooses the best candidate that passes its proofs for each need, and rejects those that fail, with reasons."""
    chosen: dict[Need, Utility] = {}
    rejected: list[RejectedUtility] = []
    for candidate, reason in zip(candidates, reasons, strict=True):
        if reason:
            name, module = candidate.function.dotted, candidate.module
            rejected.append(RejectedUtility(name=name, module=module, need=candidate.need, reason=reason))
        else:
            chosen.setdefault(candidate.need, candidate.utility)
    return Utilities(chosen=tuple(chosen.values()), rejected=tuple(rejected))
