"""Writes the files of the delivered package from a blueprint and a selection."""

import ast
import json
import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import packages_distributions, version
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pandas as pd

from palmette.automl.artefacts import LeaderboardRow
from palmette.automl.calls import Call, Name, paths_of, source
from palmette.automl.candidates import Blueprint, ColumnUse, OwnCode, Selection
from palmette.automl.composition import COLUMNS, encoder_of, encoders_of, facts_of, learner_of, reader_of, readers_of
from palmette.automl.formatting import metric as metric_in_words
from palmette.automl.kinds import TRUE, Kind, file_kinds
from palmette.automl.learners.learner import LABELS
from palmette.automl.measure.metrics import METRICS
from palmette.automl.problems.problem import EnsembleMember, problem_of
from palmette.automl.project.layout import COMPONENTS, FEATURES, imports_of, laid_out
from palmette.automl.project.reading import file_suffixes_of, in_file_form, input_name, reader_source
from palmette.automl.project.rendering import one_line, rendered
from palmette.automl.project.vendoring import vendored
from palmette.automl.samples.joins import SQL
from palmette.automl.weights import weights_named
from palmette.documents import read_plain
from palmette.engine.actor import TextFile
from palmette.sandbox.import_policy import imported

EXAMPLES = 4  # rows for tests and documentation
LEADERS = 5  # candidates in the README
LONGEST = 60  # characters of a list of columns without a name of its own
UNCONVERGED = ("sklearn.neural_network.MLP", "sklearn.linear_model.LogisticRegression")
"""Models that warn if validation chose few steps."""


def write_package(
    blueprint: Blueprint,
    selection: Selection,
    modules: Sequence[OwnCode] = (),
    leaderboard: Sequence[LeaderboardRow] = (),
    measured: str = "out of fold",
) -> tuple[TextFile, ...]:
    """The files of the package, sorted by path; `measured` names the rows of the scores."""
    members, blueprint = _members(blueprint, selection), selection.in_use(blueprint)
    target, problem = _target_reader(blueprint), problem_of(blueprint)
    estimator = problem.decided(problem.assembled(members, selection.ensembling), selection.class_weights)
    groups, others, own = _groups(blueprint), _other_formats(blueprint), {Path(one.path).stem for one in modules}
    columns = {name: [one.name for one in listed] for name, listed in (groups | others).items()}
    layout = laid_out(reader_of(blueprint), members, estimator, columns)
    of_features = [*([target] if target else []), layout.readers, *(one.call for one in layout.features)]
    paths = [*paths_of([of_features, layout.model.call])]
    examples = _examples(blueprint, problem.examples())
    facts = {
        **_about(blueprint, selection),
        **_reading(blueprint),
        "measured": measured,
        "leaders": [row for place, row in enumerate(leaderboard) if place < LEADERS or row.chosen],
        "layout": layout,
        "target_reader": target,
        "groups": groups,
        "other_formats": others,
        "own": own,
        "imports": {
            "features": imports_of(of_features, own, FEATURES),
            "model": imports_of([layout.model.call], own),
        },
        "unconverged": any(path.startswith(UNCONVERGED) for path in paths),
        "needs_openmp": any(path.startswith(("lightgbm.", "xgboost.")) for path in paths),
        "related": {one.table: (one.file, reader_source(one)) for one in blueprint.format.joins},
        "most_rows": 10_000,
        "example": shlex.quote(json.dumps(examples[0], ensure_ascii=False)),
        **problem.package_facts(),
    }
    totals = [Name(f"{COLUMNS}.without_totals")] if blueprint.format.dialect.totals else []
    used = [*of_features, layout.model.call, *totals]
    texts = {one.path: one.text for one in modules} | {f"{COMPONENTS}.py": vendored(used)}
    asked = {"history": examples} if blueprint.series else examples
    texts["examples.json"] = json.dumps(asked, indent=1, ensure_ascii=False) + "\n"
    named = {f"{blueprint.package}/{path}": text for path, text in texts.items()}
    if joins := blueprint.format.joins:
        steps = (f"-- {one_line(one.file)}\nCREATE OR REPLACE TABLE given AS\n{one.sql};\n" for one in joins)
        named["join.sql"] = "\n".join([SQL["macros"], *steps])
    files = rendered(facts, blueprint.package, named, problem.templates)
    return (*files, TextFile(path="requirements.txt", text=_requirements(files, blueprint, selection)))


def _members(blueprint: Blueprint, selection: Selection) -> list[EnsembleMember]:
    members = []
    for one in selection.members:
        learner = learner_of(one.candidate, blueprint, one.rounds)
        if learner.path == LABELS:  # ensembles and problems encode labels themselves
            learner = learner.arguments["estimator"]
        members.append(EnsembleMember(one.candidate, one.weight, encoder_of(one.candidate, blueprint), learner))
    return members


def _target_reader(blueprint: Blueprint) -> Call | None:
    """The call that reads the target from `frame`."""
    if not (target := blueprint.target or blueprint.labels):
        return None
    column = ColumnUse(
        name=target, source=blueprint.target_in_file, kind=_target_kind(blueprint), reading=blueprint.target_reading
    )
    renamed = {"in_file": {target: column.in_file}} if column.in_file != target else {}
    return Call(f"{COLUMNS}.read_columns", {"readers": readers_of([column]), **renamed}, (Name(f"{FEATURES}frame"),))


def _target_kind(blueprint: Blueprint) -> Kind:
    """The kind that the target is read as; yes and no may have several spellings."""
    if blueprint.threshold is not None or not (blueprint.classes or blueprint.labels):
        return "number"
    spelt = blueprint.target_reading.form == "boolean" and len(blueprint.classes) == 2
    return "boolean" if spelt else "category"


def _target_type(blueprint: Blueprint) -> str:
    """The source that converts read values into targets."""
    match _target_kind(blueprint):
        case "boolean":
            yes, no = sorted(blueprint.classes, key=lambda name: name.casefold() not in TRUE)
            return f".map({source({1.0: yes, 0.0: no})})"
        case "number":
            return ".astype(float)"
        case _:
            return ".astype(int)" if blueprint.has_whole_classes else ".astype(str)"


def metric_source(blueprint: Blueprint) -> tuple[str, str]:
    """The function of `sklearn.metrics` that computes the run's metric, if one does, and the whole expression."""
    known: dict[str, dict[str, str]] = read_plain(Path(__file__).with_name("metrics.yaml"))
    ranked = known["two_classes" if len(blueprint.classes) == 2 else "many_classes"]
    expression = (known["every"] | ranked).get(blueprint.metric, "")
    positive = blueprint.positive or (blueprint.classes[-1] if blueprint.classes else "")
    named = source(int(positive) if blueprint.has_whole_classes else positive)
    function = re.match(r"(\w+)\(", expression)
    return function[1] if function else "", expression.replace("{positive}", named)


def _about(blueprint: Blueprint, selection: Selection) -> dict[str, Any]:
    columns = f"{len(blueprint.columns)} columns" if len(blueprint.columns) > 1 else "one column"
    what = f"{blueprint.target} ({len(blueprint.classes)} classes)" if blueprint.classes else blueprint.target
    dropped: dict[str, list[str]] = {}
    for name, reason in blueprint.dropped.items():
        dropped.setdefault(reason, []).append(name)
    members = [one.candidate for one in selection.members if len(selection.members) > 1]
    return {
        "blueprint": blueprint,
        "selection": selection,
        "package": blueprint.package,
        "about": f"Predicts {what} from {columns}" if blueprint.target else f"Finds clusters in {columns}",
        "why": selection.reason or f"the best of the candidates by {metric_in_words(selection.metric)}",
        "left_out": "; ".join(f"{', '.join(names)} ({reason})" for reason, names in dropped.items()),
        "reasons": "; ".join(f"{one.name}: {one.reason.rstrip('.')}" for one in members if one.reason),
        "metric": metric_in_words(blueprint.metric),
        "direction": f"{'greater' if METRICS[blueprint.metric].greater_is_better else 'smaller'} is better",
        "metric_source": metric_source(blueprint),
        "clusters": not blueprint.target,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }


def _reading(blueprint: Blueprint) -> dict[str, Any]:
    in_file = {one.name: one.in_file for one in blueprint.columns}
    by, files = blueprint.folds.by, {one.in_file: file_kinds()[one.kind] for one in blueprint.file_columns}
    renamed = {name: own for name, own in in_file.items() if name != own}
    typed = f"read_columns(rows, READERS{', IN_FILE' if renamed else ''})"
    return {
        "typed": typed,
        "target": blueprint.target or blueprint.labels,
        "target_type": _target_type(blueprint),
        "in_file": renamed,
        "reader": reader_source(blueprint.format),
        "node": next((one.in_file for one in blueprint.columns if one.kind == "node"), ""),
        "suffixes": file_suffixes_of(blueprint),
        "given": input_name(blueprint),
        "files": {name: kind.media for name, kind in files.items()},
        "most_bytes": 4 * max((kind.most_bytes for kind in files.values()), default=0),
        "folds": blueprint.folds.kind if by else "",
        "group_in_file": in_file.get(by, by),
        "times": f"{typed if by in in_file else 'rows'}[{source(by)}]",
    }


def _groups(blueprint: Blueprint) -> dict[str, list[ColumnUse]]:
    """The columns by kind, under the names of their lists in features.py."""
    kinds = dict.fromkeys(one.kind for one in blueprint.columns)
    groups = {f"{kind.upper()}_COLUMNS": [one for one in blueprint.columns if one.kind == kind] for kind in kinds}
    derived = [ColumnUse(name=one.name, kind="number", note=one.reason) for one in blueprint.derived]
    return groups | ({"DERIVED_COLUMNS": derived} if derived else {})


def _other_formats(blueprint: Blueprint) -> dict[str, list[ColumnUse]]:
    """Long lists of columns whose format in the file is not the usual one of their kind, by name."""
    found: dict[str, list[ColumnUse]] = {}
    known = list[str]()
    for kind, _, names in readers_of(blueprint.columns):
        if kind in known and len(source(names)) > LONGEST:
            found[f"{kind.upper()}_COLUMNS_{known.count(kind) + 1}"] = [blueprint.column(name) for name in names]
        known.append(kind)
    return found


def _examples(blueprint: Blueprint, frame: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Rows as a file has them; each mixes values of several rows of the data."""
    frame = _column_by_column(blueprint) if frame is None else frame
    rows = in_file_form(frame, blueprint).to_dict("records")
    return [{str(name): _short(value) for name, value in row.items()} for row in rows]


def _short(value: Any) -> Any:
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _column_by_column(blueprint: Blueprint) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for place, one in enumerate(blueprint.columns):
        kind = file_kinds().get(one.kind)
        examples = (kind.examples() if kind else one.examples) or (None,)
        first = place % len(examples)  # the columns' examples begin with the same rows of the data
        columns[one.name] = list(islice(cycle(examples), first, first + EXAMPLES))
        if one.kind == "datetime":
            columns[one.name] = pd.to_datetime(columns[one.name], format="ISO8601", utc=True).tz_localize(None)
    return pd.DataFrame(columns, dtype=object)


_distributions = cache(packages_distributions)


def _requirements(files: Sequence[TextFile], blueprint: Blueprint, selection: Selection) -> str:
    """The pinned requirements: what the package imports, its encoders need, and serves it."""
    used = {"uvicorn", {"parquet": "pyarrow", "excel": "openpyxl"}.get(blueprint.format.format, "pandas")}
    for file in files:
        if file.path.endswith(".py") and not file.path.startswith("tests/"):
            used |= {name.partition(".")[0] for name in imported(ast.parse(file.text)).values()}
    for member in selection.members:
        for one in encoders_of(member.candidate, facts_of(blueprint)):
            used |= {*one.requires, *(weights_named(name).module for name in one.weights)}
    used |= {"pyarrow"} if blueprint.format.joins else set()
    used |= {"python_multipart"} if blueprint.file_columns else set()
    known = _distributions()
    names = {known[one][0] for one in used - sys.stdlib_module_names - {blueprint.package} if one in known}
    return "".join(f"{name}=={version(name).partition('+')[0]}\n" for name in sorted(names))
