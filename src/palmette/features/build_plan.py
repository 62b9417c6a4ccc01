"""Shows what a run would build, read and write, and how that differs from the merged version, without Spark."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from palmette.delivery.git import Git
from palmette.delivery.worktree import base_of
from palmette.documents import Model, read_document
from palmette.errors import InputError
from palmette.features.adoption.query import why_no_query
from palmette.features.inputs import RunInputs, read_inputs
from palmette.features.repository import Checkout, read_conventions
from palmette.features.spec import Run, View
from palmette.features.spec.phrases import definition, steps_of
from palmette.features.spec.resolve import Answers, load_view
from palmette.sandbox.temporary import temporary_folder

State = Literal["new", "changed", "unchanged", "removed", "unknown"]


class PlannedFeature(Model):
    name: str
    dtype: str
    definition: str
    state: State
    """Compared with the merged view; unknown if the merged specification cannot be found."""


class BuildPlan(Model):
    """The plan of a run before it starts."""

    view: str
    grain: tuple[str, ...]
    cutoff: str
    features: tuple[PlannedFeature, ...]
    reads: dict[str, tuple[str, ...]]
    """By table: columns that are read, except keys and times."""
    files: dict[str, Literal["new", "changed"]]
    output: str
    departures: tuple[str, ...]
    """Differences between the new script and its neighbours."""

    @property
    def backfill(self) -> bool:
        """Whether data computed earlier lacks a feature, or has one with another meaning."""
        merged = "changed" in self.files.values()
        return merged and any(one.state in ("new", "changed", "unknown") for one in self.features)


def build_plan(run_file: Path, answers: Answers | None = None) -> BuildPlan:
    """Plans a run.

    Raises:
        InputError: with all mistakes in the run's files, and all questions about features in words.
    """
    inputs = read_inputs(run_file, answers)
    view, run = inputs.view, inputs.run
    conventions = read_conventions(inputs.repository, run, view, Checkout(inputs.repository), why_no_query)
    places = (conventions.script_path, conventions.config_path, conventions.test_path, conventions.query_path)
    git = Git(inputs.repository)
    _, base = base_of(git, run.repository.base)
    paths = [place.replace("{view}", view.name) for place in places if place]
    there = {path for path in paths if git.succeeds("cat-file", "-e", f"{base}:{path}")}
    before = _merged(run_file, inputs, paths[0], base) if paths[0] in there else None
    names = [one.name for one in view.public]
    states: Mapping[str, State] = _states(view, before) if paths[0] in there else dict.fromkeys(names, "new")
    gone = [one for one in before.public if one.name not in names] if before else []
    return BuildPlan(
        view=view.name,
        grain=tuple(view.grain),
        cutoff=view.cutoff,
        features=(
            *(_planned(view, name, states[name]) for name in names),
            *(_planned(before, one.name, "removed") for one in gone if before),
        ),
        reads=_reads(view),
        files={path: "changed" if path in there else "new" for path in paths},
        output=run.output.path or run.output.table or "",
        departures=conventions.departures,
    )


def _planned(view: View, name: str, state: State) -> PlannedFeature:
    feature = view.feature(name)
    return PlannedFeature(name=name, dtype=str(feature.dtype), definition=definition(feature, view), state=state)


def _reads(view: View) -> dict[str, tuple[str, ...]]:
    columns = {column for found in view.lineage.values() for column in found}
    return {
        name: tuple(sorted(c.split(".", 1)[1] for c in columns if c.startswith(f"{name}."))) for name in view.tables
    }


def _merged(run_file: Path, inputs: RunInputs, script: str, base: str) -> View | None:
    """The view as specified when its script was last merged; None if git does not have that specification."""
    run = read_document(run_file, Run)
    fsc, dfr = (Path(os.path.normpath(run_file.parent / name)) for name in (run.fsc, run.dfr))
    merged = Git(inputs.repository).attempt("log", "-1", "--format=%cI", base, "--", script).out.strip()
    git = Git(fsc.parent)
    commit = git.attempt("rev-list", "-1", f"--before={merged}", "HEAD", "--", fsc.name).out.strip()
    text = git.attempt("show", f"{commit}:./{fsc.name}") if merged and commit else None
    if text is None or text.code != 0:
        return None
    with temporary_folder() as folder:
        (folder / fsc.name).write_text(text.out, encoding="utf-8")
        try:
            return load_view(folder / fsc.name, dfr)
        except InputError:
            return None


def _states(view: View, before: View | None) -> Mapping[str, State]:
    if before is None:
        return dict.fromkeys((one.name for one in view.features), "unknown")
    old, new = _meanings(before), _meanings(view)
    return {name: "new" if name not in old else "unchanged" if old[name] == new[name] else "changed" for name in new}


def _meanings(view: View) -> dict[str, object]:
    """By feature: everything that determines its values."""
    rows = {one.name: (one.table.name, steps_of(one)) for one in view.sources}
    frame = (tuple(view.grain), view.cutoff, view.zone, view.spine)
    found = dict[str, object]()
    for name in view.derivation_order:
        one = view.feature(name)
        uses = {other: meaning for other, meaning in found.items() if one.derive and other in one.derive}
        found[name] = (
            one.dtype,
            one.nullable,
            one.default,
            definition(one, view),
            rows.get(one.source or ""),
            uses,
            frame,
        )
    return found
