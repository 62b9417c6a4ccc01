"""Documents are read strictly, and every mistake says where it is."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from palmette._yaml import parse_yaml, spell
from palmette.documents import Model, ProblemCollector, parse_document, parse_located, read_document
from palmette.errors import InputError


class Part(Model):
    name: str
    size: int = 1
    colour: Literal["red", "green"] = "red"


class Whole(Model):
    title: str
    on: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    extra: dict[str, int | str] = Field(default_factory=dict)
    either: dict[str, str] | tuple[str, ...] | None = None


def codes(text: str) -> list[tuple[str, int | None]]:
    with pytest.raises(InputError) as raised:
        parse_document(text, Whole, "file.yaml")
    assert all(problem.file == "file.yaml" for problem in raised.value.problems)
    return [(problem.code, problem.line) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("empty-file", None)]),
        ("# only a comment\n", [("empty-file", None)]),
        ("- a\n", [("not-a-mapping", 1)]),
        ("just text", [("not-a-mapping", 1)]),
        ("title: a\ntitle: b", [("duplicate-key", 2)]),
        ("title: [a", [("bad-yaml", 1)]),
        ("title: a: b", [("bad-yaml", 1)]),
        ("title: a\nparts:\n\t- name: b", [("yaml-tab", 3)]),
        ("title: !!python/object:os.system x", [("yaml-tag", 1)]),
        ("title: *nothing", [("yaml-alias", 1)]),
        ("title: a\n---\ntitle: b", [("several-documents", 2)]),
        ("title: a\n? [b]\n: c", [("yaml-key", 2)]),
        ("title: a\nextra: &x {y: *x}", [("too-deep", 2)]),
        ("[" * 5000, [("too-deep", 1)]),
        ("title: a\x00b", [("control-character", 1)]),
        ("\n\ntitle: 3", [("wrong-type", 3)]),
        ("title: a\nparts:\n  - size: x\n    nam: b", [("missing-key", 3), ("wrong-type", 3), ("unknown-key", 4)]),
        ("title: a\nparts: [{name: b, colour: rde}]", [("invalid-choice", 2)]),
        ("title: a\neither: 3", [("wrong-type", 2)]),
        ("title: a\neither: [3]", [("wrong-type", 2)]),
        ("title: a\neither: {b: 3}", [("wrong-type", 2)]),
        ("title: a\nextra: {b: [1]}", [("wrong-type", 2)]),
    ],
)
def test_mistakes(text: str, expected: list[tuple[str, int | None]]) -> None:
    assert sorted(codes(text), key=str) == sorted(expected, key=str)


def test_aliases_unfold_within_a_bound() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcde", "bcdef", strict=True)
    )
    assert codes(bomb) == [("too-large", None)]
    read = parse_document("title: &t a\nparts: [{name: *t}]", Whole, "f")
    assert read.parts[0].name == "a"


def test_the_dialect_is_small() -> None:
    parsed = parse_yaml(
        "on: yes\ndate: 2025-01-01\noctal: 0755\nplain: true\nnull_: ~\nfloat: 1.5\nbig: 1e3\n12: a\nb: '3'"
    )
    assert parsed.value == {
        "on": "yes",
        "date": "2025-01-01",
        "octal": "0755",
        "plain": True,
        "null_": None,
        "float": 1.5,
        "big": 1000.0,
        "12": "a",
        "b": "3",
    }
    assert parse_document("title: a\non: [b]", Whole, "f").on == ("b",)


def test_nearest_names_and_remedies() -> None:
    with pytest.raises(InputError) as raised:
        parse_document("titel: a\nparts: [{name: b, colour: gren}]", Whole, "f.yaml")
    assert [problem.nearest for problem in raised.value.problems] == [None, "title", "green"]
    text = str(raised.value)
    assert "f.yaml:2 · parts[0].colour: 'gren' is not one of red, green. Did you mean 'green'?" in text


def test_a_comma_that_ends_a_value_is_named() -> None:
    with pytest.raises(InputError) as raised:
        parse_document("title: a\nparts: [{name: round(a, 4)}]", Whole, "f.yaml")
    assert any("in quotes" in problem.remedy for problem in raised.value.problems)


def test_lines_of_fields() -> None:
    located = parse_located("title: a\nparts:\n  - name: b\n    size: 2\nextra:\n  odd key: 1\n", Whole, "f")
    assert [
        located.line(field)
        for field in ("title", "parts[0].size", "parts[0].colour", "parts[7].name", "extra['odd key']", "nowhere")
    ] == [1, 4, 3, 2, 6, 1]
    findings = ProblemCollector(located)
    findings.report("unknown-key", "parts[0].size", "naem", ["name"])
    (problem,) = findings.problems
    assert (problem.line, problem.nearest, problem.file) == (4, "name", "f")


def test_spelling_of_paths() -> None:
    assert spell(("parts", 2, "name", "a b")) == "parts[2].name['a b']"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfet\x00i\x00", "wrong-encoding"),
        (b"t\x00i\x00", "wrong-encoding"),
        ("title: é".encode("latin-1"), "wrong-encoding"),
        (b"\x00\x00\xfe\xff", "wrong-encoding"),
        (b"title: " + b"a" * 5_000_001, "too-large"),
    ],
)
def test_bytes_that_are_refused(data: bytes, code: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(data)
    with pytest.raises(InputError) as raised:
        read_document(file, Whole)
    assert [problem.code for problem in raised.value.problems] == [code]


def test_paths_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "right.yaml").write_bytes("\ufefftitle: é".encode())
    assert read_document(tmp_path / "right.yaml", Whole).title == "é"
    for path, code, nearest in (
        (tmp_path, "is-a-directory", None),
        (tmp_path / "rigth.yaml", "no-such-file", "right.yaml"),
        (tmp_path / "no" / "such.yaml", "no-such-file", None),
        (Path("/dev/zero"), "unreadable", None),
    ):
        with pytest.raises(InputError) as raised:
            read_document(path, Whole)
        assert [(problem.code, problem.nearest) for problem in raised.value.problems] == [(code, nearest)]


@given(st.text(max_size=200))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse_document(text, Whole, "f")
    except InputError as error:
        assert error.problems
