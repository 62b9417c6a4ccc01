"""A repair of own code: the failure is located first, then the module it comes from is patched, or left out."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from palmette.automl.actors.debugger.actor import Debugger
from palmette.automl.actors.debugger.offline import DebuggerInput
from palmette.automl.actors.error_analyser.actor import ErrorAnalyser
from palmette.automl.actors.error_analyser.offline import Analysis, AnalysisInput, by_trace
from palmette.automl.artefacts import Repair
from palmette.automl.candidates import OwnCode
from palmette.automl.retry_policy import REPAIRS, left_out
from palmette.engine import Context, Violation
from palmette.llm import Models


class Draft(NamedTuple):
    """Own code before it is run, and what was changed in it so far."""

    modules: tuple[OwnCode, ...]
    repairs: tuple[Repair, ...] = ()
    reason: str = ""
    fix: str = ""

    def without(self, failure: Violation) -> Draft:
        """The modules but the one that failed; none where it is not known which."""
        paths = [one.path for one in self.modules]
        gone = [failure.subject] if failure.subject in paths else paths
        kept = tuple(one for one in self.modules if one.path not in gone)
        repairs = (*self.repairs, *(left_out(path, failure) for path in gone))
        return Draft(kept, repairs, failure.message, f"{', '.join(gone)}: left out.")


class Repairer:
    """The error analyser and the debugger, one after the other."""

    def __init__(self, models: Models) -> None:
        self.analyser, self.debugger = ErrorAnalyser(models), Debugger(models)

    def repaired(self, failed: Draft, failure: Violation, context: Context) -> Draft | Violation:
        """The modules with one of them patched; where no patch can be had, the failure, located, for the planner."""
        # The last attempt is what they are asked about; those before it they see as past.
        alone = dataclasses.replace(context, last=None, instruction="", evidence=(), attempts=context.attempts[:-1])
        analysis = self._analysed(AnalysisInput(failure=failure, modules=failed.modules), alone)
        code = failure.code if analysis.kind == "other" else analysis.kind
        located = failure.model_copy(update={"code": code, "subject": analysis.path, "message": analysis.cause})
        module = next((one for one in failed.modules if one.path == analysis.path), None)
        if module is None or sum(one.by == "model" for one in failed.repairs) >= REPAIRS:
            return located
        context.progress(f"{analysis.kind} in {module.path}: {analysis.cause}")
        made = self.debugger.run(DebuggerInput(failure=failure, analysis=analysis, module=module), alone)
        if made.output is None or _digest(made.output.module) in _known(module, failed.repairs):
            return located
        modules = tuple(made.output.module if one is module else one for one in failed.modules)
        repair = Repair(path=module.path, failure=analysis.kind, reason=analysis.cause, replaced=_digest(module))
        reason = f"{analysis.kind} in {module.path}: {analysis.cause}"
        return Draft(modules, (*failed.repairs, repair), reason, made.fix)

    def _analysed(self, asked: AnalysisInput, context: Context) -> Analysis:
        """The analyser's finding where it holds, else what the traceback names."""
        found: Analysis | None = self.analyser.run(asked, context).output
        return found if found and self.analyser.check(asked, found, context).ok else by_trace(asked)


def _known(module: OwnCode, repairs: Sequence[Repair]) -> set[str]:
    """Digests of texts of the module that failed before."""
    return {_digest(module), *(one.replaced for one in repairs if one.path == module.path)}


def _digest(module: OwnCode) -> str:
    return hashlib.sha256(module.text.encode()).hexdigest()[:12]
