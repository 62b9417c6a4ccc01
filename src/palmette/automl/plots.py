"""Small plots as SVG. The style sheet sets colours and type, so plots follow light, dark and print mode."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from palmette.automl.formatting import MINUS, clean, short
from palmette.automl.measure.metrics import Floats

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 24, 40
TICKS = 5
LABEL = 36  # most characters of an axis label
MOST_POINTS = 250  # most points of a line; others are dropped evenly
LEVELS = 9  # levels of shading


class Axis(NamedTuple):
    """An axis of a plot."""

    label: str
    low: float
    high: float
    is_share: bool = False  # whether ticks are percentages
    is_whole: bool = False

    def at(self, values: Floats) -> Floats:
        """Positions of values on the axis, 0 to 1 inside its range."""
        given = np.asarray(values, dtype=float)
        return (given - self.low) / (self.high - self.low) if self.high > self.low else np.full(given.shape, 0.5)

    def ticks(self) -> list[float]:
        """Round numbers within the range."""
        span = self.high - self.low
        if span <= 0 or not math.isfinite(span):
            return [self.low]
        raw = span / (TICKS - 1)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
        step = max(1.0, round(step)) if self.is_whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def shown(self, tick: float) -> str:
        """The label of a tick."""
        if self.is_share:
            return f"{100 * tick:.0f} %"
        for size, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
            if max(abs(self.low), abs(self.high)) >= size:
                return f"{tick / unit:.4g}{letter if tick else ''}".replace("-", MINUS)
        return f"{0.0 if abs(tick) < 1e-12 * (self.high - self.low) else tick:.4g}".replace("-", MINUS)


class Figure(NamedTuple):
    """A plot with title, caption and legend."""

    title: str
    drawing: Markup
    caption: str
    keys: tuple[tuple[str, str], ...] = ()  # the legend: kinds of lines and their meaning


def around(values: Iterable[float], margin: float = 0.04) -> tuple[float, float]:
    """The range of the finite values with a margin; never empty."""
    known = np.array([one for one in values if math.isfinite(one)])
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    size = max(abs(low), abs(high))
    is_spread = high - low > 1e-9 * size and size > 1e-300
    more = margin * (high - low) if is_spread else 0.5 * size + 0.5 * (size <= 1e-300)
    return low - more, high + more


class Plot:
    """A plot with two axes; later parts cover earlier ones."""

    def __init__(self, description: str, x: Axis, y: Axis) -> None:
        """`description` is the text for screen readers."""
        self.description, self.x, self.y = description, x, y
        self._parts: list[Markup] = []

    def line(self, xs: Floats, ys: Floats, kind: str = "c0", title: str = "") -> None:
        """A line through the finite points, in the colour of `kind`."""
        xs, ys = _known(xs, ys)
        points = zip(self._x(_thinned(xs)), self._y(_thinned(ys)), strict=True)
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        inside = Markup("<title>{}</title>").format(clean(title)) if title else ""
        self._parts.append(Markup('<path class="line {}" d="{}">{}</path>').format(kind, path, inside))

    def dots(self, xs: Floats, ys: Floats, kind: str = "c0", size: str = "dot") -> None:
        """A dot for each finite point; `size` is `dot`, or `point` for larger ones."""
        xs, ys = _known(xs, ys)
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in zip(self._x(xs), self._y(ys), strict=True))
        self._parts.append(Markup('<path class="{} {}" d="{}"/>').format(size, kind, path))

    def band(self, xs: Floats, lows: Floats, highs: Floats, kind: str = "c1") -> None:
        """The area between two lines."""
        around = np.concatenate([self._x(xs), self._x(xs)[::-1]]), np.concatenate([self._y(lows), self._y(highs)[::-1]])
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(*around, strict=True)) + "Z"
        self._parts.append(Markup('<path class="band {}" d="{}"/>').format(kind, path))

    def whiskers(self, xs: Floats, lows: Floats, highs: Floats) -> None:
        """A vertical line for each interval."""
        ends = zip(self._x(np.asarray(xs)), self._y(np.asarray(lows)), self._y(np.asarray(highs)), strict=True)
        path = "".join(f"M{x:.1f} {low:.1f}V{high:.1f}" for x, low, high in ends)
        self._parts.append(Markup('<path class="whisker c0" d="{}"/>').format(path))

    def svg(self) -> Markup:
        ground, xs, ys = HEIGHT - BOTTOM, self.x.ticks(), self.y.ticks()
        axes = [Markup('<path class="axis" d="M{} {}H{}"/>').format(LEFT, ground, WIDTH - RIGHT)]
        text = Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
        for tick, x in zip(xs, self._x(np.array(xs)), strict=True):
            axes.append(text.format(float(x), ground + 14, self.x.shown(tick)))
        name = Markup('<text class="name" x="{}" y="{}" {}>{}</text>')
        end = Markup('text-anchor="end"')
        axes.append(name.format(WIDTH - RIGHT, HEIGHT - 8, end, short(self.x.label, LABEL)))
        grid = Markup('<path class="grid" d="M{} {:.1f}H{}"/><text class="tick" x="{}" y="{:.1f}" {}>{}</text>')
        for tick, y in zip(ys, self._y(np.array(ys)), strict=True):
            axes.append(grid.format(LEFT, float(y), WIDTH - RIGHT, LEFT - 6, float(y) + 3.5, end, self.y.shown(tick)))
        axes.append(Markup('<text class="name" x="4" y="12">{}</text>').format(short(self.y.label, LABEL)))
        inside = Markup("").join([*axes, *self._parts])
        whole = Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
        return whole.format(WIDTH, HEIGHT, clean(self.description), inside)

    def _x(self, values: Floats) -> Floats:
        return LEFT + np.clip(self.x.at(values), -0.01, 1.01) * (WIDTH - LEFT - RIGHT)

    def _y(self, values: Floats) -> Floats:
        return HEIGHT - BOTTOM - np.clip(self.y.at(values), -0.01, 1.01) * (HEIGHT - TOP - BOTTOM)


def _known(xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
    xs, ys = np.asarray(xs, float), np.asarray(ys, float)
    known = np.isfinite(xs) & np.isfinite(ys)
    return xs[known], ys[known]


def _thinned(values: Floats) -> Floats:
    if len(values) <= MOST_POINTS:
        return values
    kept: Floats = values[np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int))]
    return kept


def _clipped(part: float) -> float:
    """A share as a percentage within 0 to 100."""
    return 100 * min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0


def bar(part: float, kind: str = "c0") -> Markup:
    """A bar over a share of a table cell."""
    drawn = '<svg class="bar" aria-hidden="true"><rect class="fill {}" width="{:.1f}%" height="100%"/></svg>'
    return Markup(drawn).format(kind, _clipped(part))


def interval_bar(value: float, low: float, high: float, span: tuple[float, float], kind: str) -> Markup:
    """A dot with its interval in a table cell whose ends are `span`."""
    start, end = span
    places = [2 + 0.96 * _clipped((one - start) / (end - start) if end != start else 0.5) for one in (low, high, value)]
    drawn = Markup(
        '<svg class="range {}" aria-hidden="true"><line class="track" x1="0" x2="100%" y1="50%" y2="50%"/>'
        '<line class="span" x1="{:.1f}%" x2="{:.1f}%" y1="50%" y2="50%"/><circle cx="{:.1f}%" cy="50%" r="4"/></svg>'
    )
    return drawn.format(kind, *places)


def level(part: float) -> int:
    """The shading level of a share; 0 for none."""
    return 0 if not part > 0 else 1 + min(LEVELS - 1, int(LEVELS * min(1.0, part)))
