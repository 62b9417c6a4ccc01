"""Builds blueprints from a data plan and candidates; problem, split and file determine the other fields."""

import keyword
import re
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from palmette.automl.artefacts import DataPlan
from palmette.automl.candidates import Blueprint, Candidate, ColumnUse
from palmette.automl.kinds import TRUE
from palmette.automl.planning.columns import drift_of, parts_of
from palmette.automl.problems.problem import problem_named
from palmette.automl.profile import Profile
from palmette.automl.samples import SampleColumn, Samples
from palmette.automl.samples.tables import keys_of
from palmette.automl.splitting.data_splits import DataSplits
from palmette.automl.task_spec.spec import TaskSpec
from palmette.errors import UserError
from palmette.problems import error_of

SHOWN_CATEGORIES = 30
MEASURED = 1_000  # number of texts used to measure the mean word count
PLACEHOLDER = Candidate(name="none", learner="none")  # the candidate of a blueprint that has none yet


def blueprint(
    task: TaskSpec, samples: Samples, profile: Profile, data: DataPlan, candidates: Sequence[Candidate] = (PLACEHOLDER,)
) -> Blueprint:
    """Returns the blueprint of a data plan, with the default strategy and the task's whole budget.

    Raises UserError where no column is left to learn from, or the problem cannot learn the target.
    """
    rows, target = DataSplits.of(samples, profile.split).train, profile.split.target
    problem = problem_named(profile.split.problem)
    gone = {one.column: one.reason for one in data.treatments if one.kind == "drop"}
    if len(gone) == len(data.treatments):
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in gone.items()) or "there is no other column"
        raise error_of(
            UserError,
            "no-columns/reasons",
            purpose=f"predict {target!r} from" if target else "find clusters by",
            reasons=reasons,
        )
    answer = samples.column(target) if target else None
    fields: dict[str, Any] = {
        "package": package_name(target or f"{Path(samples.sources[0]).stem}_clusters"),
        "title": f"Predict {target}" if target else "Clusters",
        "problem": problem.name,
        "target": target,
        "rows": len(rows),
        "columns": tuple(_columns(samples, profile, data, rows)),
        "dropped": gone,
        "derived": data.derived,
        "format": samples.format,
        "candidates": tuple(candidates),
        "ensembling": {True: "weighted", False: "single", None: "best"}[task.ensemble],
        "seconds": task.budget,
        "budget": task.budget,
        "seed": task.seed,
    }
    if answer is not None:
        fields |= {"target_in_file": _in_file(answer), "target_reading": answer.reading}
        fields["threshold"] = samples.threshold
    return Blueprint(**{**fields, **problem.draft(task, profile, rows)})


def package_name(text: str) -> str:
    """Returns a name for the delivered package that is neither a keyword nor a module of the standard library.

    >>> package_name("Sale Price"), package_name("class"), package_name("价格"), package_name("2nd")
    ('sale_price_model', 'class_model', 'target_model', 'm_2nd_model')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain)
    name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:40].strip("_") or "target"
    name = f"m_{name}" if name[0].isdigit() else name
    name = name if name.endswith("_clusters") else f"{name.removesuffix('_model')}_model"
    return f"{name}_" if keyword.iskeyword(name) or name in sys.stdlib_module_names else name


def _columns(samples: Samples, profile: Profile, data: DataPlan, rows: pd.DataFrame) -> list[ColumnUse]:
    made = []
    for one in data.treatments:
        column = samples.column(one.column)
        if column is None or one.kind == "drop":
            continue
        values, note = rows[column.name], one.reason
        parts: tuple[str, ...] = ()
        if one.kind == "datetime":
            parts, why = parts_of(values, drift_of(column.name, rows, profile.split.target, profile.holdout.time))
            note = "; ".join(filter(None, (one.reason, why)))
        words = fmean(len(str(text).split()) for text in values[:MEASURED]) if one.kind == "text" else 0.0
        categories = sorted({*keys_of(values.drop_duplicates())} - {""}) if one.kind == "category" else []
        made.append(
            ColumnUse(
                name=column.name,
                source=_in_file(column),
                kind=one.kind,
                reading=column.reading,
                note=note,
                categories=tuple(categories) if len(categories) <= SHOWN_CATEGORIES else (),
                parts=parts,
                words=round(words, 1),
                array=column.array,
                examples=tuple(_example(one.kind, text) for text in column.examples),
            )
        )
    return made


def _in_file(column: SampleColumn) -> str:
    return column.source if column.source != column.name else ""


def _example(kind: str, text: str) -> str | bool | float | None:
    if kind == "boolean":
        return text.strip().casefold() in TRUE
    try:
        return float(text) if kind == "number" else text
    except ValueError:
        return None
