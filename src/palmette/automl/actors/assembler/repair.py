"""A repair: the failure is located first, then the file that it is from is corrected, by a model or not at all."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection
from typing import NamedTuple

from palmette.automl import briefs
from palmette.automl.actors.debugger.actor import Debugger
from palmette.automl.actors.debugger.offline import DebuggerInput
from palmette.automl.actors.error_analyser.actor import ErrorAnalyser
from palmette.automl.actors.error_analyser.offline import Analysis, AnalysisInput, by_trace
from palmette.automl.artefacts import Assembly, Repair
from palmette.automl.chances import by_rules
from palmette.engine import TERMINATE, Attempt, Context, TextFile, Violation
from palmette.llm import Models


class Draft(NamedTuple):
    """The files of a project before it is run, and what was changed in them so far."""

    files: tuple[TextFile, ...]
    repairs: tuple[Repair, ...] = ()
    reason: str = ""
    fix: str = ""


class Repairer:
    """The error analyser and the debugger at work, one after the other."""

    def __init__(self, models: Models) -> None:
        self.analyser, self.debugger = ErrorAnalyser(models), Debugger(models)

    def mended(
        self, failed: Assembly, failure: Violation, changeable: Collection[str], context: Context
    ) -> Draft | Attempt[Assembly]:
        """The files with one of them corrected; or the failure, located, for the planner.

        Args:
            failed: The project as it failed.
            changeable: Paths of the coders' files: neither the contract nor what trains, predicts and serves.
        """
        # The last attempt is what they are asked about; those before it they are told as past.
        alone = dataclasses.replace(context, last=None, instruction="", evidence=(), attempts=context.attempts[:-1])
        written = tuple(file for file in failed.files if file.path in changeable)
        asked = AnalysisInput(failure=failure, contract=briefs.contract(failed.files), files=written)
        analysis = self._analysed(asked, alone)
        code = "project-failed" if analysis.kind == "other" else analysis.kind
        located = failure.model_copy(update={"code": code, "subject": analysis.path, "message": analysis.cause})
        file = next((one for one in written if one.path == analysis.path), None)
        if file is None:
            return Attempt(None, analysis.cause, TERMINATE, (located,))
        context.progress(f"{analysis.kind} in {file.path}: {analysis.cause}")
        beside = tuple(one for one in written if one is not file)
        given = self.debugger.run(
            DebuggerInput(failure=failure, analysis=analysis, contract=asked.contract, file=file, beside=beside), alone
        )
        if given.output is None:
            return Attempt(None, given.reason or analysis.cause, TERMINATE, (located,))
        text = given.output.file.text
        before = {repair.replaced for repair in failed.repairs if repair.path == file.path}
        if digest(text) in {digest(file.text), *before}:
            return Attempt(None, f"{file.path} was like that before, and failed.", TERMINATE, (located,))
        files = tuple(one.model_copy(update={"text": text}) if one is file else one for one in failed.files)
        repair = Repair(path=file.path, failure=analysis.kind, reason=analysis.cause, replaced=digest(file.text))
        reason = f"{analysis.kind} in {file.path}: {analysis.cause}"
        return Draft(files, (*failed.repairs, repair), reason, given.fix)

    def _analysed(self, asked: AnalysisInput, context: Context) -> Analysis:
        """What the analyser says where that can be, else what the trace says."""
        found: Analysis | None = self.analyser.run(asked, context).output
        if found is None or not self.analyser.check(asked, found, context).ok:
            return by_trace(asked)
        return found


def given_up(failed: Assembly, failure: Violation, own: Collection[TextFile]) -> Draft | None:
    """The files with the one that failed as the rules write it, or all where it is none; None if that changes nothing.

    Args:
        own: Every file of the project as the rules write it.
    """
    ruled = {file.path: file for file in own}
    foreign = [file.path for file in failed.files if file.path in ruled and file not in own]
    replaced = [failure.subject] if failure.subject in foreign else foreign
    files = tuple(ruled[file.path] if file.path in replaced else file for file in failed.files)
    repairs = tuple(by_rules(path, failure) for path in replaced)
    fix = f"{', '.join(replaced)}: written by the rules, as no text of a model could be mended."
    return Draft(files, (*failed.repairs, *repairs), failure.message, fix) if replaced else None


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
