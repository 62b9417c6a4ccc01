"""What a model is shown fits, in the order of what matters; nothing in it can end its fence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import DeveloperError
from palmette.llm import NEEDED, AnswerError, Section, pack, section
from palmette.llm.agent import load_prompt
from palmette.llm.text import estimate_tokens, split_blocks

SECTIONS = st.lists(
    st.builds(
        Section,
        name=st.uuids().map(str),
        items=st.lists(st.text("ab `\n", min_size=1, max_size=300).filter(str.strip), max_size=5).map(tuple),
        rank=st.integers(1, 3),
    ),
    max_size=5,
)


@given(SECTIONS, st.integers(0, 400))
def test_sections_fit_and_are_cut_from_the_end(sections: list[Section], room: int) -> None:
    packed = pack(sections, room)
    assert list(packed) == [one.name for one in sections]
    shown = 0
    for one in sections:
        blocks = split_blocks(packed[one.name]).blocks
        assert len(blocks) <= 1
        shown += sum(estimate_tokens(block.text) for block in blocks)
        if "left out" not in packed[one.name] and one.items:
            assert [line for line in blocks[0].text.splitlines() if line.strip()] == [
                line for item in one.items for line in item.splitlines() if line.strip()
            ]
    assert shown <= room + 2 * sum(len(one.items) for one in sections)


def test_what_matters_most_is_packed_first() -> None:
    long = "a line of some length\n" * 20
    packed = pack([section("less", long, rank=2), section("more", long, rank=1)], estimate_tokens(long) + 50)
    assert "left out" not in packed["more"] and "left out" in packed["less"]
    assert packed["less"].count("a line") == 6, "cut at a line"


def test_what_is_needed_is_never_cut() -> None:
    with pytest.raises(AnswerError, match="234 tokens more than there is room for, with 'view'"):
        pack([section("view", "x" * 1000, rank=NEEDED)], 100)


def test_nothing_is_said_to_be_nothing() -> None:
    assert pack([section("utilities", " ")], 100)["utilities"] == "(none)"


HEAD = "---\ntask: t\ninputs: [a]\nanswer: A\n---\n# System\n\nSay.\n\n# Example\n\nSaid.\n\n# User\n\n{{a}}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# User\n", ""),
        ("# Example\n", ""),
        ("---\ntask", "task"),
        ("{{a}}", "{{b}}"),
        ("{{a}}", ""),
        ("Say.", "Say {{a}}."),
    ],
)
def test_a_prompt_file_out_of_order_is_the_developers(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "prompt.md"
    path.write_text(HEAD, "utf-8")
    assert load_prompt(path).fill({"a": "{{a}}"}) == "{{a}}", "what is filled in is not looked at again"
    other = tmp_path / "other.md"
    other.write_text(HEAD.replace(old, new), "utf-8")
    with pytest.raises(DeveloperError):
        load_prompt(other)
