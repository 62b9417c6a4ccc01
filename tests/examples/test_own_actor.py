"""The worked example of a team's own actors, and the pages that explain it."""

import re
from pathlib import Path

import pytest
import yaml

from palmette.engine import read_journal, run_environment

ROOT = Path(__file__).parents[2]
OWN = ROOT / "examples/own_actor"


def test_the_fault_is_found_with_whoever_chose_too_much(tmp_path: Path) -> None:
    arguments = {"topology": str(OWN / "digest.yaml"), "given": {"text": (OWN / "notes.txt").read_text("utf-8")}}
    result = run_environment("topology", arguments, tmp_path / "run")
    assert result.status == "finished"
    sent = [
        (entry.event.target, entry.event.instruction)
        for entry in read_journal(tmp_path / "run")
        if entry.event.kind == "decided" and entry.event.instruction
    ]
    assert sent == [("choose_entries", "Choose fewer entries: the breaking changes only.")]
    text = (result.path("digest") / "DIGEST.md").read_text("utf-8")
    assert text.count("\n- Breaking") == 2 and len(text) <= 120


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs/how-to" / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_topology_on_the_page_is_that_of_the_example() -> None:
    (block,) = blocks("add-a-topology.md", "yaml")
    assert yaml.safe_load(block) == yaml.safe_load((OWN / "digest.yaml").read_text("utf-8"))


@pytest.mark.parametrize("block", blocks("add-an-actor.md", "python"))
def test_the_code_on_the_page_is_that_of_the_example(block: str) -> None:
    code = (OWN / "own_actors.py").read_text("utf-8")
    for line in block.splitlines():
        bare = line.partition("  #")[0].strip()
        assert bare in code, bare
