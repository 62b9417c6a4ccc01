"""Text into a typed answer, or a precise account of what is wrong; properties of the reader."""

import json
import time
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.documents import Model
from palmette.llm import Answer, BadAnswer, Python, Reply, Yaml, describe, fenced, read_answer
from palmette.llm.text import split_blocks, visible


class Case(Model):
    name: str
    rows: tuple[int, ...] = ()


class Two(Answer):
    cases: tuple[Case, ...]
    """The cases."""
    kind: Literal["a", "b"] = "a"
    script: Python
    """The script."""
    config: Yaml = ""
    """The configuration."""


def read(text: str) -> Answer | BadAnswer:
    return read_answer(Reply(text=text, model="m"), Two)


WHOLE = '{"cases": [{"name": "x", "rows": [1]}], "kind": "b"}\n```python script\nx = 1\n```\n```yaml\na: 1\n```'


def test_every_field_finds_its_place() -> None:
    found = read(WHOLE)
    assert isinstance(found, Two)
    assert (found.cases, found.kind, found.script, found.config) == (
        (Case(name="x", rows=(1,)),),
        "b",
        "x = 1\n",
        "a: 1\n",
    )


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ('"kind": "b"', '"kind": "c"', "answer-wrong-fields", "kind"),
        ("[1]", '["one"]', "answer-wrong-fields", "cases.0.rows.0"),
        ('"cases"', '"case"', "answer-wrong-fields", "cases: Field required"),
        ("x = 1", "x = ", "answer-broken-code", "line 1"),
        ("a: 1", "a: [1", "answer-broken-code", "yaml"),
        ("```python script\nx = 1\n```", "", "answer-wrong-language", "```python script"),
        ("[1]", "[1", "answer-not-json", "not JSON"),
        ('"kind": "b"', '"kind": "a", "kind": "b"', "answer-not-json", "'kind' is there twice"),
        ("[1]", '[1], "rows": [2]', "answer-not-json", "'rows' is there twice"),
    ],
)
def test_what_is_wrong_is_said_precisely(old: str, new: str, code: str, said: str) -> None:
    found = read(WHOLE.replace(old, new))
    assert isinstance(found, BadAnswer) and found.code == code and said in found.message


@pytest.mark.parametrize(
    "said", ['{"terminate": " No. "}', '{"terminate": "No.", "cases": []}', '{"reason": "No.", "fix": " TERMINATE "}']
)
def test_whoever_hands_over_need_not_give_the_rest(said: str) -> None:
    found = read(said)
    assert isinstance(found, Answer) and found.hands_over and found.reason == "No."


@pytest.mark.parametrize("nothing", ['""', '" "', "null"])
def test_an_answer_that_has_no_reason_to_hand_over_is_an_answer(nothing: str) -> None:
    found = read(WHOLE.replace('"kind": "b"', f'"kind": "b", "fix": null, "terminate": {nothing}'))
    assert isinstance(found, Two) and not found.hands_over


def test_the_contract_names_every_field_and_its_form() -> None:
    text = describe(Two, "An example.")
    assert "- cases (list of Case): The cases." in text and '- kind? (one of "a", "b")' in text
    assert "```python script" in text and "```yaml config (may be left out)" in text
    assert text.index("The cases.") < text.index("terminate?") < text.index("An example.") < text.index("- Case")
    assert text.endswith("- Case: name (text); rows? (list of integer)")


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 900 + "[" + "1," * 50_000, "".join(f'{{"kind": "{number}"}}' for number in range(10_000))],
    ids=["a long beginning in others", "many objects"],
)
def test_reading_takes_a_time_that_the_length_of_the_text_bounds(text: str) -> None:
    begun = time.process_time()
    found = read(text)
    assert isinstance(found, BadAnswer) and time.process_time() - begun < 4  # 0.8 on an idle core


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert isinstance(read(text), Answer | BadAnswer)


@given(st.lists(st.sampled_from(["```", "````", "~~~", "```python script\n", "\n", "{", "}", '"', "x = 1", "\ufeff"])))
def test_no_order_of_pieces_breaks_the_reader(pieces: list[str]) -> None:
    assert isinstance(read("".join(pieces)), Answer | BadAnswer)


LINES = st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n`~"))


@given(text=LINES, language=st.sampled_from(["", "python", "yaml"]))
def test_what_is_fenced_comes_back_whole_and_cannot_get_out(text: str, language: str) -> None:
    (block,) = split_blocks(f"before\n{fenced(text, language)}\nafter\n").blocks
    assert block.text.splitlines() == (visible(text).rstrip("\n").splitlines() or [""]) and block.closed


@given(st.text(st.characters(blacklist_categories=("Cs",))), st.text("abc .\n", max_size=50))
def test_a_good_answer_is_read_from_any_prose(reason: str, prose: str) -> None:
    answer = {"cases": [], "reason": reason}
    found = read(f"{prose}\n```json\n{json.dumps(answer)}\n```\n{prose}\n```python script\nx = 1\n```\n{prose}")
    assert isinstance(found, Two) and found.reason == reason and found.script == "x = 1\n"
