"""Divides the calls that build a model into named functions, so that a person can read them one by one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palmette.automl.calls import Call, Name, Value, calls_in, mapped, paths_of, source
from palmette.automl.problems.problem import EnsembleMember
from palmette.automl.project.vendoring import OWN

FEATURES, MODEL = ".features.", ".model."  # prefixes of functions that the package defines itself
ENCODED = {
    "tree": "Features for trees: numbers, NaN for missing values, category codes.",
    "dense": "Features for networks and distances: scaled, without missing values, few columns.",
    "sparse": "Features for linear models: scaled, without missing values, any number of columns.",
}
SHORT = 60  # source of at most this many characters needs no function of its own
COMPONENTS = "components"  # the module with classes copied into the package
PIPELINE, COLUMNS = "sklearn.pipeline.Pipeline", "sklearn.compose.ColumnTransformer"


@dataclass(frozen=True)
class ModelCalls:
    """The delivered model as calls."""

    reader: Call  # from the user's frame to typed columns
    target: Call | None  # from the user's frame to the typed target; None without a target
    members: tuple[EnsembleMember, ...]
    layouts: tuple[str, ...]  # the layout of each member's features
    estimator: Call  # from typed columns to predictions


class FunctionSource(NamedTuple):
    """A function that returns the result of a call."""

    name: str
    call: Call
    doc: str

    @property
    def returns(self) -> Name:
        """The class of its result."""
        made = {"make_pipeline": PIPELINE, "make_column_transformer": COLUMNS}
        return Name(made.get(self.call.short, self.call.path))


class PackageLayout(NamedTuple):
    """The functions of features.py and of model.py."""

    readers: Value  # readers of the columns, by kind
    features: tuple[FunctionSource, ...]
    members: tuple[FunctionSource, ...]
    model: Call  # the body of `build_model`


def laid_out(calls: ModelCalls, columns: Mapping[str, Sequence[str]]) -> PackageLayout:
    """Makes functions of encoders and their shared steps (features.py) and of members (model.py).

    Lists of columns are replaced by their names in features.py, which `columns` holds.
    """
    given = _reading(calls.reader)
    readers = given["readers"]
    typed = replaced(calls.reader, [(value, Name(FEATURES + name.upper())) for name, value in given.items()])
    assert isinstance(typed, Call)
    features = [FunctionSource("typed_columns", typed, "Reads columns as they are written in the file.")]
    encoders = _encoders(calls)
    shared = [
        FunctionSource("_".join(names), call, "Steps that several kinds of columns share.")
        for names, call in sorted(_shared(encoders), key=lambda one: -len(one[0]))  # the longest are used first
    ]
    members = _members(calls) if len(calls.members) > 1 else []
    known = [(one.call, Call(FEATURES + one.name)) for one in encoders]
    model = replaced(calls.estimator, [*known, *((one.call, Call(MODEL + one.name)) for one in members)])
    return PackageLayout(
        _named(readers, columns),
        tuple(_readable(one, columns, shared) for one in (*features, *shared, *encoders)),
        tuple(_readable(one, columns, ()) for one in members),
        _compact(_after(Call(FEATURES + "typed_columns"), model)),
    )


def replaced(value: Value, known: Sequence[tuple[Value, Value]]) -> Value:
    """The value with its known parts replaced."""
    for part, other in known:
        if type(part) is type(value) and part == value:
            return other
    return mapped(value, lambda one: replaced(one, known))


def imports_of(values: Iterable[Value], own: Collection[str], here: str) -> list[str]:
    """The import lines that values need."""
    lines = set[str]()
    for path in (path for value in values for path in paths_of(value)):
        module, _, name = path.rpartition(".")
        if path.startswith(here):
            continue
        if module == "numpy":
            lines.add("import numpy as np")
        elif path.startswith(OWN):
            lines.add(f"from .{COMPONENTS} import {name}")
        elif path.startswith(FEATURES):
            lines.add(f"from .features import {name}")
        else:
            lines.add(f"from {'.' * (module in own)}{module} import {name}")
    return sorted(lines)


def _encoders(calls: ModelCalls) -> list[FunctionSource]:
    """The distinct encoders, named by the layout of their features."""
    found: list[FunctionSource] = []
    for member, layout in zip(calls.members, calls.layouts, strict=True):
        if layout != "rows" and all(member.encoder != one.call for one in found):
            same = sum(one.name.startswith(layout) for one in found)
            name = f"{layout}_features" + (f"_{same + 1}" if same else "")
            found.append(FunctionSource(name, member.encoder, ENCODED.get(layout, "The features.")))
    return found


def _shared(encoders: Sequence[FunctionSource]) -> Iterator[tuple[list[str], Call]]:
    """Pipelines that several encoder pipelines end with, each with the names of its steps."""
    every = [one for part in encoders for one in _calls(part.call) if one.short == "Pipeline"]
    done: list[Call] = []
    for one in every:
        steps = one.arguments["steps"]
        if sum(other.arguments["steps"][-len(steps) :] == steps for other in every) > 1 and one not in done:
            done.append(one)
            yield [name for name, _ in steps], one


def _members(calls: ModelCalls) -> list[FunctionSource]:
    """A function for each distinct learner with its wrappers, unless it is short."""
    found: list[FunctionSource] = []
    for call in _calls(calls.estimator):
        inside = [member for member in calls.members for one in _calls(call) if one == member.learner]
        encoded = any(one == member.encoder for member in calls.members for one in _calls(call))
        taken = any(part.call == call or call in _calls(part.call) for part in found)
        if len({id(one) for one in inside}) == 1 and not encoded and not taken and len(source(call)) > SHORT:
            candidate = inside[0].candidate
            reason = candidate.reason[:1].upper() + candidate.reason[1:]
            found.append(FunctionSource(re.sub(r"\W+", "_", candidate.name), call, reason))
    return found


def _calls(value: Value) -> Iterator[Call]:
    return (one for one in calls_in(value) if isinstance(one, Call))


def _after(first: Call, estimator: Call) -> Call:
    if estimator.path == PIPELINE:
        return estimator.where(steps=[("columns", first), *estimator.arguments["steps"]])
    return Call(PIPELINE, {"steps": [("columns", first), ("model", estimator)]})


def _readable(
    part: FunctionSource, columns: Mapping[str, Sequence[str]], shared: Sequence[FunctionSource]
) -> FunctionSource:
    """The function, with calls in place of shared steps and names in place of lists of columns."""

    whole = _named(part.call, columns)

    def shortened(value: Value) -> Value:
        if isinstance(value, Call) and value.path == PIPELINE and value is not whole:
            steps = value.arguments["steps"]
            for one in shared:
                ending = one.call.arguments["steps"]
                if steps[-len(ending) :] == ending:
                    before, call = steps[: -len(ending)], Call(FEATURES + one.name)
                    return mapped(value.where(steps=[*before, (one.name, call)]), shortened) if before else call
        return mapped(value, shortened)

    made = shortened(whole)
    assert isinstance(made, Call)
    return part._replace(call=_compact(made))


def _reading(call: Call) -> dict[str, Value]:
    every = (one.arguments.get("kw_args", {}) for one in _calls(call))
    return next(given for given in every if "readers" in given)


def _named(value: Value, columns: Mapping[str, Sequence[str]]) -> Value:
    """The value with lists of columns replaced by their names."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return _by_name(value, columns) or value
    return mapped(value, lambda one: _named(one, columns))


def _by_name(names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Name | None:
    """The sum of lists of columns that equals these names; None if there is none."""
    rest, found = list(names), list[str]()
    while rest:
        fitting = [one for one, known in columns.items() if known and rest[: len(known)] == list(known)]
        if not fitting:
            return None
        found.append(fitting[0])
        rest = rest[len(columns[fitting[0]]) :]
    return Name(FEATURES + " + ".join(found))


def _compact(value: Call) -> Call:
    """The call with `make_pipeline` and `make_column_transformer` in place of named steps."""

    def compacted(value: Value) -> Value:
        made = mapped(value, compacted)
        if isinstance(made, Call) and made.path == PIPELINE and set(made.arguments) == {"steps"}:
            return Call("sklearn.pipeline.make_pipeline", {}, tuple(step for _, step in made.arguments["steps"]))
        if isinstance(made, Call) and made.path == COLUMNS and set(made.arguments) == {"transformers"}:
            parts = tuple(one[1:] for one in made.arguments["transformers"])
            return Call("sklearn.compose.make_column_transformer", {}, parts)
        return made

    made = compacted(value)
    assert isinstance(made, Call)
    return made
