"""Every mistake of a topology is named, all at once."""

from pathlib import Path
from typing import Any

import pytest
from toys import ListMaker, Toy

from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Verdict, check_topology, lint, load_topology, register
from palmette.engine.wiring import is_list_model
from palmette.errors import InputError, TopologyError


class Word(Model):
    text: str


def measure(self: BaseActor, input: Any, output: Any, context: Context) -> Verdict:
    """It is there."""
    return Verdict(ok=True)


class _Plain(BaseActor):
    description = "For the linter."
    Output = Word

    def run(self, input: Any, context: Context) -> Attempt[Word]:
        return Attempt(None)


@register("actor", "lint.first")
class First(_Plain):
    name, produces = "first", "word"

    class Input(Model):
        text: str
        loud: bool = False


@register("actor", "lint.second")
class Second(_Plain):
    name, produces, check = "second", "other", measure

    class Input(Model):
        word: Word


@register("actor", "lint.strange")
class Strange(_Plain):
    name, produces, check = "strange", "strange", measure

    class Input(Model):
        words: Word


GOOD = """
topology: good
given: [text]
start: [first]
end: [second]
actors:
  first: {use: lint.first, next: [second]}
  second: {use: lint.second}
"""


def problems(folder: Path, text: str) -> set[tuple[str, int | None, str | None]]:
    """Code, line and nearest name of every mistake."""
    path = folder / "topology.yaml"
    path.write_text(text.lstrip())
    return {(problem.code, problem.line, problem.nearest) for problem in lint(load_topology(path))}


def test_a_good_one_has_none(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD) == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("next: [second]", "next: [secnd]"), {("unknown-name", 6, "second")}),
        (("start: [first]", "start: [frist]"), {("unknown-name", 3, "first")}),
        (("lint.second", "lint.secund"), {("unknown-actor", 7, None)}),
        (("lint.second", "nowhere:Class"), {("broken-actor", 7, None)}),
        (("lint.second", "pathlib:Path"), {("not-an-actor", 7, None)}),
        ((", next: [second]", ""), {("dead-end", 6, None), ("unreachable-actor", 7, None)}),
        (("given: [text]", "given: [txt]"), {("missing-input", 6, "txt")}),
        (("lint.second", "lint.strange"), {("missing-input", 7, "word")}),
        (("end: [second]", "end: [second, first]"), {("no-criterion", 6, None)}),
        (("lint.second}", "lint.second, parameters: {wrod: 1}}"), {("unknown-parameter", 7, "word")}),
        (("lint.second}", "lint.second, for_each: word as word}"), {("not-a-list", 7, None)}),
        (("lint.second}", "lint.second, for_each: wrd as word}"), {("unknown-artefact", 7, "word")}),
        (("lint.second}", "lint.second, for_each: text as wordy}"), {("unknown-field", 7, "word")}),
        (
            ("  second: {use: lint.second}", "  second: {use: lint.second}\n  third: {use: lint.first}"),
            {("unreachable-actor", 8, None), ("dead-end", 8, None), ("same-artefact", 8, None)},
        ),
        (("start: [first]", "start: [second]"), {("unreachable-actor", 6, None)}),
    ],
)
def test_each_mistake_is_named_and_located(
    tmp_path: Path, change: tuple[str, str], expected: set[tuple[str, int | None, str | None]]
) -> None:
    assert change[0] in GOOD
    found = problems(tmp_path, GOOD.replace(*change))
    assert {(code, near) for code, _, near in found} == {(code, near) for code, _, near in expected}
    assert {line for _, line, _ in found} == {line for _, line, _ in expected}


def test_what_only_comes_later_is_never_ready(tmp_path: Path) -> None:
    text = GOOD.replace("start: [first]", "start: [second]").replace(
        "{use: lint.second}", "{use: lint.second, next: [first]}"
    )
    assert {code for code, _, _ in problems(tmp_path, text)} == {"never-ready"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("topology: t\nstart: [a]\nend: [a]\nactors: {a: {nxt: []}}\n", "unknown-key"),
        ("topology: t\nend: [a]\nactors: {a: {}}\n", "missing-key"),
        ("topology: t\nstart: [a]\nend: [a]\nactors: {a: {for_each: plans}}\n", ""),
    ],
)
def test_mistakes_of_form_come_from_the_reader(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_topology(path)
    assert not code or code in {problem.code for problem in caught.value.problems}


def test_given_artefacts_are_held_against_the_file(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(GOOD)
    with pytest.raises(TopologyError) as caught:
        check_topology(load_topology(path), given=["txt"])
    assert {problem.code for problem in caught.value.problems} == {"not-given", "not-asked-for"}


def test_list_models() -> None:
    assert is_list_model(ListMaker.Output) and not is_list_model(Toy.Output) and not is_list_model(Word)
