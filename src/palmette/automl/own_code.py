"""Own code of a model: modules with scikit-learn classes, read, tried on sample rows, repaired, blamed or left out."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from palmette.automl.artefacts import CodeRepair
from palmette.automl.candidates import Blueprint, Candidate, OwnCode, first_of_each
from palmette.automl.composition import candidate_track
from palmette.automl.kinds import Track
from palmette.automl.search.program import run_module
from palmette.automl.splitting import DataSplits
from palmette.engine import Context, Violation
from palmette.sandbox import Sandbox, relative_to_root

FEATURES = "own_features.py"
SAMPLE = 300
"""Training rows that own code is tried on."""
SECONDS = 60.0
"""For the trial; a class that takes longer on so few rows is refused."""
LEADING = 2
"""Learners of the plan that own features are tried with."""
BY_RULE = ("elapsed",)
"""Operations of the features that rules derive."""
ANSWERS = 2
"""Answers of a model that may be refused before its module is left out: own code never fails a run."""
AT_WORK = frozenset(
    {
        "fit-failed", "prediction-failed", "predictions-differ", "endpoint-unhealthy", "bad-request-accepted",
        "openapi-missing", "tests-failed",
    }
)  # fmt: skip
"""Codes of a package that breaks its promises; their subject is a module of own code, or open."""
SIDES = ("contract-unfulfilled", "contract-misused")
FRAME = re.compile(r'File "([^"\n]+\.py)", line \d+|^([\w./-]+\.py):\d+: ', re.MULTILINE)
"""A line of a traceback, as Python writes it, or pytest."""


def learner_module(track: Track) -> str:
    """The module of a track's own learners."""
    return f"own_{track}.py"


def module_of(path: str, text: str, method: str) -> OwnCode:
    """A module with those of its public classes that have a method."""
    classes = tuple(
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and any(isinstance(one, ast.FunctionDef) and one.name == method for one in node.body)
    )
    return OwnCode(path=path, text=f"{text.rstrip()}\n", classes=classes)


def with_features(blueprint: Blueprint, module: OwnCode, reason: str) -> tuple[Candidate, ...]:
    """The plan's leading candidates, of one learner each, with own features added; named after them."""
    features = f"{Path(module.path).stem}.{module.classes[0]}"
    return tuple(
        one.model_copy(update={"name": f"{one.name}-own", "features": features, "reason": reason})
        for one in first_of_each(blueprint.candidates)[:LEADING]
    )


def composed(blueprint: Blueprint, own: Iterable[Candidate], modules: Sequence[OwnCode]) -> Blueprint:
    """The blueprint with own candidates behind the plan's leading ones, but for those whose module was left out.

    The leading ones are trained without a model's derived features, too, so that these are measured.
    """
    stems = {Path(one.path).stem for one in modules}
    first, rest = blueprint.candidates[:LEADING], blueprint.candidates[LEADING:]
    usable = [one for one in own if _stems(one) <= stems]
    by_model = any(one.operation not in BY_RULE for one in blueprint.derived)
    without = first_of_each(first) if by_model else ()
    plain = [one.model_copy(update={"name": f"{one.name}-plain", "derived": False}) for one in without]
    unique = {one.name: one for one in (*first, *usable, *plain, *rest)}
    return blueprint.model_copy(update={"candidates": tuple(unique.values())})


def used_modules(candidates: Iterable[Candidate], modules: Iterable[OwnCode]) -> tuple[OwnCode, ...]:
    """The modules whose classes candidates use."""
    stems = frozenset[str]().union(*map(_stems, candidates))
    return tuple(one for one in modules if Path(one.path).stem in stems)


def track_of(candidate: Candidate) -> Track:
    """The track of a candidate; that of its module, where its learner is own code."""
    own: Mapping[str, Track] = {Path(learner_module(track)).stem: track for track in get_args(Track)}
    return own.get(candidate.learner.partition(".")[0]) or candidate_track(candidate)


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
        trace = relative_to_root(self.folder, done.stderr) or done.note
        last = next((line for line in reversed(trace.splitlines()) if line.strip()), f"It {done.ended} {done.note}")
        return [failure_of(trace, last.strip(), modules, subject)]


def sampled(blueprint: Blueprint, splits: DataSplits) -> DataSplits:
    """Some training rows, with a few of each class."""
    classes = splits.train[blueprint.target].astype(str).to_numpy() if blueprint.classes else None
    return splits.sample(SAMPLE, blueprint.seed, classes, least=2 * blueprint.folds.count)


def failure_of(trace: str, last: str, modules: Iterable[OwnCode], subject: str) -> Violation:
    """A failure on the sample: of the innermost module of the traceback, or of `subject` where it names none."""
    blamed = blamed_in(trace, modules) or subject
    message = f"{blamed} fails on a sample of rows: {last[:400]}"
    return Violation(code=side_of(blamed), message=message, evidence=trace[-4000:], subject=blamed)


def side_of(path: str) -> str:
    """The code of a failure of a module: features do not keep the contract, or a learner misuses it."""
    return SIDES[path != FEATURES]


def blamed_in(trace: str, modules: Iterable[OwnCode]) -> str:
    """The innermost module of own code that a traceback goes through; empty for none."""
    paths = {one.path for one in modules}
    names = (Path(first or second).name for first, second in reversed(FRAME.findall(trace)))
    return next((name for name in names if name in paths), "")


def located(wrong: Iterable[Violation], folder: Path, modules: Sequence[OwnCode]) -> tuple[Violation, ...]:
    """Failures of a package in a folder, each with the module of own code that it comes from as its subject.

    That is the innermost module of the traceback, or the only one there is. Of several the subject stays open, so the
    writers are asked one after the other; without own code it stays as it is.
    """
    made = []
    for one in wrong:
        trace = relative_to_root(folder, one.evidence)
        subject = one.subject if not modules else modules[0].path if len(modules) == 1 else ""
        made.append(one.model_copy(update={"subject": blamed_in(trace, modules) or subject, "evidence": trace}))
    return tuple(made)


def answers_for(violation: Violation, paths: Collection[str], codes: Collection[str]) -> bool:
    """Whether the writer of the modules at these paths answers for a violation of these codes, or of one at work."""
    if violation.subject:
        return violation.subject in paths and violation.code in {*codes, *AT_WORK}
    return bool(paths) and violation.code in AT_WORK


def retries_exhausted(context: Context) -> Violation | None:
    """The failure after which a module is left out; None while a model may try again.

    A module that failed in the delivered package is left out at once: each further try would cost a whole training.
    """
    at_work = [one for one in context.evidence if one.code in AT_WORK]
    refused = [one for past in context.attempts[-1:] for one in past.violations]
    return next(iter(at_work or refused), None) if at_work or len(context.attempts) >= ANSWERS else None


def left_out(path: str, failure: Violation) -> CodeRepair:
    """The repair by which a module is left out."""
    side = failure.code if failure.code in SIDES else "other"
    return CodeRepair.model_validate({"path": path, "failure": side, "reason": failure.message, "by": "rules"})


def _stems(candidate: Candidate) -> set[str]:
    """The names of the own modules that a candidate uses."""
    return {path.partition(".")[0] for path in (candidate.features, candidate.learner) if "." in path}
