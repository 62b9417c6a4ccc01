"""The plots of a study, as PNG: as the paper's, with the published figures beside the measured ones."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from palmette_bench.featbench.metrics import ORDER
from palmette_bench.featbench.records import ActorTally

COLOURS = {"offline": "#1b7f5c", "model": "#6a4c93", "sequential": "#3b6ea5", "random": "#d98b2b"}
GREY, RED = "#b8b8b8", "#c0504d"
NAMES = {"offline": "planner-guided (rules)", "model": "planner-guided (model)"}


class Curve(NamedTuple):
    """A curve with the interval of each of its points."""

    planner: str
    xs: Sequence[float]
    ys: Sequence[float]
    bounds: Sequence[tuple[float, float]] = ()


def named(planner: str) -> str:
    return NAMES.get(planner, planner)


def success_bars(measured: Mapping[str, tuple[float, tuple[float, float]]], published: Mapping[str, float]) -> bytes:
    """The share of successful runs of each planner, beside the published one."""

    def draw(axes: Axes) -> None:
        for index, (planner, (share, (low, high))) in enumerate(measured.items()):
            spread = [[max(0.0, share - low)], [max(0.0, high - share)]]
            colour = COLOURS.get(planner, GREY)
            axes.bar(index - 0.2, share, 0.38, color=colour, yerr=spread, capsize=4, ecolor="#444")
            axes.annotate(f"{share:.2f}", (index - 0.2, 0.02), ha="center", color="white", fontsize=9)
            if planner in published:
                axes.bar(index + 0.2, published[planner], 0.38, color=GREY)
                axes.annotate(f"{published[planner]:.2f}", (index + 0.2, 0.02), ha="center", fontsize=9)
        axes.set_xticks(range(len(measured)), [named(planner) for planner in measured])
        axes.set(ylabel="successful runs", ylim=(0, 1.08))
        axes.bar(0, 0, color=GREY, label="published")
        axes.bar(0, 0, color=COLOURS["offline"], label="measured, 95 % interval")

    return _figure(draw, (7, 4))


def rates(rows: Sequence[tuple[str, float, float, float]]) -> bytes:
    """By task: name, published failure rate and its deviation, measured failure rate."""

    def draw(axes: Axes) -> None:
        places = list(range(len(rows)))[::-1]
        for place, (_, published, deviation, measured) in zip(places, rows, strict=True):
            axes.barh(place + 0.2, published, 0.38, color=GREY, xerr=deviation, ecolor="#888", capsize=3)
            axes.barh(place - 0.2, measured, 0.38, color=COLOURS["offline"])
        axes.set_yticks(places, [row[0] for row in rows], fontsize=8)
        axes.set(xlabel="share of failed attempts", xlim=(0, 1))
        axes.barh(0, 0, color=GREY, label="published, with deviation")
        axes.barh(0, 0, color=COLOURS["offline"], label="measured")

    return _figure(draw, (7.5, 1.2 + 0.42 * max(3, len(rows))))


def actors(tallies: Mapping[str, ActorTally]) -> bytes:
    """Successes and failures of each actor."""

    def draw(axes: Axes) -> None:
        names = [name for name in ORDER if name in tallies]
        good = [tallies[name].successes for name in names]
        bad = [tallies[name].failures for name in names]
        axes.bar(names, good, color=COLOURS["offline"], label="attempts that met the criterion")
        axes.bar(names, bad, bottom=good, color=RED, label="attempts that did not")
        for index, (one, other) in enumerate(zip(good, bad, strict=True)):
            for height, middle in ((one, one / 2), (other, one + other / 2)):
                if height > 0.06 * max(a + b for a, b in zip(good, bad, strict=True)):
                    axes.annotate(str(height), (index, middle), ha="center", va="center", color="white", fontsize=9)
        axes.set_xticks(range(len(names)), [name.replace("_", "\n") for name in names], fontsize=9)
        axes.set(ylabel="attempts")

    return _figure(draw, (7.5, 4.4))


def curves(lines: Sequence[Curve], label: str) -> bytes:
    """The share of successful runs along what is varied."""

    def draw(axes: Axes) -> None:
        for line in lines:
            colour = COLOURS.get(line.planner, GREY)
            axes.plot(line.xs, line.ys, color=colour, marker="o", markersize=4, label=named(line.planner))
            if line.bounds:
                lows, highs = zip(*line.bounds, strict=True)
                axes.fill_between(line.xs, lows, highs, color=colour, alpha=0.12, linewidth=0)
        axes.set(xlabel=label, ylabel="successful runs", ylim=(-0.02, 1.04))
        if all(float(x).is_integer() for line in lines for x in line.xs):
            axes.set_xticks(sorted({x for line in lines for x in line.xs}))

    return _figure(draw, (7, 4))


def _figure(draw: Callable[[Axes], None], size: tuple[float, float]) -> bytes:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    draw(axes)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    return out.getvalue()
