"""Writes the pull request by rules: title, commit message and description follow from the measurements."""

import ast
import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from palmette.delivery import Change
from palmette.delivery.paths import is_obeyed
from palmette.documents import Model
from palmette.engine.actor import Verdict
from palmette.features.actors.pull_request.body import BodyFacts, change_class, pull_request_body
from palmette.features.artefacts import Config, Conventions, RunRequest, Script, Template, Tests, Utilities
from palmette.features.checks.team import LintCheck
from palmette.features.cutoffs import cutoffs, run_call
from palmette.features.frame import Frame
from palmette.features.frame_json import decode_row
from palmette.features.repository import Checkout, oldest_spark
from palmette.features.repository.rules import DeliveredFiles, rule_reports
from palmette.features.sample_run import SampleRun
from palmette.features.spec import Run, View


class PullRequestInput(Model):
    """The artefacts that a pull request is built from."""

    request: RunRequest
    config: Config
    template: Template
    utilities: Utilities = Utilities()
    tests: Tests
    script: Script

    @property
    def files(self) -> dict[str, str]:
        """The delivered files, as text by path."""
        return {file.path: file.text for file in (self.config.file, *self.script.files, self.tests.file)}


def change_of(view: View, run: Run, made: PullRequestInput, verdict: Verdict, base: Path, beside: str = "") -> Change:
    """The files of the pull request, and its texts.

    Args:
        base: The repository at the base branch.
        beside: The intended branch, if it already exists.
    """
    before = base / made.script.file.path
    delivered = DeliveredFiles(
        script=made.script.file.text,
        script_path=made.script.file.path,
        tests=made.tests.file.text,
        test_path=made.tests.file.path,
        config_path=made.config.file.path,
        conventions=made.template.conventions,
        view=view.name,
        linted=_linted(verdict, made.template.conventions),
    )
    newer = spark_question(delivered.tree, oldest_spark(Checkout(base)))
    imports = (node for node in ast.walk(delivered.tree) if isinstance(node, ast.ImportFrom))
    change = change_class(view, before.read_text(encoding="utf-8") if before.is_file() else None)
    facts = BodyFacts(
        view=view,
        files=tuple(made.files),
        change=change,
        measurements=verdict.measurements,
        survivors=tuple(item for item in verdict.violations if item.code == "mutant-survived"),
        preview=_preview(view, verdict),
        utilities=made.utilities,
        imported=frozenset(alias.name for node in imports for alias in node.names),
        backfill=_backfill(view, run, made),
        questions=(*made.template.conventions.departures, *newer, *_of_branch(beside), *_of_linters(verdict)),
        rules=rule_reports(delivered),
        model=made.template.conventions.model,
        destination=run.output.path or run.output.table or "",
        provenance=_provenance(run, made.request),
    )
    verb = "Add" if change.kind == "new view" else "Update"
    passed = ", ".join(item.name for item in verdict.measurements if item.status == "passed")
    return Change(
        files=made.files,
        allow=(*(path for path in made.files if not is_obeyed(path)), *run.repository.allow),
        title=f"{verb} feature view {view.name}",
        # One line, so that a description cannot imitate the lines about measurements or reviews.
        message=f"{' '.join(view.description.split())}\n\nPassed: {passed or 'nothing was measured'}.",
        body=pull_request_body(facts),
    )


def spark_question(script: ast.Module, oldest: tuple[int, int] | None) -> Iterator[str]:
    """Calls in the script that the oldest Spark version allowed by the team's requirements does not support."""
    calls = [node for node in ast.walk(script) if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func).rpartition(".")[2] for call in calls if _is_new(call)}
    if names and oldest is not None and oldest < NEW:
        listed = " and ".join(f"`{name}`" for name in sorted(names))
        yield f"Is Spark {NEW[0]}.{NEW[1]} there? {listed} needs it; the requirements allow {oldest[0]}.{oldest[1]}."


def _of_branch(beside: str) -> Iterator[str]:
    if beside:
        yield (
            f"What is to become of the branch `{beside}`? It is checked out, or holds commits that no run made, "
            "so it was left as it is, and this is a branch beside it."
        )


def _linted(verdict: Verdict, conventions: Conventions) -> dict[str, bool]:
    """For each linter that ran: whether it finds nothing."""
    ran = any(one.name == LintCheck.code and one.status != "skipped" for one in verdict.measurements)
    objecting = {one.subject for one in verdict.violations if one.code == LintCheck.code}
    names = [name for name, *_ in conventions.linters if ran and find_spec(name) is not None]
    return {name: name not in objecting for name in names}


def _of_linters(verdict: Verdict) -> Iterator[str]:
    for found in verdict.violations:
        if found.code == LintCheck.code:
            yield f"{found.message} {' '.join(found.evidence.split())[:400]}"


NEW = (4, 0)
"""The first Spark version that supports everything used in generated scripts."""


def _is_new(call: ast.Call) -> bool:
    """Whether Spark 3.5 lacks the call; `mode` accepts `deterministic` only in later versions."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in ("try_cast", "try_mod", "scalar") or (name == "mode" and len(call.args) + len(call.keywords) > 1)


def _preview(view: View, verdict: Verdict) -> Frame | None:
    """The rows that the script wrote."""
    for item in verdict.measurements:
        if item.name == SampleRun.code and item.evidence:
            return Frame.of(view.output, [decode_row(view.output, row) for row in json.loads(item.evidence)])
    return None


def _backfill(view: View, run: Run, made: PullRequestInput) -> tuple[tuple[str, ...], ...]:
    entry, script, config = made.template.conventions.entry, made.script.file.path, made.config.file.path
    if entry.kind == "none":
        return ()
    calls = (run_call(entry, script, view, config, as_of) for as_of in cutoffs(view, run.interval))
    return tuple(call.command for call in calls)


def _provenance(run: Run, request: RunRequest) -> dict[str, str]:
    digests = {file.path: hashlib.sha256(file.text.encode()).hexdigest()[:12] for file in (request.fsc, request.dfr)}
    return {
        "specification": digests["fsc.yaml"],
        "registry": digests["dfr.yaml"],
        "palmette": version("palmette"),
        "model": run.model,
        "planner": run.decider,
        "seed": str(run.seed),
    }
