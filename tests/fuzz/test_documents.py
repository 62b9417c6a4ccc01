"""Specifications, registries, run files and topologies: whatever stands in them is read or refused in words."""

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from holds import DEEP, HOSTILE, damaged, fuzzed, outcome, values
from hypothesis import given
from hypothesis import strategies as st

from palmette import _yaml
from palmette._yaml import parse_yaml
from palmette.documents import MAX_PROBLEMS, load_plain, parse_document, parse_located, read_document, read_located
from palmette.engine import check_topology
from palmette.engine.topology import Topology
from palmette.errors import InputError
from palmette.features.samples import check_samples
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import check_run, resolve, resolve_located
from palmette.features.spec.run import Run

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "features" / "spec" / "cases"
REGISTRY = read_document(CASES / "registry.yaml", Registry)
SPEC = read_located(CASES / "base.yaml", FeatureSpec)
WORDS = """\
fsc: 1
feature_view: v
entities: [{name: user, keys: [user_id]}]
features: [{name: a, dtype: bigint, words: how many orders the user has placed in the last 30 days}]
"""
RUN = """\
run: 1
fsc: base.yaml
dfr: registry.yaml
repository: {path: repo, readme: README.md, utilities: [tools.py], config_class: "a:B", test_command: pytest}
interval: {as_of: "2025-01-01T00:00:00Z"}
output: {path: out}
spark: {master: "local[2]", memory: 1g}
planner: offline
topology: topology.yaml
models: {planner: offline}
fallback: [offline]
model_settings: {temperature: 0.1, max_tokens: 10}
budget: {steps: 3, minutes: 1, money: 1.5}
approve: [pull_request]
pull_request: {target: local, remote: origin, project: a/b, api: "https://x", token_env: T, branch: b}
"""


class Format(NamedTuple):
    """A document of one kind, and what reads it."""

    good: str
    read: Callable[[str, Path], object]


def topology_of(text: str, folder: Path) -> object:
    located = parse_located(text, Topology, "topology.yaml")
    return check_topology(located)


def registry_of(text: str, folder: Path) -> object:
    located = parse_located(text, Registry, "registry.yaml")
    if problems := check_samples(located, folder):
        raise InputError(problems)
    return resolve_located(SPEC, located)


def run_of(text: str, folder: Path) -> object:
    (folder / "run.yaml").write_text(text, "utf-8", "surrogatepass")
    if problems := check_run(read_located(folder / "run.yaml", Run), folder):
        raise InputError(problems)
    return None


def spec_of(text: str, folder: Path) -> object:
    return resolve_located(parse_located(text, FeatureSpec, "fsc.yaml"), parse_located(REGISTRY_TEXT, Registry, "dfr"))


REGISTRY_TEXT = (CASES / "registry.yaml").read_text("utf-8")
FORMATS = {
    "specification": Format((CASES / "base.yaml").read_text("utf-8"), spec_of),
    "words": Format(WORDS, spec_of),
    "registry": Format(REGISTRY_TEXT, registry_of),
    "run": Format(RUN, run_of),
    "topology": Format((ROOT / "src/palmette/features/topology.yaml").read_text("utf-8"), topology_of),
}
TREES = {name: parse_yaml(form.good).value for name, form in FORMATS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a run file names it, with links that lead out and in a circle, a pipe, and odd names."""
    made = tmp_path_factory.mktemp("a b\n😀 -x")
    for name in ("base.yaml", "registry.yaml"):
        (made / name).write_bytes((CASES / name).read_bytes())
    (made / "topology.yaml").write_text(FORMATS["topology"].good, "utf-8")
    (made / "repo").mkdir()
    for place in (made, made / "repo"):
        (place / "loop").symlink_to("loop")
        (place / "out").symlink_to("/etc")
        os.mkfifo(place / "pipe")
    return made


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value of a document can be replaced."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def with_value(tree: Any, path: tuple[Any, ...], value: object) -> Any:
    changed = node = copy.deepcopy(tree)
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return changed


@pytest.mark.parametrize("name", FORMATS)
@fuzzed(40)
@given(data=st.data())
def test_any_value_at_any_place(name: str, folder: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(places(TREES[name]), key=str)))
    changed = with_value(TREES[name], path, data.draw(values))
    outcome(lambda: FORMATS[name].read(json.dumps(changed), folder))


@pytest.mark.parametrize("name", FORMATS)
@fuzzed(15)
@given(data=st.data())
def test_any_damage_to_the_text(name: str, folder: Path, data: st.DataObject) -> None:
    text = data.draw(damaged(FORMATS[name].good.encode())).decode("utf-8", "replace")
    outcome(lambda: FORMATS[name].read(text, folder))


CHAIN = list(zip("abcdefgh", "bcdefghi", strict=True))
BOMBS = {
    "aliases": ["a: &a [x,x,x,x,x,x,x,x,x,x]", *(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]" for a, b in CHAIN)],
    "an alias of itself": ["a: &a {b: *a}"],
    "a tag that makes objects": ["a: !!python/object/apply:os.system ['touch /tmp/owned']"],
    "a tag that is none": ["a: !!bool maybe"],
    "deep flow": ["[" * DEEP],
    "deep keys": [" " * level + "a:" for level in range(DEEP)],
    "deep items": ["- " * DEEP],
    "a number of many digits": [f"a: {'9' * 5000}"],
    "a number beyond all": ["a: 1e400"],
    "a version of many digits": [f"%YAML {'1' * 5000}.1", "---", "a: 1"],
    "a character beyond all": ['a: "\\UFFFFFFFF"'],
    "half a character": ['a: "\\ud800"'],
    "NUL as an escape": ['a: "\\0"'],
    "NUL": ["a: \0"],
    "many values": ["a:", *(["- 1"] * 6000)],
    "many keys": [f"k{number}: 1" for number in range(3000)],
    "many mistakes": ["tables:", *(f"- {{nam: t{number}}}" for number in range(1000))],
    "a long line": [f"a: {'x ' * 100_000}"],
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_go_off_nowhere(bomb: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_yaml, "MAX_VALUES", 5000)
    refused = outcome(lambda: topology_of("\n".join(BOMBS[bomb]), folder))
    assert isinstance(refused, InputError)
    assert len(refused.problems) <= MAX_PROBLEMS + 1


@pytest.mark.parametrize("bomb", ["aliases", "an alias of itself", "deep keys", "a tag that is none"])
def test_what_teams_write_is_read_within_the_same_bounds(bomb: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_plain("\n".join(BOMBS[bomb]))


FIELDS = ("fsc", "topology", "repository.path", "repository.readme", "repository.utilities.0", "output.path")


@pytest.mark.parametrize("field", FIELDS)
def test_every_path_of_a_run_file_leads_somewhere_or_is_refused(field: str, folder: Path) -> None:
    path = tuple(int(part) if part.isdigit() else part for part in field.split("."))
    for text in (*HOSTILE, "loop/x", "out/passwd", "pipe", ".", "..", "/", "//x", "\\\\a\\b"):
        found = outcome(lambda text=text: run_of(json.dumps(with_value(TREES["run"], path, text)), folder))
        if field in ("repository.readme", "repository.utilities.0"):
            # Nothing outside of the repository is shown to a model.
            assert isinstance(found, InputError), text
            leads = "..", "/", "out/"
            if text.startswith(leads) and len(text) < 200:
                assert "outside-repository" in {problem.code for problem in found.problems}, text


def test_numbers_and_types_that_nobody_can_hold_are_mistakes() -> None:
    deep = "array<" * 500 + "int" + ">" * 500
    for where, text in (("derive", "1" * 5000), ("derive", "a or " * 3000 + "a"), ("dtype", deep)):
        feature = {"name": "x", "dtype": "bigint", "derive": "1"} | {where: text}
        tree = {**TREES["specification"], "features": [*TREES["specification"]["features"], feature]}
        with pytest.raises(InputError):
            resolve(parse_document(json.dumps(tree), FeatureSpec, "f"), REGISTRY)


def test_words_without_end_are_asked_to_be_shorter(folder: Path) -> None:
    text = WORDS.replace("how many orders", "how many orders " * 3000)
    found = outcome(lambda: FORMATS["words"].read(text, folder))
    assert isinstance(found, InputError) and "at most 1000" in found.problems[0].message


def test_emoji_that_json_spells_in_two_halves_are_one() -> None:
    assert parse_yaml(json.dumps({"a": "😀"})).value == {"a": "😀"}
