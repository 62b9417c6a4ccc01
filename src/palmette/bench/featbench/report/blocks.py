"""A page as blocks, written as Markdown or as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, assert_never


class Heading(NamedTuple):
    text: str
    level: int = 2


class Text(NamedTuple):
    """A paragraph; between backquotes stands code."""

    text: str


class Table(NamedTuple):
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Plot(NamedTuple):
    name: str
    """Of its file, without the ending."""
    about: str
    """What it shows, for who cannot see it."""
    png: bytes


Block = Heading | Text | Table | Plot


def markdown(blocks: Sequence[Block], images: str) -> str:
    """`images`: the folder of the plots, as seen from the page."""
    return "\n\n".join(_markdown(block, images) for block in blocks) + "\n"


def _markdown(block: Block, images: str) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Text():
            return block.text
        case Table():
            head = [f"| {' | '.join(block.header)} |", f"|{'---|' * len(block.header)}"]
            return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in block.rows)])
        case Plot():
            return f"![{block.about}]({images}/{block.name}.png)"
        case _:
            assert_never(block)


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: left; white-space: nowrap; }
td:not(:first-child), th:not(:first-child) { text-align: right; }
img { max-width: 100%; }
code { background: #f3f3f3; padding: 0 0.2rem; overflow-wrap: anywhere; }
"""


def page(blocks: Sequence[Block], title: str) -> str:
    """The HTML file; plots are inside it."""
    body = "\n".join(_html(block) for block in blocks)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_said(title)}</title>'
    head += f"<style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_said(block.text)}</h{block.level}>"
        case Text():
            return f"<p>{_said(block.text)}</p>"
        case Table():
            head = "".join(f"<th>{_said(cell)}</th>" for cell in block.header)
            rows = ["".join(f"<td>{_said(cell)}</td>" for cell in row) for row in block.rows]
            return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
        case Plot():
            data = base64.b64encode(block.png).decode()
            return f'<img alt="{_said(block.about)}" src="data:image/png;base64,{data}">'
        case _:
            assert_never(block)


def _said(text: str) -> str:
    """Text as HTML: what stands between backquotes is code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def write(blocks: Sequence[Block], folder: Path, name: str, title: str) -> tuple[Path, Path]:
    """`name`.md with its plots in the folder `name`, and `name`.html."""
    folder.mkdir(parents=True, exist_ok=True)
    for block in blocks:
        if isinstance(block, Plot):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{block.name}.png").write_bytes(block.png)
    paths = folder / f"{name}.md", folder / f"{name}.html"
    for path, text in zip(paths, (markdown(blocks, name), page(blocks, title)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths
