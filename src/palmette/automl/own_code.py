"""Own code of a language model: modules of scikit-learn classes, which are checked, tested, repaired or left out.

A module may use libraries that compute and learn, but reads and writes nothing: `palmette.sandbox.import_policy` checks
it against the lists of `import_policy.yaml` before it is executed.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from palmette.automl.artefacts import CodeRepair
from palmette.automl.candidates import Blueprint, Candidate, OwnCode, first_of_each
from palmette.automl.kinds import Track, with_contents
from palmette.automl.search.job import run_module
from palmette.automl.splitting.data_splits import DataSplits
from palmette.documents import read_document
from palmette.engine import Context, TextFile, Violation
from palmette.sandbox import Sandbox, error_line, import_policy, relative_to_root

FEATURES = "own_features.py"
SAMPLE = 300  # training rows in the sample that own code is tested on
SECONDS = 60.0  # time limit of the test; slower classes are refused
LEADING = 2  # number of the plan's learners that own features are added to
RULE_OPERATIONS = ("elapsed",)  # operations that only rules use for derived features
MOST_REFUSALS = 2  # refused answers after which a module is left out, so that own code never fails a run
PACKAGE_FAILURES = frozenset(
    {
        "fit-failed", "prediction-failed", "predictions-differ", "endpoint-unhealthy", "bad-request-accepted",
        "openapi-missing", "tests-failed",
    }
)  # fmt: skip
"""Codes of failures in a package; their subject is a module of own code, or empty."""
SIDES = ("contract-unfulfilled", "contract-misused")
FRAME = re.compile(r'File "([^"\n]+\.py)", line \d+|^([\w./-]+\.py):\d+: ', re.MULTILINE)
"""A traceback line of Python or pytest."""


class ImportLists(import_policy.AllowLists):
    """The lists of `import_policy.yaml`, which are explained there."""

    outlets: import_policy.WordSet


LISTS = read_document(Path(__file__).with_name("import_policy.yaml"), ImportLists)


def _texts_as_code(node: ast.AST) -> Iterator[str]:
    """Finds `frame.eval(text)`, but not `eval()` of a network, which takes no text."""
    match node:
        case ast.Call(func=ast.Attribute(attr="eval")) if node.args or node.keywords:
            yield "'eval' reads a text as code"


def _outlets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.keyword) and node.arg in LISTS.outlets:
        yield f"the argument {node.arg!r} names a place of its own"


@dataclass(frozen=True)
class ImportPolicy(import_policy.CodePolicy):
    """The policy for own code."""

    own: frozenset[str] = frozenset()

    lists = LISTS
    rules = (_outlets, _texts_as_code)
    summary = "own code works on the rows that it is given, with libraries that compute"


def objections(modules: Iterable[OwnCode]) -> list[Violation]:
    """Returns why modules may not be executed; empty if they may."""
    policy = ImportPolicy()
    files = [TextFile(path=one.path, text=one.text) for one in modules]
    return [violation for file in files for violation in policy.violations(file, rows_alone=True)]


def learner_module(track: Track) -> str:
    """Returns the file name of a track's own learners."""
    return f"own_{track}.py"


def module_of(path: str, text: str, method: str) -> OwnCode:
    """Returns a module with its public classes that define `method`."""
    classes = tuple(
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and any(isinstance(one, ast.FunctionDef) and one.name == method for one in node.body)
    )
    return OwnCode(path=path, text=f"{text.rstrip()}\n", classes=classes)


def with_features(blueprint: Blueprint, module: OwnCode, reason: str) -> tuple[Candidate, ...]:
    """Returns copies of the plan's leading candidates, one per learner, with own features added."""
    features = f"{Path(module.path).stem}.{module.classes[0]}"
    return tuple(
        one.model_copy(update={"name": f"{one.name}-own", "features": features, "reason": reason})
        for one in first_of_each(blueprint.candidates)[:LEADING]
    )


def composed(blueprint: Blueprint, own: Iterable[Candidate], modules: Sequence[OwnCode]) -> Blueprint:
    """Inserts own candidates behind the plan's leading ones; skips those whose module was left out.

    The leading candidates are also trained without a language model's derived features, to measure these.
    """
    stems = {Path(one.path).stem for one in modules}
    first, rest = blueprint.candidates[:LEADING], blueprint.candidates[LEADING:]
    usable = [one for one in own if _stems(one) <= stems]
    by_model = any(one.operation not in RULE_OPERATIONS for one in blueprint.derived)
    without = first_of_each(first) if by_model else ()
    plain = [one.model_copy(update={"name": f"{one.name}-plain", "derived": False}) for one in without]
    unique = {one.name: one for one in (*first, *usable, *plain, *rest)}
    return blueprint.model_copy(update={"candidates": tuple(unique.values())})


def used_modules(candidates: Iterable[Candidate], modules: Iterable[OwnCode]) -> tuple[OwnCode, ...]:
    """Returns the modules with classes that the candidates use."""
    stems = frozenset[str]().union(*map(_stems, candidates))
    return tuple(one for one in modules if Path(one.path).stem in stems)


def contract_violations(
    blueprint: Blueprint, rows: pd.DataFrame, sandbox: Sandbox, folder: Path, modules: Sequence[OwnCode],
    candidate: Candidate, subject: str,
) -> list[Violation]:  # fmt: skip
    """Tests the module `subject`, which the candidate uses, on sample rows; returns at most one violation."""
    (folder / "own").mkdir(parents=True, exist_ok=True)
    for module in modules:
        (folder / "own" / module.path).write_text(module.text, encoding="utf-8")
    job = {"blueprint": blueprint.model_dump(mode="json"), "candidate": candidate.model_dump(mode="json")}
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    names = [*(one.name for one in blueprint.columns), *filter(None, [blueprint.target])]
    with_contents(rows[names], [one.name for one in blueprint.file_columns]).to_parquet(folder / "rows.parquet")
    done = run_module(sandbox, "palmette.automl.estimator_contract", folder, SECONDS)
    if done.ok:
        return []
    trace = relative_to_root(folder, done.stderr) or done.note
    return [failure_of(trace, f"it {done.ended}", modules, subject)]


def sampled(blueprint: Blueprint, splits: DataSplits, rows: int = SAMPLE) -> DataSplits:
    """Returns a sample of training rows, with some of each class."""
    classes = splits.train[blueprint.target].astype(str).to_numpy() if blueprint.classes else None
    return splits.sample(rows, blueprint.seed, classes, least=2 * blueprint.folds.count)


def failure_of(trace: str, end: str, modules: Iterable[OwnCode], subject: str) -> Violation:
    """Describes a failure on the sample by its trace, else its `end`; blames the trace's own module, or `subject`."""
    blamed = blamed_in(trace, modules) or subject
    message = f"{blamed} fails on a sample of rows: {(error_line(trace) or end)[:400]}"
    return Violation(code=side_of(blamed), message=message, evidence=trace[-4000:], subject=blamed)


def side_of(path: str) -> str:
    """Returns the code for a failure of a module: features break the contract, learners misuse it."""
    return SIDES[path != FEATURES]


def blamed_in(trace: str, modules: Iterable[OwnCode]) -> str:
    """Returns the innermost own module in a traceback, or ''."""
    paths = {one.path for one in modules}
    names = (Path(first or second).name for first, second in reversed(FRAME.findall(trace)))
    return next((name for name in names if name in paths), "")


def located(wrong: Iterable[Violation], folder: Path, modules: Sequence[OwnCode]) -> tuple[Violation, ...]:
    """Sets the subject of a package's failures to the module of own code that caused them.

    That is the innermost own module of the traceback, or the only one. If several are possible, the subject is
    empty and the writers are asked one after the other. Without own code it is unchanged.
    """
    made = []
    for one in wrong:
        trace = relative_to_root(folder, one.evidence)
        subject = one.subject if not modules else modules[0].path if len(modules) == 1 else ""
        made.append(one.model_copy(update={"subject": blamed_in(trace, modules) or subject, "evidence": trace}))
    return tuple(made)


def answers_for(violation: Violation, paths: Collection[str], codes: Collection[str]) -> bool:
    """Returns whether the writer of the modules at `paths` answers for a violation of `codes` or of the package."""
    if violation.subject:
        return violation.subject in paths and violation.code in {*codes, *PACKAGE_FAILURES}
    return bool(paths) and violation.code in PACKAGE_FAILURES


def retries_exhausted(context: Context) -> Violation | None:
    """Returns the failure that leads to leaving a module out, or None while the model may try again.

    A module that failed in the delivered package is left out at once, because each retry would cost a full training.
    """
    at_work = [one for one in context.evidence if one.code in PACKAGE_FAILURES]
    refused = [one for past in context.attempts[-1:] for one in past.violations]
    return next(iter(at_work or refused), None) if at_work or len(context.attempts) >= MOST_REFUSALS else None


def left_out(path: str, failure: Violation) -> CodeRepair:
    """Returns the repair that leaves a module out."""
    side = failure.code if failure.code in SIDES else "other"
    return CodeRepair.model_validate({"path": path, "failure": side, "reason": failure.message, "by": "rules"})


def _stems(candidate: Candidate) -> set[str]:
    return {path.partition(".")[0] for path in (candidate.features, candidate.learner) if "." in path}
