"""The actor `utils_retriever`, which reuses functions of the repository after testing each on small inputs."""

import ast
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, Measurement, Verdict, Violation
from palmette.features import prompt_context
from palmette.features.actors.utils_retriever.candidates import (
    WANTS,
    Demand,
    UtilityCandidate,
    callables,
    find_candidates,
    proposed,
)
from palmette.features.actors.utils_retriever.offline import demands_of, prove, retrieve
from palmette.features.artefacts import Config, Need, RejectedUtility, RunRequest, Utilities, Utility
from palmette.features.harness.connect import ConnectHarness
from palmette.features.passed import PassedBefore
from palmette.features.repository import Checkout, Function, find_neighbours
from palmette.features.spec import Run, View
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Section, fenced, section

FAILED = "utility-failed"


class UtilsRetrieverInput(Model):
    request: RunRequest
    config: Config


class Pick(Model):
    """A function that does what a need asks for."""

    need: Need
    module: str
    """As it is imported, e.g. `team.io`."""
    name: str
    """What is imported from the module: the function, or the class whose method is called."""
    call: str
    """How a script calls it: one expression with the need's argument names in braces, e.g. `ratio({numerator}, 2)`."""


class RetrieverAnswer(Answer):
    utilities: tuple[Pick, ...]
    """At most one for each need; none where the repository has nothing that fits."""


class UtilsRetriever(Agent):
    """Finds functions by name, signature and docstring, and tests each by running it."""

    name = "utils_retriever"
    description = "Finds the repository's functions that the view needs and proves each on small inputs."
    produces = "utilities"
    Input = UtilsRetrieverInput
    Output = Utilities
    Answer = RetrieverAnswer

    def __init__(
        self,
        view: View,
        run_spec: Run,
        repository_root: Path,
        harness: ConnectHarness,
        models: Models = OFFLINE,
        passed: PassedBefore | None = None,
    ) -> None:
        super().__init__(models)
        self.view, self.run_spec, self.root = view, run_spec, repository_root
        self.harness = harness
        self._passed = passed or PassedBefore()

    @cached_property
    def checkout(self) -> Checkout:
        """Cached, because the repository does not change during a run."""
        return Checkout(self.root)

    def offline(self, input: UtilsRetrieverInput, context: Context) -> Attempt[Utilities]:
        known = (*context.evidence, *(v for attempt in context.attempts for v in attempt.violations))
        candidates = self._find_candidates(self._demands(input.config))
        found = retrieve(candidates, self._prove(candidates, input.config))
        blamed = {utility.name for violation in known for utility in _suspects(violation, found)}
        kept = tuple(utility for utility in found.chosen if utility.name not in blamed)
        context.progress(f"{len(kept)} utilities proven, {len(found.rejected)} rejected")
        return Attempt(
            found.model_copy(update={"chosen": kept}),
            reason=f"{', '.join(sorted(blamed))} failed where it was used." if blamed else "",
            fix="Left it out; the script does this itself." if blamed else "",
        )

    def is_settled(self, input: UtilsRetrieverInput, context: Context) -> bool:
        """Whether exactly one candidate for each need passes its proofs."""
        if context.attempts or context.evidence:
            return False
        demands = self._demands(input.config)
        candidates = self._find_candidates(demands)
        tried = zip(candidates, self._prove(candidates, input.config), strict=True)
        return sorted(one.need for one, reason in tried if not reason) == sorted(one.need for one in demands)

    def sections(self, input: UtilsRetrieverInput, context: Context) -> tuple[Section, ...]:
        demands = self._demands(input.config)
        found = self._find_candidates(demands)
        listed = {(candidate.module, candidate.function.name) for candidate in found}
        scripts = {neighbour.module.path for neighbour in find_neighbours(self.checkout)}
        others = [
            f"{module.name}: {function.dotted}{_signature(function)}{_gist(function)}"
            for module in self.checkout.modules
            if module.path not in scripts and not module.is_test
            for function in callables(module)
            if (module.name, function.name) not in listed and not function.name.startswith("_")
        ]
        return (
            section("needs", *(_need(demand, self.view) for demand in demands), rank=NEEDED),
            section("candidates", *map(_candidate_text, found), rank=1),
            section("others", "\n".join(others), rank=3),
            prompt_context.readme(self.checkout, self.run_spec.repository.readme, "utilities"),
        )

    def read(self, answer: RetrieverAnswer, input: UtilsRetrieverInput, context: Context) -> Attempt[Utilities]:
        picked = [Utility(**pick.model_dump()) for pick in answer.utilities]
        candidates = self._candidates(input.config, picked)
        chosen = tuple(one.utility if one else pick for one, pick in zip(candidates, picked, strict=True))
        rejected = tuple(_rejected(self._find_candidates(self._demands(input.config)), context))
        return Attempt(Utilities(chosen=chosen, rejected=rejected), answer.reason, answer.fix)

    def recalled(self, output: Utilities) -> str:
        """The chosen utilities only, in the form of an answer."""
        picks = [one.model_dump(include=set(Pick.model_fields)) for one in output.chosen]
        return fenced(json.dumps({"utilities": picks}, indent=1, ensure_ascii=False), "json")

    def check(self, input: UtilsRetrieverInput, output: Utilities, context: Context) -> Verdict:
        """Every chosen utility executes without errors and does what the view demands of it."""
        candidates = self._candidates(input.config, output.chosen)
        proven = iter(self._prove([one for one in candidates if one], input.config))
        violations = [
            Violation(code=FAILED, subject=utility.name, message=f"{utility.module}.{utility.name} {reason}.")
            for utility, one in zip(output.chosen, candidates, strict=True)
            if (reason := next(proven) if one else f"is not a function that can be called as {utility.call}")
        ]
        names = ", ".join(utility.name for utility in output.chosen) or "none needed"
        measurement = Measurement(
            name="utilities",
            status="failed" if violations else "passed",
            detail=f"{len(output.chosen)} executed on small inputs: {names}",
        )
        return Verdict.of(violations, [measurement])

    def implicated(self, violation: Violation, output: Utilities) -> str | None:
        """Responsible if a utility failed its proof, or if the trace of a failure leads into its file."""
        names = ", ".join(f"{utility.module}.{utility.name}" for utility in _suspects(violation, output))
        return f"{names} failed where it was used: {violation.message}" if names else None

    def _demands(self, config: Config) -> list[Demand]:
        """What the view needs; few teams have a condition for windows, so it is looked for where one may be it."""
        every = demands_of(self.view, config, self.run_spec.output)
        return [one for one in every if one.need != "in_window" or self._find_candidates([one])]

    def _prove(self, candidates: Sequence[UtilityCandidate], config: Config) -> list[str]:
        return prove(candidates, self.view, config, self.checkout, self.harness, self._passed)

    def _find_candidates(self, demands: Iterable[Demand]) -> list[UtilityCandidate]:
        """The most likely functions for each need."""
        places = self.run_spec.repository.utilities
        return [one for demand in demands for one in find_candidates(self.checkout, demand, places)]

    def _candidates(self, config: Config, chosen: Iterable[Utility]) -> list[UtilityCandidate | None]:
        """The functions of the chosen utilities, found by rules or proposed; None if they cannot be called so."""
        demands = self._demands(config)
        known = {_form(candidate): candidate for candidate in self._find_candidates(demands)}
        return [known.get(_form(one)) or proposed(self.checkout, one, demands) for one in chosen]


def _rejected(candidates: Iterable[UtilityCandidate], context: Context) -> Iterator[RejectedUtility]:
    """Functions that earlier attempts chose and that failed their proofs."""
    messages = {one.message for attempt in context.attempts for one in attempt.violations if one.code == FAILED}
    for one in candidates:
        full = f"{one.module}.{one.name} "
        for reason in sorted(message.removeprefix(full) for message in messages if message.startswith(full)):
            yield RejectedUtility(name=one.name, module=one.module, need=one.need, reason=reason.rstrip("."))


def _form(one: UtilityCandidate | Utility) -> tuple[Need, str, str, str]:
    return one.need, one.module, one.name, one.call


def _need(demand: Demand, view: View) -> str:
    given = [f"{{{name}}} is given" for name in sorted(demand.gives)]
    given += [f"{name} is always {value}" for name, value in (demand.constants or {}).items()]
    given += [f"the object is of the class {demand.class_name}"] if demand.class_name else []
    if demand.need in ("before_cutoff", "in_window"):
        given.append(f"as_of - days is the same time of day that many calendar days before, in {view.zone}")
    return f"{demand.need}: {'; '.join([WANTS[demand.need].contract, *given])}"


def _candidate_text(candidate: UtilityCandidate) -> str:
    """A possible function, with the call that its signature suggests."""
    function, doc = candidate.function, candidate.utility.doc
    used = f"; scripts of the team that import it: {candidate.uses}" if candidate.uses else ""
    head = f"need {candidate.need}: from {candidate.module} import {candidate.name}{used}"
    signature = f"def {function.name}{_signature(function)}"
    return "\n".join([head, f"call: {candidate.call}", signature, *([doc] if doc else [])])


def _signature(function: Function) -> str:
    returns = f" -> {function.returns}" if function.returns else ""
    return f"({ast.unparse(function.node.args)}){returns}"


def _gist(function: Function) -> str:
    """The first line of the docstring, as a comment."""
    return f"  # {function.doc.splitlines()[0]}" if function.doc else ""


def _suspects(violation: Violation, output: Utilities) -> list[Utility]:
    """Utilities that failed their own proof, or that the trace of a failure leads into."""
    if violation.code == FAILED:
        return [utility for utility in output.chosen if utility.name == violation.subject]
    return [
        utility
        for utility in output.chosen
        if f"{utility.module.replace('.', '/')}.py" in violation.evidence
        and f"in {utility.call.split('(')[0].split('.')[-1]}" in violation.evidence
    ]
