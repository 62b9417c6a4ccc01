"""Turns a blueprint and a candidate into estimators as data, composed of encoders and a learner; fits nothing."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_args

from palmette.automl.calls import Call, Name, Value, function_step, pipeline, source, with_arguments
from palmette.automl.candidates import LEFT_OUT, Blueprint, Candidate, ColumnUse
from palmette.automl.encoders.encoder import DataFacts, DefaultConfig, Encoder, Layout, Transformer
from palmette.automl.encoders.shared import FromFolder, scaled
from palmette.automl.kinds import STRUCTURE, UNUSABLE, Kind, Track, file_kinds
from palmette.automl.learners.learner import FoldData, Learner, Measured, Settings, TrainingSetup
from palmette.automl.parsing import MONTH, QUARTER
from palmette.automl.problem_traits import learning_task
from palmette.automl.task_spec.spec import LearnerWish
from palmette.engine.registry import create, load, names

ORDER: tuple[Kind, ...] = ("number", "boolean", "datetime", "category")  # order of the features; other kinds follow
COLUMNS = "palmette.automl.encoders.columns"
DERIVED = "palmette.automl.encoders.derived"
ARRAYS = "palmette.automl.encoders.columns.with_arrays"
OPERATIONS = {
    "difference": "numpy.subtract", "elapsed": "numpy.subtract", "ratio": "numpy.divide", "square": "numpy.square",
    "sum": "numpy.add", "product": "numpy.multiply", "least": "numpy.minimum", "greatest": "numpy.maximum",
}  # fmt: skip
"""Functions of derived features that are not named after their operation."""
REBALANCED = "palmette.automl.learners.wrappers.Rebalanced"
USUAL_WORDS = 10.0  # assumed length of a text column that was not measured
COMPARABLE_LENGTHS = 1.5  # largest ratio of the lengths of two texts that count as comparable
QUICK_SHARE = 1 / 3  # share of the budget within which a default encoder has to encode all rows
CODE_LENGTH = 3  # fewest digits of a code with leading zeros


class EncodedColumns(NamedTuple):
    """Columns that share a transformer."""

    name: str
    transformer: Transformer
    columns: list[str] | str  # a plain name passes the column as a series
    categorical: tuple[bool, ...]


@dataclass(frozen=True)
class OwnLearner(Learner):
    """A class written by a language model: any scikit-learn estimator on dense features."""

    path: str
    name = "own"
    layout = "dense"
    description = "A model written for this task."
    measured = Measured(1.0, 1e-5, kilobytes=1000.0, milliseconds=5.0)

    def estimator(self, settings: Settings, setup: TrainingSetup, rounds: int | None = None) -> Call:
        return Call(self.path, dict(settings))


@cache
def learner_named(name: str) -> Learner:
    """Returns the registered learner, or a learner for a class path such as `own_models.Spline`."""
    learner: Learner = OwnLearner(name) if "." in name else create("learner", name)
    return learner


@cache
def encoder_named(name: str) -> Encoder:
    encoder: Encoder = create("encoder", name)
    return encoder


def learners() -> tuple[Learner, ...]:
    return tuple(map(learner_named, names("learner")))


@cache
def encoders() -> tuple[Encoder, ...]:
    return tuple(map(encoder_named, names("encoder")))


def available_learners(
    problem: str, kinds: Iterable[Kind], tracks: Iterable[Track] = (), rows: int = 0
) -> tuple[str, ...]:
    """Returns the names of learners that can train here on such columns, most promising first, without the dummy."""
    usable = tuple(one for one in dict.fromkeys(kinds) if one not in UNUSABLE and one not in STRUCTURE)
    wanted, solving = frozenset(tracks), {problem, learning_task(problem)}
    words = 10.0 if {*usable} - {*ORDER} else 0.0
    facts = DataFacts(max(rows, 1), max(len(usable), 1), problem, 1, 0, "", 5, usable, (2,), words)
    found = [
        one
        for one in learners()
        if one.name != "dummy"
        and solving & one.problems
        and (not wanted or wanted & _tracks_of(one, facts))
        and rows <= one.most_rows
        and (not one.kinds or one.kinds & {*usable})
        and not one.unavailable()
        and (one.layout == "rows" or all(usual_encoder(kind, one.layout) for kind in usable))
    ]
    ranks = {one.name: min((start.rank for start in one.portfolio(facts)), default=0.0) for one in found}
    return tuple(sorted(ranks, key=lambda name: (ranks[name], name)))


def _tracks_of(learner: Learner, facts: DataFacts) -> set[Track]:
    """Returns a learner's track, and `pretrained` if it can use vectors from pretrained weights."""
    others = [encoder_named(name) for start in encoder_starts(learner.name, facts) for name in start.encoders.values()]
    return {learner.track, "pretrained"} if any(one.weights for one in others) else {learner.track}


def usable_learners(blueprint: Blueprint, track: Track) -> tuple[str, ...]:
    """Returns the learners of a track that can train here on a blueprint's columns."""
    return available_learners(blueprint.problem, [one.kind for one in blueprint.columns], (track,), blueprint.rows)


def unavailable(track: Track, problem: str = "", kinds: Collection[Kind] = ()) -> str:
    """Returns why no learner of a track (for a problem) can train on this machine, with a remedy; empty if one can.

    Encoders of columns of these kinds with pretrained weights count for the track `pretrained`.
    """
    solving = {problem, learning_task(problem)} if problem else set()
    found = [one for one in learners() if one.track == track and (not problem or solving & one.problems)]
    if kinds:
        found = [one for one in found if not one.kinds or one.kinds & {*kinds}]
        found.sort(key=lambda one: (problem not in one.problems, len(one.requires)))
    on_vectors = [one for one in encoders() if one.kind in kinds and (one.trained or isinstance(one, FromFolder))]
    on_vectors.sort(key=lambda one: isinstance(one, FromFolder))  # packages are installed more easily
    reasons = [one.unavailable() for one in (*(on_vectors if track == "pretrained" else ()), *found)]
    return "" if "" in reasons else reasons[0] if reasons else f"No learner of the track {track!r} is registered."


def meant(name: str) -> frozenset[str]:
    """Returns the learners that a learner's or family's name in a request refers to."""
    word = name.casefold().replace(" ", "_").replace("-", "_")
    return frozenset(one.name for one in learners() if word == one.name or word in one.families)


def wished(wishes: Iterable[LearnerWish], level: str) -> frozenset[str]:
    """Returns the learners that the wishes of a level refer to."""
    return frozenset[str]().union(*(meant(one.name) for one in wishes if one.level == level))


def usual_encoder(kind: Kind, layout: Layout, facts: DataFacts | None = None) -> Encoder | None:
    """Returns the default encoder of a kind for a layout; beside columns of other kinds, the best one that is quick."""
    found = [one for one in encoders() if one.kind == kind and layout in one.layouts and not one.unavailable()]
    usual = next((one for one in found if one.usual), None)
    beside = [one for one in found if one.usual_beside]
    if facts is None or not beside or facts.is_alone(kind):
        return usual
    return _best_quick(beside, facts) or min(beside, key=lambda one: one.seconds(facts))


def _best_quick(some: Iterable[Encoder], facts: DataFacts) -> Encoder | None:
    """Returns the encoder that takes longest of those that are quick enough to encode all rows."""
    quick = [one for one in some if one.seconds(facts) * facts.folds <= QUICK_SHARE * facts.seconds]
    return max(quick, key=lambda one: one.seconds(facts), default=None)


def embedding_encoder(kind: Kind, facts: DataFacts) -> Encoder | None:
    """Returns the encoder for comparing cells of a kind: a pretrained one if it is quick, else the default."""
    usable = (one for one in encoders() if one.kind == kind and "dense" in one.layouts and not one.unavailable())
    pretrained = (one for one in usable if one.weights and not one.usual_beside)
    return _best_quick(pretrained, facts) or usual_encoder(kind, "dense")


def encoder_for(candidate: Candidate, kind: Kind, facts: DataFacts) -> Encoder | None:
    """Returns the encoder that a candidate names for a kind, else the default one."""
    if named := candidate.encoders.get(kind):
        return None if named == LEFT_OUT else encoder_named(named)
    if not facts.supervised and kind not in ORDER:
        return embedding_encoder(kind, facts)
    return usual_encoder(kind, learner_named(candidate.learner).layout, facts)


def encoder_starts(learner: str, facts: DataFacts) -> list[DefaultConfig]:
    """Returns a learner's starting points with encoders other than the defaults."""
    layout = learner_named(learner).layout
    usable = [one for one in encoders() if one.kind in facts.kinds and layout in one.layouts and not one.unavailable()]
    return [
        start._replace(name=f"{learner}-{one.name.removeprefix(one.kind + '_')}", encoders={one.kind: one.name})
        for one in usable
        for start in one.starts(facts)
        if start.name == learner
    ]


def encoders_of(candidate: Candidate, facts: DataFacts) -> list[Encoder]:
    """Returns the registered encoders that a candidate uses."""
    found = (encoder_for(candidate, kind, facts) for kind in dict.fromkeys(facts.kinds))
    return [one for one in found if one]


def weights_of(candidate: Candidate) -> list[str]:
    """Returns the names of the pretrained weights of the encoders that a candidate names."""
    named = [encoder_named(name) for name in candidate.encoders.values() if name != LEFT_OUT]
    return [weights for one in named for weights in one.weights]


def candidate_track(candidate: Candidate) -> Track:
    """Returns `pretrained` if an encoder uses pretrained weights, else the track of the learner or its own module."""
    own = (track for track in get_args(Track) if candidate.learner.startswith(f"own_{track}."))
    return next(own, "pretrained" if weights_of(candidate) else learner_named(candidate.learner).track)


def facts_of(blueprint: Blueprint) -> DataFacts:
    """Returns the facts that costs and starting points depend on."""
    count = len(blueprint.classes)
    columns = [one for one in blueprint.columns if one.kind not in STRUCTURE]
    texts = [one for one in columns if one.kind == "text"]
    words = [one.words or USUAL_WORDS for one in texts]
    return DataFacts(
        rows=blueprint.rows,
        columns=sum(kind.width if (kind := file_kinds().get(one.kind)) else 1 for one in columns)
        + len(blueprint.derived),
        problem=blueprint.problem,
        outputs=count if count > 2 else 1,
        classes=count,
        metric=blueprint.metric,
        folds=blueprint.folds.count,
        kinds=tuple(one.kind for one in columns),
        clusters=blueprint.clusters,
        series=blueprint.series,
        seconds=blueprint.budget,
        words=sum(words),
        pairs=len(words) > 1 and max(words) <= COMPARABLE_LENGTHS * min(words),
    )


def reader_of(blueprint: Blueprint) -> Call:
    """Returns the first step, from raw rows (of `pandas.read_csv` or JSON) or typed rows to typed columns."""
    given: dict[str, Any] = {"readers": readers_of(blueprint.columns)}
    if in_file := {one.name: one.in_file for one in blueprint.columns if one.in_file != one.name}:
        given["in_file"] = in_file
    steps = [("columns", function_step(f"{COLUMNS}.read_columns", **given))]
    if arrays := {one.name: (list(one.array.columns), one.array.top) for one in blueprint.columns if one.array}:
        steps.insert(0, ("arrays", function_step(ARRAYS, arrays=arrays)))
    made = {}
    for one in blueprint.derived:
        function = Name(OPERATIONS.get(one.operation, f"{DERIVED}.{one.operation}"))
        made[one.name] = (function, list(reversed(one.columns) if one.operation == "elapsed" else one.columns))
    if made:
        steps.append(("derived", function_step(f"{DERIVED}.add_columns", made=made)))
    return pipeline(*steps) if len(steps) > 1 else steps[0][1]


def readers_of(columns: Sequence[ColumnUse]) -> list[tuple[Kind, Value, list[str]]]:
    """The argument of `read_columns`: the usual reader of all columns of a kind, then the others, which override it."""
    found: list[tuple[Kind, Value, list[str]]] = []
    for kind in dict.fromkeys((*ORDER, *(one.kind for one in columns))):
        every, groups = [one for one in columns if one.kind == kind], dict[str, tuple[Value, list[str]]]()
        for one in every:
            reader = cell_reader(one)
            groups.setdefault(source(reader), (reader, []))[1].append(one.name)
        for place, (reader, alike) in enumerate(sorted(groups.values(), key=lambda group: -len(group[1]))):
            found.append((kind, reader, alike if place else [one.name for one in every]))
    return found


def cell_reader(column: ColumnUse) -> Call | Name:
    """Returns the function that parses a cell of a column."""
    if kind := file_kinds().get(column.kind):
        return Name(kind.reader)
    reading, given = column.reading, dict[str, Value]()
    match column.kind:
        case "number" if reading.form == "clock":
            name = "clock"
        case "number" if not reading.is_plain:
            name = "formatted_number"
            given = {"decimal": reading.decimal, "thousands": reading.thousands, "unit": reading.affix}
        case "number" | "boolean":
            name = column.kind
        case "datetime" if reading.form == "unix":
            name, given = "unix_time", {"per_second": reading.per_second}
        case "datetime":
            name = "quarter" if any(QUARTER in one for one in reading.formats) else "timestamp"
            formats = [one.replace(QUARTER, MONTH) for one in reading.formats if one != "ISO8601"]
            given = {"formats": formats} if formats else {}
        case "category" if digits := _code_length(column):
            name, given = "code", {"digits": digits}
        case _:
            name = "text_of"
    place = "palmette.automl.learners.graph.nodes.neighbours" if column.kind == "edges" else f"{COLUMNS}.{name}"
    found = with_arguments(place, **{key: value for key, value in given.items() if value})
    missing = [text for text in reading.missing if text]
    return with_arguments(f"{COLUMNS}.unless", missing=missing, read=found) if missing else found


def encoder_of(candidate: Candidate, blueprint: Blueprint) -> Call:
    """Returns the encoder from typed columns to features: a ColumnTransformer, possibly wrapped by the problem."""
    if learner_named(candidate.learner).layout == "rows":
        return Call("sklearn.preprocessing.FunctionTransformer")
    transformers = [(one.name, one.transformer, one.columns) for one in _parts(candidate, blueprint)]
    columns = Call("sklearn.compose.ColumnTransformer", {"transformers": transformers})
    encoder: Call = load("problem", blueprint.problem)(blueprint).encoder(columns, candidate)
    return encoder


def encoding_key(candidate: Candidate, blueprint: Blueprint) -> str:
    """Returns a key that is equal for candidates with the same features."""
    text = f"{source(encoder_of(candidate, blueprint))} {candidate.strategy.target_transform}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def learner_of(candidate: Candidate, blueprint: Blueprint, rounds: int | None = None) -> Call:
    """Returns the estimator for encoded features, with the balance of classes that the candidate's strategy demands."""
    learner = learner_named(candidate.learner)
    parts = _parts(candidate, blueprint) if learner.layout == "tree" else []
    flags = tuple(flag for part in parts for flag in part.categorical)
    setup = TrainingSetup(facts_of(blueprint), blueprint.seed, flags, more=bool(candidate.features))
    call = learner.estimator(candidate.settings, setup, rounds)
    how = candidate.strategy.balance
    return call if how == "none" else Call(REBALANCED, {"estimator": call, "how": how, "random_state": blueprint.seed})


def fit_fold(candidate: Candidate, estimator: Any, fold: FoldData, deadline: float) -> int | None:
    """Fits an estimator from `learner_of`; iterative learners stop at `deadline`, a value of `time.monotonic()`.

    Returns the number of steps for `learner_of`, to repeat the fit without validation rows.
    """
    from sklearn.base import clone

    learner = learner_named(candidate.learner)
    if not hasattr(estimator, "rebalanced"):
        return learner.fit(estimator, fold, deadline)
    rows, target, weights = estimator.rebalanced(fold.train, fold.target)
    estimator.estimator_ = clone(estimator.estimator)
    return learner.fit(estimator.estimator_, FoldData(rows, target, fold.valid, fold.valid_target, weights), deadline)


def _parts(candidate: Candidate, blueprint: Blueprint) -> list[EncodedColumns]:
    layout, facts = learner_named(candidate.learner).layout, facts_of(blueprint)
    added = blueprint.derived if candidate.derived else ()
    derived = [ColumnUse(name=one.name, kind="number", note=one.reason) for one in added]
    every = (*blueprint.columns, *derived)
    found: list[EncodedColumns] = []
    for kind in dict.fromkeys((*ORDER, *(one.kind for one in every))):
        found += _encoded(candidate, kind, every, layout, facts)
    if candidate.features:
        own = scaled(layout, facts, ("features", Call(candidate.features)))
        found.append(EncodedColumns("own", own, [one.name for one in every], ()))
    return _merged(found)


def _encoded(
    candidate: Candidate, kind: Kind, every: Sequence[ColumnUse], layout: Layout, facts: DataFacts
) -> list[EncodedColumns]:
    """Encodes the columns of a kind; an encoder that splits them returns several parts."""
    columns = [one for one in every if one.kind == kind]
    encoder = encoder_for(candidate, kind, facts) if columns else None
    if encoder is None:
        return []
    columns += [one for one in every if one.kind in encoder.reads]
    made = encoder.transformer(columns, layout, facts)
    flags = encoder.categorical(columns, layout, facts) if layout == "tree" else ()
    if isinstance(made, Call) and made.path == "sklearn.compose.ColumnTransformer":
        nested = made.arguments["transformers"]
        parts = [EncodedColumns(f"{kind}_{name}", one, names, ()) for name, one, names in nested]
        return [*parts[:-1], *(one._replace(categorical=flags) for one in parts[-1:])]
    return [EncodedColumns(kind, made, [one.name for one in columns], flags)]


def _merged(parts: Iterable[EncodedColumns]) -> list[EncodedColumns]:
    found: list[EncodedColumns] = []
    for part in parts:
        last = found[-1] if found else None
        if last and last.transformer == part.transformer and {last.name, part.name} <= {*ORDER}:
            flags = found.pop().categorical + part.categorical
            part = last._replace(columns=[*last.columns, *part.columns], categorical=flags)
        found.append(part)
    return found


def _code_length(column: ColumnUse) -> int:
    """Returns the length of codes with leading zeros such as 00501; 0 for other columns."""
    texts = [str(one) for one in (*column.categories, *column.examples)] if column.kind == "category" else []
    length = len(texts[0]) if texts else 0
    codes = all(text.isdecimal() and len(text) == length for text in texts)
    return length if codes and length >= CODE_LENGTH and any(text.startswith("0") for text in texts) else 0
