"""Own code of a model: modules with scikit-learn classes, read, executed on sample rows, and used by candidates."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from palmette.automl.blame import modules_in
from palmette.automl.candidates import Blueprint, Candidate, OwnCode
from palmette.automl.composition import learner_named
from palmette.automl.kinds import Track
from palmette.automl.samples import DataSplits
from palmette.automl.search.program import run_module
from palmette.engine import Violation
from palmette.sandbox import Sandbox, told_from

FEATURES = "own_features.py"
SAMPLE = 300
"""Training rows that own code is tried on."""
SECONDS = 60.0
"""For the trial; a class that takes longer on so few rows is refused."""
LEADING = 2
"""Learners of the plan that own features are tried with."""


def learner_module(track: Track) -> str:
    """The module of a track's own learners."""
    return f"own_{track}.py"


def module_of(path: str, text: str, method: str) -> OwnCode:
    """A module with those of its public classes that have a method."""
    classes = tuple(
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and method in _methods(node)
    )
    return OwnCode(path=path, text=f"{text.rstrip()}\n", classes=classes)


def with_features(blueprint: Blueprint, module: OwnCode, reason: str) -> tuple[Candidate, ...]:
    """The plan's leading candidates, of one learner each, with own features added; named after them."""
    leading: dict[str, Candidate] = {}
    for one in blueprint.candidates:
        leading.setdefault(one.learner, one)
    features = f"{Path(module.path).stem}.{module.classes[0]}"
    return tuple(
        one.model_copy(update={"name": f"{one.name}-own", "features": features, "reason": reason})
        for one in list(leading.values())[:LEADING]
    )


def composed(blueprint: Blueprint, own: Iterable[Candidate], modules: Sequence[OwnCode]) -> Blueprint:
    """The blueprint with own candidates behind the plan's leading ones, but for those whose module was left out."""
    stems = {Path(one.path).stem for one in modules}
    first, rest = blueprint.candidates[:LEADING], blueprint.candidates[LEADING:]
    usable = [one for one in own if {path.partition(".")[0] for path in _classes(one)} <= stems]
    unique = {one.name: one for one in (*first, *usable, *rest)}
    return blueprint.model_copy(update={"candidates": tuple(unique.values())})


def track_of(candidate: Candidate) -> Track:
    """The track of a candidate's learner; that of its module, where it is own code."""
    own: Mapping[str, Track] = {Path(learner_module(track)).stem: track for track in get_args(Track)}
    return own.get(candidate.learner.partition(".")[0]) or learner_named(candidate.learner).track


class ContractCheck(NamedTuple):
    """Runs own code on sample rows, held to the estimator contract."""

    blueprint: Blueprint
    splits: DataSplits
    sandbox: Sandbox
    folder: Path

    def violations(self, modules: Sequence[OwnCode], candidate: Candidate, subject: str) -> list[Violation]:
        """What the module `subject`, which the candidate uses, does wrong on sample rows: at most one violation."""
        (self.folder / "own").mkdir(parents=True, exist_ok=True)
        for module in modules:
            (self.folder / "own" / module.path).write_text(module.text, encoding="utf-8")
        job = {"blueprint": self.blueprint.model_dump(mode="json"), "candidate": candidate.model_dump(mode="json")}
        (self.folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        names = [*(one.name for one in self.blueprint.columns), *filter(None, [self.blueprint.target])]
        sampled(self.blueprint, self.splits).train[names].to_parquet(self.folder / "rows.parquet")
        done = run_module(self.sandbox, "palmette.automl.estimator_contract", self.folder, SECONDS)
        if done.ok:
            return []
        trace = told_from(self.folder, done.stderr) or done.note
        last = next((line for line in reversed(trace.splitlines()) if line.strip()), f"It {done.ended} {done.note}")
        return [failure_of(trace, last.strip(), modules, subject)]


def failure_of(trace: str, last: str, modules: Sequence[OwnCode], subject: str) -> Violation:
    """A failure on the sample: of the innermost module of the traceback, or of `subject` where it names none."""
    named = modules_in(trace, modules)
    blamed = named[-1] if named else subject
    code = "contract-unfulfilled" if blamed == FEATURES else "contract-misused"
    message = f"{blamed} fails on a sample of rows: {last[:400]}"
    return Violation(code=code, message=message, evidence=trace[-4000:], subject=blamed)


def sampled(blueprint: Blueprint, splits: DataSplits) -> DataSplits:
    """Some training rows, with a few of each class."""
    classes = splits.train[blueprint.target].astype(str).to_numpy() if blueprint.classes else None
    return splits.sample(SAMPLE, blueprint.seed, classes, least=2 * blueprint.folds.count)


def _classes(candidate: Candidate) -> list[str]:
    """The paths of the own classes that a candidate uses."""
    return [path for path in (candidate.features, candidate.learner) if "." in path]


def _methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
