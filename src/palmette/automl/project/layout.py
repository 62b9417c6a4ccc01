"""Divides the tree of calls that a model is into named functions that a person reads one by one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palmette.automl.calls import Call, Name, Value, calls_in, mapped, paths_of, source
from palmette.automl.problems.problem import Member
from palmette.automl.project.vendoring import OWN

FEATURES, MODEL = ".features.", ".model."
"""How the paths of functions begin that the package defines itself."""
ENCODED = {
    "tree": "Numbers with NaN for missing values, and codes of categories: what trees take.",
    "dense": "Scaled numbers, nothing missing, few columns: what distances, networks and dense linear models take.",
    "sparse": "Scaled numbers, nothing missing, any number of columns: what linear models take.",
}
SHORT = 60
"""Characters of the source of a member up to which it needs no function of its own."""
COMPONENTS = "components"
"""The module of classes that were copied into the package."""
PIPELINE, COLUMNS = "sklearn.pipeline.Pipeline", "sklearn.compose.ColumnTransformer"


@dataclass(frozen=True)
class ModelCalls:
    """The delivered model as calls."""

    reader: Call
    """The user's frame -> typed columns."""
    target: Call | None
    """The user's frame -> a frame with the typed target; None without a target."""
    members: tuple[Member, ...]
    layouts: tuple[str, ...]
    """Of the members, in their order."""
    estimator: Call
    """Typed columns -> predictions."""


class FunctionSource(NamedTuple):
    """A function that returns what a call makes."""

    name: str
    call: Call
    doc: str

    @property
    def returns(self) -> Name:
        """The class of what it returns."""
        made = {"make_pipeline": PIPELINE, "make_column_transformer": COLUMNS}
        return Name(made.get(self.call.short, self.call.path))


class PackageLayout(NamedTuple):
    """The functions of features.py and of model.py."""

    readers: Value
    """Of the columns, by kind."""
    features: tuple[FunctionSource, ...]
    members: tuple[FunctionSource, ...]
    model: Call
    """Of `build_model`."""


def laid_out(calls: ModelCalls, columns: Mapping[str, Sequence[str]]) -> PackageLayout:
    """Encoders and the steps that they share become functions of features.py, members functions of model.py.

    `columns` are the lists in features.py, by name; they stand for the columns in them.
    """
    readers = _readers(calls.reader)
    typed = replaced(calls.reader, [(readers, Name(FEATURES + "READERS"))])
    assert isinstance(typed, Call)
    features = [FunctionSource("typed_columns", typed, "Reads the columns as the file has them.")]
    encoders = _encoders(calls)
    shared = [
        FunctionSource("_".join(names), call, "Steps for several kinds of columns.")
        for names, call in _shared(encoders)
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
    """The value with each known part in it replaced."""
    for part, other in known:
        if type(part) is type(value) and part == value:
            return other
    return mapped(value, lambda one: replaced(one, known))


def imports_of(values: Iterable[Value], own: Collection[str], here: str) -> list[str]:
    """Import lines of what values need.

    Args:
        values: Calls and names.
        own: Modules of own code in the package.
        here: `FEATURES` or `MODEL`, the file itself.
    """
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
    """The different encoders, named by the layout that they make."""
    found: list[FunctionSource] = []
    for member, layout in zip(calls.members, calls.layouts, strict=True):
        if layout != "rows" and all(member.encoder != one.call for one in found):
            same = sum(one.name.startswith(layout) for one in found)
            name = f"{layout}_features" + (f"_{same + 1}" if same else "")
            found.append(FunctionSource(name, member.encoder, ENCODED.get(layout, "The features.")))
    return found


def _shared(encoders: Sequence[FunctionSource]) -> Iterator[tuple[list[str], Call]]:
    """Pipelines that several pipelines of the encoders are, or end with; each with the names of its steps."""
    every = [one for part in encoders for one in _calls(part.call) if one.short == "Pipeline"]
    done: list[Call] = []
    for one in every:
        steps = one.arguments["steps"]
        if sum(other.arguments["steps"][-len(steps) :] == steps for other in every) > 1 and one not in done:
            done.append(one)
            yield [name for name, _ in steps], one


def _members(calls: ModelCalls) -> list[FunctionSource]:
    """A function for each learner with all that is around it and nothing else, unless two are the same."""
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
    """All calls in a value, outer ones first."""
    return (one for one in calls_in(value) if isinstance(one, Call))


def _after(first: Call, estimator: Call) -> Call:
    """A pipeline that begins with `first`."""
    if estimator.path == PIPELINE:
        return estimator.where(steps=[("columns", first), *estimator.arguments["steps"]])
    return Call(PIPELINE, {"steps": [("columns", first), ("model", estimator)]})


def _readable(
    part: FunctionSource, columns: Mapping[str, Sequence[str]], shared: Sequence[FunctionSource]
) -> FunctionSource:
    """The function with shared steps as calls of their function, and lists of columns by name."""

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


def _readers(call: Call) -> Value:
    """The argument of `read_columns`, where it is called in this."""
    return next(
        one.arguments["kw_args"]["readers"] for one in _calls(call) if "readers" in one.arguments.get("kw_args", ())
    )


def _named(value: Value, columns: Mapping[str, Sequence[str]]) -> Value:
    """The value with lists of columns by their names."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return _by_name(value, columns) or value
    return mapped(value, lambda one: _named(one, columns))


def _by_name(names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Name | None:
    """The lists of columns that are these names one after the other; None where they are not."""
    rest, found = list(names), list[str]()
    while rest:
        fitting = [one for one, known in columns.items() if known and rest[: len(known)] == list(known)]
        if not fitting:
            return None
        found.append(fitting[0])
        rest = rest[len(columns[fitting[0]]) :]
    return Name(FEATURES + " + ".join(found))


def _compact(value: Call) -> Call:
    """The same with pipelines and column transformers whose steps have no names."""

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
