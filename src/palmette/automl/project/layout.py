"""Divides the calls that build a model into named functions, so that a person can read them one by one."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from palmette.automl.calls import Call, Name, Value, calls_in, mapped, paths_of, source
from palmette.automl.composition import learner_named
from palmette.automl.problems.problem import EnsembleMember
from palmette.automl.project.rendering import WIDTH
from palmette.automl.project.vendoring import copied

FEATURES = ".features."  # prefix of functions that the package defines itself
ENCODED = {
    "tree": "Features for trees: numbers, NaN for missing values, category codes.",
    "dense": "Features for networks and distances: scaled, without missing values, few columns.",
    "sparse": "Features for linear models: scaled, without missing values, any number of columns.",
}
LONG = 80  # characters of a call from which a part of another call gets a name
COMPONENTS = "components"  # the module with classes copied into the package
PIPELINE, COLUMNS = "sklearn.pipeline.Pipeline", "sklearn.compose.ColumnTransformer"
SHORTER = {PIPELINE: "sklearn.pipeline.make_pipeline", COLUMNS: "sklearn.compose.make_column_transformer"}


class FunctionSource(NamedTuple):
    """A function that returns the result of a call."""

    path: str  # its name after FEATURES
    call: Call
    doc: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def body(self) -> str:
        """The source of its statements."""
        return "\n    ".join(_statements(self.call))


class PackageLayout(NamedTuple):
    """The functions of features.py, and the one of model.py that builds the model."""

    readers: Value  # readers of the columns, by kind
    features: tuple[FunctionSource, ...]
    model: FunctionSource


def laid_out(
    reader: Call, members: Sequence[EnsembleMember], estimator: Call, columns: Mapping[str, Sequence[str]]
) -> PackageLayout:
    """Makes functions of encoders and their shared steps (features.py), and the model of these (model.py).

    The reader takes the user's frame, and the estimator what it returns. Lists of columns are replaced by their names
    in features.py, which `columns` holds.
    """
    arguments = (one.arguments.get("kw_args", {}) for one in _calls(reader))
    given: dict[str, Value] = next(one for one in arguments if "readers" in one)
    read = replaced(reader, [(value, Name(FEATURES + name.upper())) for name, value in given.items()])
    reading = read.arguments["steps"] if read.path == PIPELINE else [("columns", read)]
    encoders = _encoders(members)
    shared = sorted(_shared(encoders), key=lambda one: -len(one.name))  # the longest are used first
    separate = [_with_shared(one.call, shared) for one in encoders]
    several = {one.path for one in shared if sum(one.path in paths_of(call) for call in separate) > 1}
    steps = [("model", replaced(estimator, [(one.call, Call(one.path)) for one in encoders]))]
    if steps[0][1].path == PIPELINE:
        steps = steps[0][1].arguments["steps"]
    model = Call(PIPELINE, {"steps": [*reading, *steps]})
    features = [one._replace(call=_with_shared(one.call, shared, several)) for one in encoders]
    features[:0] = [one._replace(call=_with_shared(one.call, shared)) for one in shared if one.path in several]
    functions = tuple(one._replace(call=_named(one.call, columns)) for one in features)
    built = FunctionSource("build_model", _named(model, columns), "The unfitted model.")
    return PackageLayout(_named(given["readers"], columns), functions, built)


def replaced(value: Value, known: Sequence[tuple[Value, Value]]) -> Value:
    """The value with its known parts replaced."""
    for part, other in known:
        if type(part) is type(value) and part == value:
            return other
    return mapped(value, lambda one: replaced(one, known))


def imports_of(values: Iterable[Value], own: Collection[str], here: str | tuple[str, ...] = ()) -> list[str]:
    """The import lines that values need; those of functions that may replace a class are among them.

    What begins with `here` is defined in the module itself.
    """
    lines = set[str]()
    for path in (path for value in values for path in paths_of(value)):
        module, _, name = path.rpartition(".")
        if path.startswith(here):
            continue
        if module == "numpy":
            lines.add("import numpy as np")
        elif path.startswith(copied()):
            lines.add(f"from .{COMPONENTS} import {name}")
        elif path.startswith(FEATURES):
            lines.add(f"from .features import {name}")
        else:
            also = f", {SHORTER[path].rpartition('.')[2]}" if path in SHORTER else ""
            lines.add(f"from {'.' * (module in own)}{module} import {name}{also}")
    return sorted(lines)


def _encoders(members: Sequence[EnsembleMember]) -> list[FunctionSource]:
    """The distinct encoders, named by the layout of their features."""
    found: list[FunctionSource] = []
    for member in members:
        layout = learner_named(member.candidate.learner).layout
        if layout != "rows" and all(member.encoder != one.call for one in found):
            same = sum(one.name.startswith(layout) for one in found)
            name = f"{FEATURES}{layout}_features" + (f"_{same + 1}" if same else "")
            found.append(FunctionSource(name, member.encoder, ENCODED.get(layout, "The features.")))
    return found


def _shared(encoders: Sequence[FunctionSource]) -> Iterator[FunctionSource]:
    """Pipelines that several encoder pipelines end with, named by their steps."""
    every = [one for part in encoders for one in _calls(part.call) if one.path == PIPELINE]
    done: list[Call] = []
    for one in every:
        steps = one.arguments["steps"]
        if sum(other.arguments["steps"][-len(steps) :] == steps for other in every) > 1 and one not in done:
            done.append(one)
            name = "_".join(name for name, _ in steps)
            yield FunctionSource(FEATURES + name, one, "Steps that several kinds of columns share.")


def _calls(value: Value) -> Iterator[Call]:
    return (one for one in calls_in(value) if isinstance(one, Call))


def _with_shared(whole: Call, shared: Sequence[FunctionSource], functions: Collection[str] | None = None) -> Call:
    """The call with calls of functions in place of the steps that they return; of these functions, if they are given.

    Other shared steps become a pipeline of their own, which `_statements` assigns to a variable.
    """

    def change(value: Value) -> Value:
        if isinstance(value, Call) and value.path == PIPELINE:
            steps = value.arguments["steps"]
            for one in shared:
                ending = one.call.arguments["steps"]
                if steps[-len(ending) :] == ending:
                    before = steps[: -len(ending)]
                    call = Call(one.path) if functions is None or one.path in functions else one.call
                    return mapped(value.where(steps=[*before, (one.name, call)]), change) if before else call
        return mapped(value, change)

    made: Call = mapped(whole, change)
    return made


def _named(value: Value, columns: Mapping[str, Sequence[str]]) -> Value:
    """The value with lists of columns replaced by their names."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        rest, found = list(value), list[str]()
        while fitting := [one for one, known in columns.items() if known and rest[: len(known)] == list(known)]:
            found.append(fitting[0])
            rest = rest[len(columns[fitting[0]]) :]
        return value if rest else Name(FEATURES + " + ".join(found))
    return mapped(value, lambda one: _named(one, columns))


def _statements(call: Call) -> list[str]:
    """The statements that return a call.

    Its long parts are assigned to variables first, named by step or argument, or by their steps if they occur again.
    """
    variables = dict.fromkeys((path.rpartition(".")[2] for path in paths_of(call)), "")
    every = list(_calls(call))

    def compact(value: Value, name: str = "") -> Value:
        """The value with `make_pipeline` and `make_column_transformer` in place of named steps."""
        match value:
            case Call(path=path, arguments={"steps": steps}) if path == PIPELINE and len(value.arguments) == 1:
                made: Value = Call(SHORTER[path], {}, tuple(compact(one, step) for step, one in steps))
                name = "_".join(step for step, _ in steps) if every.count(value) > 1 else name
            case Call(path=path, arguments={"transformers": [_, *_] as parts, **rest}) if path == COLUMNS and not rest:
                made = Call(SHORTER[path], {}, tuple((compact(one, part), names) for part, one, names in parts))
            case Call(path=path, arguments=arguments, positional=positional):
                given = {key: compact(one, key) for key, one in arguments.items()}
                made = Call(path, given, tuple(compact(one, name) for one in positional))
            case tuple() if len(value) == len(["name", "estimator"]) and isinstance(value[0], str):
                made = (value[0], compact(value[1], value[0]))
            case _:
                made = mapped(value, compact)
        if is_long and name and isinstance(made, Call) and len(source(made)) > LONG:
            if known := [one for one, text in variables.items() if text == source(made)]:
                return Name(f".{known[0]}")
            plain = re.sub(r"\W+", "_", name)
            numbered = (plain if place == 1 else f"{plain}_{place}" for place in count(1))
            name = next(one for one in numbered if one not in variables)
            variables[name] = source(made)
            return Name(f".{name}")
        return made

    is_long = False
    is_long = len(source(compact(call))) > WIDTH - len("    return ")
    returned = source(compact(call))
    return [*(f"{name} = {text}" for name, text in variables.items() if text), f"return {returned}"]
