"""Topologies as pictures: Mermaid text for documents, and SVG without a browser.

The SVG has the actors in a column, in the order of the file. An edge to the next actor goes straight down; one that
leads further down is an arc on the right, one that leads back up a dashed arc on the left.
"""

import textwrap
from html import escape
from pathlib import Path
from typing import Literal

from palmette.documents import Located
from palmette.engine.lint import load_actor, unknown_names
from palmette.engine.topology import Topology
from palmette.errors import MachineError, TopologyError, UserError

WIDTH, HEIGHT, ROW, ARC = 230, 60, 96, 22
"""Pixels: box width and height, distance between rows, and extra arc width for each row passed."""
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
    """A picture of a topology with start, end, edges and success criteria; TopologyError if it names unknown actors."""
    if problems := unknown_names(document):
        raise TopologyError(problems)
    criteria = {name: criterion(document, name) for name in document.value.actors}
    return draw_mermaid(document.value, criteria) if form == "mermaid" else draw_svg(document.value, criteria)


def criterion(document: Located[Topology], actor: str) -> str:
    """The success criterion of an actor: the first line of its `check`'s docstring."""
    try:
        found = load_actor(document.value.use(actor), Path(document.file).parent)
    except (UserError, MachineError):  # a drawing works without the packages of its actors
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


def draw_svg(topology: Topology, criteria: dict[str, str]) -> str:
    """The topology as a standalone SVG document."""
    rows = {name: row for row, name in enumerate(topology.actors)}
    edges = [(rows[name], rows[other]) for name, node in topology.actors.items() for other in node.next]
    left = 60 + ARC * max((a - b for a, b in edges), default=0)
    width = left + WIDTH + 60 + ARC * max((b - a for a, b in edges), default=0)
    height = 24 + ROW * len(rows)
    parts = [_edge(a, b, left) for a, b in edges]
    for name, row in rows.items():
        parts += _box(topology, name, left, 24 + row * ROW, criteria.get(name, ""))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="Topology {escape(topology.topology)}">\n'
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


def _edge(a: int, b: int, left: int) -> str:
    """An edge between two rows; arcs leave below the middle of a box and arrive above it."""
    if b == a + 1:
        x, y = left + WIDTH / 2, 24 + a * ROW + HEIGHT
        return f'<path class="edge" marker-end="url(#on)" d="M{x:g} {y}V{y + ROW - HEIGHT}"/>'
    y, v = 24 + a * ROW + HEIGHT * 2 // 3, 24 + b * ROW + HEIGHT // 3
    x, bend = (left + WIDTH, 1) if b > a else (left, -1)
    control = x + bend * (30 + ARC * abs(b - a))
    kind = 'class="edge" marker-end="url(#on)"' if b > a else 'class="edge back" marker-end="url(#again)"'
    return f'<path {kind} d="M{x} {y}C{control} {y} {control} {v} {x} {v}"/>'


def _box(topology: Topology, name: str, x: int, y: int, words: str) -> list[str]:
    """An actor with its criterion; a dot on the left marks a start actor, one on the right an end actor."""
    middle, centre = x + WIDTH / 2, y + HEIGHT / 2
    node = topology.actors[name]
    title = f"{name} × {node.fan_out.artefact}" if node.fan_out else name
    lines = textwrap.wrap(words, 38, max_lines=2, placeholder=" …")
    first = y + (34 if not lines else 28 if len(lines) == 1 else 20)
    parts = [
        f'<rect class="{"box end" if name in topology.end else "box"}" x="{x}" y="{y}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="8"><title>{escape(words)}</title></rect>',
        f'<text class="name" x="{middle:g}" y="{first}">{escape(title)}</text>',
    ]
    parts += [
        f'<text class="small" x="{middle:g}" y="{first + 15 * (index + 1)}">{escape(line)}</text>'
        for index, line in enumerate(lines)
    ]
    if name in topology.start:
        parts += [
            f'<circle class="mark" cx="{x - 30}" cy="{centre:g}" r="6"/>',
            f'<path class="edge entry" marker-end="url(#in)" d="M{x - 24} {centre:g}H{x}"/>',
            f'<text class="small" x="{x - 30}" y="{centre - 10:g}">start</text>',
        ]
    if name in topology.end:
        parts += [
            f'<path class="edge" marker-end="url(#on)" d="M{x + WIDTH} {centre:g}h24"/>',
            f'<circle class="done" cx="{x + WIDTH + 30}" cy="{centre:g}" r="6"/>',
            f'<text class="small" x="{x + WIDTH + 30}" y="{centre - 10:g}">end</text>',
        ]
    return parts
