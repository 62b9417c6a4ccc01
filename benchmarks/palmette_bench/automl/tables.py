"""Tables in Markdown, made from records alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, stdev

import numpy as np
from scipy.stats import rankdata, studentized_range

from palmette_bench.automl.records import Cell, Record
from palmette_bench.automl.sets import bench_set
from palmette_bench.automl.studies import STUDIES

PUBLISHED = {
    ("free", "SR"): 1.0, ("free", "NPS"): 0.804, ("free", "CS"): 0.902,
    ("aware", "SR"): 0.871, ("aware", "NPS"): 0.810, ("aware", "CS"): 0.841,
}  # fmt: skip
"""AutoML-Agent's averages (its tables 6 to 8)."""
Figure = Callable[[Record], float]
FIGURES: dict[str, Figure] = {
    "SR": lambda one: one.success, "NPS": lambda one: one.normalised, "CS": lambda one: one.comprehensive,
}  # fmt: skip
DRAWS = 10_000
CLOSE = 0.002
"""Difference of two scores that does not count."""


def table(study: str, records: Iterable[Record]) -> str:
    """The table of a study, with what went wrong below it."""
    found = [one for one in records if one.cell.study == study]
    if not found:
        return f"No runs of the study {study!r}.\n"
    match study:
        case "agent":
            lines = _agent(found)
        case "peers":
            lines = _peers(found)
        case _:
            lines = _by(found, STUDIES[study].row)
    return "\n".join([*lines, "", *_costs(found), *_failures(found), ""])


def _agent(records: Sequence[Record]) -> Iterator[str]:
    settings = [one for one in ("free", "aware") if any(record.cell.setting == one for record in records)]
    heads = [f"{setting} {name}" for setting in settings for name in FIGURES]
    yield from _head("set", "AutoML-Agent's set", *heads)
    for name in dict.fromkeys(one.cell.set for one in records):
        one, mine = bench_set(name), [record for record in records if record.cell.set == name]
        cells = [_mean(mine, setting, figure) for setting in settings for figure in FIGURES.values()]
        yield _row(name, one.agent + (" (stand-in)" if one.stands_in else ""), *cells)
    yield _row("**mean**", "", *(_mean(records, setting, one) for setting in settings for one in FIGURES.values()))
    published = (f"{PUBLISHED[setting, name]:.3f}" for setting in settings for name in FIGURES)
    yield _row("AutoML-Agent, published", "", *published)


def _mean(records: Iterable[Record], setting: str, figure: Figure) -> str:
    """Mean over sets and prompts, with the deviation between seeds."""
    by_seed: dict[int, list[float]] = {}
    for one in records:
        if one.cell.setting == setting:
            by_seed.setdefault(one.cell.seed, []).append(figure(one))
    means = [fmean(values) for values in by_seed.values()]
    return f"{fmean(means):.3f}" + (f" (±{stdev(means):.3f})" if len(means) > 1 else "") if means else "–"


def _by(records: Sequence[Record], row: Callable[[Cell], str]) -> Iterator[str]:
    has_own = any(one.cell.faults for one in records)
    own = ("own code kept", "repairs") if has_own else ()
    yield from _head("", "runs", "valid", "APS", "better than the baseline", "median seconds", *own)
    names = list(dict.fromkeys(row(one.cell) for one in records))
    for name in names:
        mine = [one for one in records if row(one.cell) == name]
        valid = [one for one in mine if one.outcome == "delivered"]
        better = fmean(bool(one.better) for one in valid) if valid else 0.0
        seconds = float(np.median([one.seconds for one in mine]))
        yield _row(name, len(mine), f"{len(valid) / len(mine):.0%}", f"{fmean(one.normalised for one in mine):.3f}",
                   f"{better:.0%}", f"{seconds:.0f}", *(_own(mine) if has_own else ()))  # fmt: skip
    scores = _scores(records, names, row)
    if len(names) > 1 and scores:
        yield from ("", *_differences(names, np.array([*scores.values()])))


def _own(records: Sequence[Record]) -> tuple[str, str]:
    written = [one for one in records if one.own]
    kept = f"{fmean(one.own == 'kept' for one in written):.0%} of {len(written)}" if written else "–"
    return kept, f"{fmean(one.repairs for one in records):.1f}"


def _scores(records: Iterable[Record], names: Sequence[str], row: Callable[[Cell], str]) -> dict[str, list[float]]:
    """By set that all rows have: the mean score of each row."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in records:
        found.setdefault(one.cell.set, {}).setdefault(row(one.cell), []).append(one.normalised)
    whole = {name: by_row for name, by_row in found.items() if len(by_row) == len(names)}
    return {name: [fmean(by_row[one]) for one in names] for name, by_row in whole.items()}


def _peers(records: Sequence[Record]) -> Iterator[str]:
    systems = list(dict.fromkeys(one.cell.system for one in records))
    scores = _scores(records, systems, lambda cell: cell.system)
    yield from _head("set", "metric", *systems)
    for name, row in scores.items():
        yield _row(name, bench_set(name).metric, *(f"{value:.3f}" for value in row))
    if scores:
        matrix = np.array([*scores.values()])
        yield _row("**mean NPS**", "", *(f"{value:.3f}" for value in matrix.mean(axis=0)))
        yield from ("", *_differences(systems, matrix))


def _differences(names: Sequence[str], matrix: np.ndarray) -> Iterator[str]:
    """Paired bootstrap over sets against the first row, mean ranks, and Nemenyi's critical difference of these."""
    count, size = len(names), len(matrix)
    critical = studentized_range.ppf(0.95, count, np.inf) / np.sqrt(2) * np.sqrt(count * (count + 1) / (6 * size))
    ranks = np.array([rankdata(-row.round(4)) for row in matrix]).mean(axis=0)
    draws = np.random.default_rng(0).integers(size, size=(DRAWS, size))
    yield from _head("", f"against {names[0]} (95 %)", f"sets within {CLOSE} of it, or better", "mean rank")
    for at, name in enumerate(names):
        gains = matrix[:, at] - matrix[:, 0]
        low, high = np.quantile(gains[draws].mean(axis=1), (0.025, 0.975))
        yield _row(name, f"{gains.mean():+.4f} ({low:+.4f} to {high:+.4f})", f"{(gains >= -CLOSE).mean():.0%}",
                   f"{ranks[at]:.2f}")  # fmt: skip
    yield from ("", f"{size} sets; critical difference of mean ranks (5 %): {critical:.2f}.")


def _costs(records: Sequence[Record]) -> Iterator[str]:
    first, mine = records[0], [one for one in records if one.cell.system == "palmette"]
    if mine:
        yield (
            f"Per run: {fmean(one.seconds for one in mine):.0f} s, {fmean(one.calls for one in mine):.1f} calls, "
            f"{fmean(one.tokens for one in mine):,.0f} tokens, ${fmean(one.money for one in mine):.3f} "
            "(AutoML-Agent, published: 538 s and $0.27 free, 512 s and $0.32 aware)."
        )
    yield f"{len(records)} runs, commit {first.commit}, {first.machine}, {min(one.date for one in records)}."


def _failures(records: Sequence[Record]) -> Iterator[str]:
    wrong = [one for one in records if one.outcome != "delivered" or one.constraints in ("partly", "fail")]
    if wrong:
        yield from ("", "Not delivered, or a constraint missed:", "")
    for one in wrong:
        cell, reason = one.cell, " ".join(one.reason.split())[:160] or f"constraint: {one.constraints}"
        yield f"- {cell.set}, {cell.system}, {cell.setting}, {cell.wording}, seed {cell.seed}: {one.outcome}; {reason}"


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|---" * len(names) + "|"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
