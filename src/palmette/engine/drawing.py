"""Topologies as pictures: Mermaid text for documents, and SVG without a browser.

The SVG is a layered drawing: every actor stands one row below the nearest actor that leads to it. Edges to
the next row go straight down, between neighbours straight across; all others go round by the side, in lanes.
"""

from __future__ import annotations

import textwrap
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from palmette.documents import Located
from palmette.engine.lint import load_actor, unknown_names
from palmette.engine.topology import Topology
from palmette.errors import TopologyError, UserError

WIDTH, HEIGHT, GAP, ROW, LANE = 230, 60, 40, 116, 16
"""Pixels: of a box, between boxes, from row to row, between lanes."""
Form = Literal["mermaid", "svg"]
_STYLE = """
  text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2933; text-anchor: middle }
  .name { font-weight: 600 } .small { font-size: 11px; fill: #52606d }
  .box { fill: #f7f9fb; stroke: #7b8794; stroke-width: 1.2 } .end { fill: #e9f5ec; stroke: #3c8d5a }
  .edge { fill: none; stroke: #52606d; stroke-width: 1.3; stroke-linejoin: round }
  .back { stroke: #b7791f; stroke-dasharray: 5 3 }
  .entry { stroke: #2b6cb0 } .mark { fill: #2b6cb0 } .done { fill: #3c8d5a }
"""


def draw(document: Located[Topology], form: Form) -> str:
    """A picture of a topology, with start, end, edges and success criteria; TopologyError where names lead nowhere."""
    if problems := unknown_names(document):
        raise TopologyError(problems)
    criteria = {name: criterion(document, name) for name in document.value.actors}
    return draw_mermaid(document.value, criteria) if form == "mermaid" else draw_svg(document.value, criteria)


def criterion(document: Located[Topology], actor: str) -> str:
    """The success criterion of an actor, in words: the first line of its `check`'s docstring."""
    try:
        found = load_actor(document.value.use(actor), Path(document.file).parent)
    except UserError:
        return ""
    if not found.has_criterion:
        return "no criterion"
    return (found.check.__doc__ or "has a criterion").strip().splitlines()[0].rstrip(".")


def draw_mermaid(topology: Topology, criteria: dict[str, str]) -> str:
    """The topology as a Mermaid flow chart."""
    lines = ["flowchart TB", "  START((start))", "  END((end))"]
    for name in topology.actors:
        words = criteria.get(name, "").replace('"', "'")
        lines.append(f'  {name}["{name}{f"<br/><small>{words}</small>" if words else ""}"]')
    lines += [f"  START --> {name}" for name in topology.start]
    lines += [f"  {name} --> {following}" for name, node in topology.actors.items() for following in node.next]
    lines += [f"  {name} --> END" for name in topology.end]
    return "\n".join(lines) + "\n"


class _Place(NamedTuple):
    """The upper left corner of a box."""

    x: float
    y: float
    row: int


def draw_svg(topology: Topology, criteria: dict[str, str]) -> str:
    """The topology as an SVG document of its own."""
    rows = _rows(topology)
    widest = max(len(row) for row in rows)
    lanes = sum(1 for name, node in topology.actors.items() for other in node.next if _skips(rows, name, other))
    left = 24.0
    inner = widest * WIDTH + (widest - 1) * GAP
    places = {}
    for index, row in enumerate(rows):
        start = left + (inner - len(row) * WIDTH - (len(row) - 1) * GAP) / 2
        for column, name in enumerate(row):
            places[name] = _Place(start + column * (WIDTH + GAP), 70 + index * ROW, index)
    width = left + inner + 24 + (lanes + len(topology.start)) * LANE
    height = 70 + len(rows) * ROW + 24
    parts = [
        *_edges(topology, places, left + inner),
        *_marks(topology, places, left + inner / 2, height - 24),
    ]
    parts += [part for name, place in places.items() for part in _box(topology, name, place, criteria.get(name, ""))]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="Topology {escape(topology.topology)}">\n'
        f"<style>{_STYLE}</style>\n{_ARROWS}\n"
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


_ARROWS = (
    "<defs>"
    + "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="{colour}"/></marker>'
        for name, colour in (("on", "#52606d"), ("again", "#b7791f"), ("in", "#2b6cb0"))
    )
    + "</defs>"
)


def _rows(topology: Topology) -> list[list[str]]:
    """The actors by distance from the first start, each row ordered to keep edges short."""
    depth = {topology.start[0]: 0}
    waiting = [topology.start[0]]
    while waiting:
        name = waiting.pop(0)
        for following in topology.actors[name].next:
            if following not in depth:
                depth[following] = depth[name] + 1
                waiting.append(following)
        if not waiting:
            waiting = [other for other in topology.actors if other not in depth][:1]
            depth.update(dict.fromkeys(waiting, 0))
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in topology.actors:
        rows[depth[name]].append(name)
    for above, row in pairwise(rows):
        row.sort(key=partial(_barycentre, topology, above))
    return rows


def _barycentre(topology: Topology, above: list[str], name: str) -> float:
    columns = [column for column, other in enumerate(above) if name in topology.actors[other].next]
    return sum(columns) / len(columns) if columns else len(above)


def _row(rows: list[list[str]], name: str) -> int:
    return next(index for index, row in enumerate(rows) if name in row)


def _skips(rows: list[list[str]], name: str, other: str) -> bool:
    """Whether an edge cannot be drawn straight down to the next row."""
    return _row(rows, other) != _row(rows, name) + 1


def _edges(topology: Topology, places: dict[str, _Place], right: float) -> list[str]:
    parts, lane = [], 0
    for name, node in topology.actors.items():
        for slot, other in enumerate(node.next):
            a, b = places[name], places[other]
            shift = (slot - (len(node.next) - 1) / 2) * 22
            if b.row == a.row + 1:
                path = _down(a.x + WIDTH / 2 + shift, a.y + HEIGHT, b.x + WIDTH / 2 + shift / 2, b.y)
            elif b.row == a.row and abs(b.x - a.x) == WIDTH + GAP:
                path = _across(a, b)
            else:
                lane += 1
                path = _round(a, b, right, lane)
            kind = 'class="edge" marker-end="url(#on)"'
            if b.row < a.row or (b.row == a.row and b.x < a.x):
                kind = 'class="edge back" marker-end="url(#again)"'
            parts.append(f'<path {kind} d="{path}"/>')
    return parts


def _down(x: float, y: float, u: float, v: float) -> str:
    return f"M{x:g} {y:g}C{x:g} {y + 26:g} {u:g} {v - 26:g} {u:g} {v:g}"


def _across(a: _Place, b: _Place) -> str:
    """Between neighbours: to the right in the upper half, to the left in the lower."""
    if b.x > a.x:
        return f"M{a.x + WIDTH:g} {a.y + HEIGHT / 3:g}H{b.x:g}"
    return f"M{a.x:g} {a.y + HEIGHT * 2 / 3:g}H{b.x + WIDTH:g}"


def _round(a: _Place, b: _Place, right: float, lane: int) -> str:
    """Out of one box, along a lane, into the other; under and over boxes where others stand in the way."""
    x, step = right + 8 + lane * LANE, lane % 3 * 6
    if a.x + WIDTH >= right - 1:
        y = a.y + HEIGHT / 2 + 6 + step
        path = f"M{a.x + WIDTH:g} {y:g}H{x:g}"
    else:
        path = f"M{a.x + WIDTH - 24 - step:g} {a.y + HEIGHT:g}v{18 + step}H{x:g}"
    if b.x + WIDTH >= right - 1:
        return f"{path}V{b.y + HEIGHT / 2 - 6 - step:g}H{b.x + WIDTH + 1:g}"
    return f"{path}V{b.y - 18 - step:g}H{b.x + WIDTH - 24 - step:g}V{b.y:g}"


def _marks(topology: Topology, places: dict[str, _Place], middle: float, bottom: float) -> list[str]:
    """The start at the top, the end at the bottom; a start further down is marked at its own box."""
    parts = [
        f'<circle class="mark" cx="{middle:g}" cy="24" r="9"/>',
        f'<text class="small" x="{middle + 34:g}" y="28">start</text>',
        f'<circle class="done" cx="{middle:g}" cy="{bottom:g}" r="9"/>',
        f'<text class="small" x="{middle + 30:g}" y="{bottom + 4:g}">end</text>',
    ]
    for name in topology.start:
        place = places[name]
        x = place.x + WIDTH / 2
        if place.row == 0:
            parts.append(f'<path class="edge entry" marker-end="url(#in)" d="M{middle:g} 33L{x:g} {place.y:g}"/>')
        else:
            y = place.y + HEIGHT / 2
            parts += [
                f'<circle class="mark" cx="{place.x - 16:g}" cy="{y:g}" r="5"/>',
                f'<path class="edge entry" marker-end="url(#in)" d="M{place.x - 16:g} {y:g}H{place.x:g}"/>',
            ]
    for name in topology.end:
        place = places[name]
        x, y = place.x + WIDTH / 2, place.y + HEIGHT
        parts.append(
            f'<path class="edge" marker-end="url(#on)" d="M{x:g} {y:g}'
            f'C{x:g} {y + 20:g} {middle:g} {bottom - 40:g} {middle:g} {bottom - 10:g}"/>'
        )
    return parts


def _box(topology: Topology, name: str, place: _Place, words: str) -> list[str]:
    middle = place.x + WIDTH / 2
    kind = "box end" if name in topology.end else "box"
    node = topology.actors[name]
    title = f"{name} × {node.fan_out.artefact}" if node.fan_out else name
    lines = textwrap.wrap(words, 38, max_lines=2, placeholder=" …")
    first = place.y + (34 if not lines else 28 if len(lines) == 1 else 20)
    parts = [
        f'<rect class="{kind}" x="{place.x:g}" y="{place.y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8">'
        f"<title>{escape(words)}</title></rect>",
        f'<text class="name" x="{middle:g}" y="{first:g}">{escape(title)}</text>',
    ]
    parts += [
        f'<text class="small" x="{middle:g}" y="{first + 15 * (index + 1):g}">{escape(line)}</text>'
        for index, line in enumerate(lines)
    ]
    return parts
