"""Pictures of topologies."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from palmette.engine import draw, load_topology

OWN = Path(__file__).parents[2] / "examples/own_actor/digest.yaml"
LOOP = """
topology: loop
start: [a, d]
end: [c]
actors:
  a: {next: [b, c, d]}
  b: {next: [a, c]}
  c: {next: [a]}
  d: {next: [a, c]}
"""


def test_mermaid_names_everything() -> None:
    text = draw(load_topology(OWN), "mermaid")
    for part in (
        "flowchart TB",
        "START --> split_notes",
        "write_digest --> choose_entries",
        "write_digest --> END",
        "The digest is no longer than the limit",
        "no criterion",
    ):
        assert part in text


@pytest.mark.parametrize("text", [LOOP, OWN.read_text()])
def test_svg_has_a_box_for_every_actor_and_an_arrow_for_every_edge(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    document = load_topology(path)
    root = ET.fromstring(draw(document, "svg"))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [box for box in root.iter(f"{space}rect") if "box" in box.get("class", "")]
    arrows = [arrow for arrow in root.iter(f"{space}path") if "edge" in arrow.get("class", "")]
    topology = document.value
    edges = sum(len(node.next) for node in topology.actors.values()) + len(topology.start) + len(topology.end)
    assert len(boxes) == len(topology.actors) and len(arrows) == edges
    width = float(root.get("width", 0))
    places = [(float(box.get("x", 0)), float(box.get("y", 0))) for box in boxes]
    assert len(set(places)) == len(places) and all(0 <= x <= width - 230 for x, _ in places)
