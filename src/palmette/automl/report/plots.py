"""Small plots as SVG, whose colours and type are the style sheet's: they follow its light, dark and printed forms.

A plot is drawn at the size at which a phone shows it, and only ever enlarged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from palmette.automl.measure.metrics import Floats
from palmette.automl.wording import MINUS, clean, short

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 24, 40
TICKS = 5
NAMED = 36
"""Characters of what an axis is called."""
MOST_POINTS = 250
"""Of a line; more are thinned out."""
LEVELS = 9
"""Of shading."""


class Axis(NamedTuple):
    """What is along a side of a plot."""

    label: str
    low: float
    high: float
    is_log: bool = False
    is_share: bool = False
    """Written as per cent."""
    is_whole: bool = False

    def at(self, values: Floats) -> Floats:
        """Places from 0 to 1, beyond where the values are beyond."""
        low, high, given = self.low, self.high, np.asarray(values, dtype=float)
        if self.is_log:
            low, high, given = math.log(low), math.log(high), np.log(np.maximum(given, 1e-300))
        return (given - low) / (high - low) if high > low else np.full(given.shape, 0.5)

    def ticks(self) -> list[float]:
        """Round numbers within."""
        if self.is_log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1, 2, 5), (1, 3), (1,)):
                found = [s * 10.0**p for p in powers for s in steps if self.low <= s * 10.0**p <= self.high]
                if len(found) <= TICKS + 1:
                    return found
            return found[:: -(-len(found) // TICKS)]
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
        """A tick, as written."""
        if self.is_share:
            return f"{100 * tick:.0f} %"
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
            if max(abs(self.low), abs(self.high)) >= size:
                unit = 1e3 if letter == "k" else size
                return f"{tick / unit:.4g}{letter if tick else ''}".replace("-", MINUS)
        return f"{0.0 if abs(tick) < 1e-12 * (self.high - self.low) else tick:.4g}".replace("-", MINUS)


class Figure(NamedTuple):
    """A drawing with its words."""

    title: str
    drawing: Markup
    caption: str
    keys: tuple[tuple[str, str], ...] = ()
    """Kinds of lines, and what they are."""


def around(values: Iterable[float], margin: float = 0.04) -> tuple[float, float]:
    """The range of finite values and a little more; never empty."""
    known = np.array([one for one in values if math.isfinite(one)])
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    size = max(abs(low), abs(high))
    is_spread = high - low > 1e-9 * size and size > 1e-300
    more = margin * (high - low) if is_spread else 0.5 * size + 0.5 * (size <= 1e-300)
    return low - more, high + more


class Plot:
    """A drawing between two axes; what is added later is on top."""

    def __init__(self, told: str, x: Axis, y: Axis) -> None:
        """`told` is what it shows, for those who cannot see it."""
        self.told, self.x, self.y = told, x, y
        self._parts: list[Markup] = []

    def line(self, xs: Floats, ys: Floats, kind: str = "c0", told: str = "") -> None:
        """A line through those points that are known, in the colour of `kind`."""
        known = np.isfinite(xs) & np.isfinite(ys)
        xs, ys = _thinned(np.asarray(xs, float)[known]), _thinned(np.asarray(ys, float)[known])
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(self._x(xs), self._y(ys), strict=True))
        title = Markup("<title>{}</title>").format(clean(told)) if told else ""
        self._parts.append(Markup('<path class="line {}" d="{}">{}</path>').format(kind, path, title))

    def dots(self, xs: Floats, ys: Floats, kind: str = "c0", size: str = "dot") -> None:
        """A dot for each point that is known: `dot`, or `point` for larger ones."""
        known = np.isfinite(xs) & np.isfinite(ys)
        xs, ys = np.asarray(xs, float)[known], np.asarray(ys, float)[known]
        places = zip(self._x(xs), self._y(ys), strict=True)
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
        self._parts.append(Markup('<path class="{} {}" d="{}"/>').format(size, kind, path))

    def whiskers(self, xs: Floats, lows: Floats, highs: Floats, kind: str = "c0") -> None:
        """A vertical line for each interval."""
        places = zip(self._x(np.asarray(xs)), self._y(np.asarray(lows)), self._y(np.asarray(highs)), strict=True)
        path = "".join(f"M{x:.1f} {low:.1f}V{high:.1f}" for x, low, high in places)
        self._parts.append(Markup('<path class="whisker {}" d="{}"/>').format(kind, path))

    def bars(self, edges: Floats, heights: Floats, kind: str = "c0", ground: Floats | None = None) -> None:
        """A histogram: n + 1 edges, n heights, above n others where these are given."""
        places, tops = self._x(np.asarray(edges, float)), self._y(np.asarray(heights, float))
        feet = self._y(np.zeros(len(heights)) if ground is None else np.asarray(ground, float))
        box = Markup('<rect class="fill {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
        for left, right, top, foot in zip(places[:-1], places[1:], tops, feet, strict=True):
            self._parts.append(box.format(kind, left, top, max(0.5, right - left - 1), max(0.0, foot - top)))

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """A label whose corner or middle is at a point."""
        place = Markup('<text class="label {}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
        right, down = float(self._x(np.array([x]))[0]), float(self._y(np.array([y]))[0])
        self._parts.append(place.format(kind, right, down, anchor, short(text, 32)))

    def svg(self) -> Markup:
        """The drawing."""
        frame = Markup("").join([*self._x_axis(), *self._y_axis()])
        whole = Markup(
            '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}<g class="data">{}</g></svg>'
        )
        return whole.format(WIDTH, HEIGHT, clean(self.told), frame, Markup("").join(self._parts))

    def _x(self, values: Floats) -> Floats:
        return LEFT + np.clip(self.x.at(values), -0.01, 1.01) * (WIDTH - LEFT - RIGHT)

    def _y(self, values: Floats) -> Floats:
        return HEIGHT - BOTTOM - np.clip(self.y.at(values), -0.01, 1.01) * (HEIGHT - TOP - BOTTOM)

    def _x_axis(self) -> Iterable[Markup]:
        ground = HEIGHT - BOTTOM
        yield Markup('<path class="axis" d="M{} {}H{}"/>').format(LEFT, ground, WIDTH - RIGHT)
        for tick in self.x.ticks():
            place = float(self._x(np.array([tick]))[0])
            text = Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>')
            yield text.format(place, ground + 14, self.x.shown(tick))
        label = Markup('<text class="name" x="{}" y="{}" text-anchor="end">{}</text>')
        yield label.format(WIDTH - RIGHT, HEIGHT - 8, short(self.x.label, NAMED))

    def _y_axis(self) -> Iterable[Markup]:
        for tick in self.y.ticks():
            place = float(self._y(np.array([tick]))[0])
            yield Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(LEFT, place, WIDTH - RIGHT)
            text = Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>')
            yield text.format(LEFT - 6, place + 3.5, self.y.shown(tick))
        yield Markup('<text class="name" x="4" y="12">{}</text>').format(short(self.y.label, NAMED))


def _thinned(values: Floats) -> Floats:
    if len(values) <= MOST_POINTS:
        return values
    kept: Floats = values[np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int))]
    return kept


def bar(part: float, kind: str = "c0") -> Markup:
    """A bar in a cell, of a part of its width from 0 to 1; the number stands beside it."""
    width = 100 * min(1.0, max(0.0, part)) if math.isfinite(part) else 0.0
    drawn = '<svg class="bar" aria-hidden="true"><rect class="fill {}" width="{:.1f}%" height="100%"/></svg>'
    return Markup(drawn).format(kind, width)


def spans_bar(parts: Iterable[tuple[float, float]], kind: str = "c0") -> Markup:
    """Bars in a cell, each from a place of its width, 0 to 1, and so wide; never too narrow to be seen."""
    box = Markup('<rect class="fill {}" x="{:.2f}%" width="{:.2f}%" height="100%"/>')
    drawn = [box.format(kind, 100 * min(start, 0.995), max(0.5, 100 * width)) for start, width in parts]
    return Markup('<svg class="bar" aria-hidden="true">{}</svg>').format(Markup("").join(drawn))


def shares_bar(parts: Sequence[tuple[str, float]], told: str) -> Markup:
    """One bar, divided among kinds with their values."""
    whole, start, drawn = sum(value for _, value in parts) or 1.0, 0.0, []
    for kind, value in parts:
        width = 100 * value / whole
        box = Markup('<rect class="fill {}" x="{:.2f}%" width="{:.2f}%" height="100%"/>')
        drawn.append(box.format(kind, start, width))
        start += width
    return Markup('<svg class="bar shares" role="img" aria-label="{}">{}</svg>').format(
        clean(told), Markup("").join(drawn)
    )


def interval_bar(value: float, low: float, high: float, span: tuple[float, float], kind: str = "c0") -> Markup:
    """A dot and its interval in a cell; `span` is what the ends of the cell stand for."""
    start, end = span

    def place(one: float) -> float:
        part = (one - start) / (end - start) if end > start else 0.5
        return 2 + 96 * min(1.0, max(0.0, part)) if math.isfinite(part) else 50.0

    drawn = Markup(
        '<svg class="range {}" aria-hidden="true"><line class="track" x1="0" x2="100%" y1="50%" y2="50%"/>'
        '<line class="span" x1="{:.1f}%" x2="{:.1f}%" y1="50%" y2="50%"/><circle cx="{:.1f}%" cy="50%" r="4"/></svg>'
    )
    return drawn.format(kind, place(low), place(high), place(value))


def heat(shares: Sequence[Sequence[float]], told: str) -> Markup:
    """A square of shaded cells without words, for too many classes to write out."""
    count = len(shares)
    cell = (WIDTH - 2) / count
    cells = [
        Markup('<rect class="h{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            level(value), 1 + column * cell, 1 + row * cell, cell, cell
        )
        for row, values in enumerate(shares)
        for column, value in enumerate(values)
        if level(value)
    ]
    whole = Markup('<svg class="plot heat" viewBox="0 0 {0} {0}" role="img" aria-label="{1}">{2}</svg>')
    return whole.format(WIDTH, clean(told), Markup("").join(cells))


def level(part: float) -> int:
    """The shading of a share, from 0 for nothing."""
    return 0 if not part > 0 else 1 + min(LEVELS - 1, int(LEVELS * min(1.0, part)))
