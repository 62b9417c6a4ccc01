"""The actor `utils_retriever`: the repository's own functions, each proven on small inputs."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, Measurement, Verdict, Violation
from palmette.features import briefs
from palmette.features.actors.utils_retriever.candidates import Candidate, Demand, find_candidates
from palmette.features.actors.utils_retriever.offline import (
    Probes,
    RememberedProbes,
    demands_of,
    prove,
    retrieve,
    setting_of,
)
from palmette.features.actors.utils_retriever.proofs import Setting
from palmette.features.actors.utils_retriever.proposed import callables, proposed
from palmette.features.artefacts import Config, Need, Rejected, Request, Utilities, Utility
from palmette.features.repository import Checkout, Function, find_neighbours
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Section, section
from palmette.llm.brief import fenced

FAILED = "utility-failed"


class RetrieverInput(Model):
    request: Request
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


CONTRACTS: Mapping[Need, str] = {
    "load_config": "takes {path} of a configuration file; gives the team's configuration object",
    "build_session": "may take {app_name}; gives a SparkSession",
    "read_table": "takes {path} (or catalogue name), perhaps {spark} and {format}; gives the table as a DataFrame",
    "write_table": "takes {df} and {destination}, perhaps {partition} (name of a column), {format} and {spark}; "
    "writes the rows so that writing them again gives the same, and touches no other partition",
    "divide": "takes the columns {numerator} and {denominator}; gives the quotient, null where the denominator is "
    "zero or null",
    "latest_per_key": "takes {df}, {keys} (names of columns) and {order} (name of a column); gives the newest row of "
    "each key",
    "before_cutoff": "takes {df}, {time} (name of a column), {as_of} (a datetime), perhaps {days}; gives the rows with "
    "a time in [as_of - days, as_of)",
}
"""What a function for a need takes and gives."""


class UtilsRetriever(Agent):
    """Finds functions by name, signature and docstring, and believes none of them before it has run."""

    name = "utils_retriever"
    description = "Finds the repository's functions that the view needs and proves each on small inputs."
    produces = "utilities"
    Input = RetrieverInput
    Output = Utilities
    Answer = RetrieverAnswer
    has_criterion = True

    def __init__(
        self, view: View, run_spec: Run, repository_root: Path, harness: Probes, models: Models = OFFLINE
    ) -> None:
        super().__init__(models)
        self.view, self.run_spec, self.root = view, run_spec, repository_root
        self.harness = RememberedProbes(harness)

    def offline(self, input: RetrieverInput, context: Context) -> Attempt[Utilities]:
        checkout = Checkout(self.root)
        known = (*context.evidence, *(v for attempt in context.attempts for v in attempt.violations))
        found = retrieve(
            checkout,
            self._demands(input.config),
            self._setting(input.config),
            self.run_spec.repository.utilities,
            find_neighbours(checkout),
            self.harness,
        )
        blamed = {utility.name for violation in known for utility in _suspects(violation, found)}
        kept = tuple(utility for utility in found.chosen if utility.name not in blamed)
        context.progress(f"{len(kept)} utilities proven, {len(found.rejected)} rejected")
        return Attempt(
            found.model_copy(update={"chosen": kept}),
            reason=f"{', '.join(sorted(blamed))} failed where it was used." if blamed else "",
            fix="Left it out; the script does this itself." if blamed else "",
        )

    def brief(self, input: RetrieverInput, context: Context) -> tuple[Section, ...]:
        checkout = Checkout(self.root)
        demands = self._demands(input.config)
        found = self._found(checkout, demands)
        listed = {(candidate.module, candidate.function.name) for candidate in found}
        scripts = {neighbour.module.path for neighbour in find_neighbours(checkout)}
        others = [
            f"{module.name}: {name}({ast.unparse(function.node.args)}){_gives(function)}"
            for module in checkout.modules
            if module.path not in scripts
            for name, function in callables(module)
            if (module.name, function.name) not in listed and not function.name.startswith("_")
        ]
        return (
            section("needs", *(_need(demand, self.view) for demand in demands), rank=NEEDED),
            section("candidates", *map(_shown, found), rank=1),
            section("others", "\n".join(others), rank=3),
            briefs.readme(checkout, self.run_spec.repository.readme, "utilities"),
        )

    def read(self, answer: RetrieverAnswer, input: RetrieverInput, context: Context) -> Attempt[Utilities]:
        checkout = Checkout(self.root)
        demands = self._demands(input.config)
        known = {_form(candidate): candidate for candidate in self._found(checkout, demands)}
        chosen = []
        for pick in answer.utilities:
            utility = Utility(**pick.model_dump())
            candidate = known.get(_form(utility)) or proposed(checkout, utility, demands)
            chosen.append(utility.model_copy(update={"doc": candidate.doc}) if candidate else utility)
        rejected = tuple(_rejected(known.values(), context))
        return Attempt(Utilities(chosen=tuple(chosen), rejected=rejected), answer.reason, answer.fix)

    def recalled(self, output: Utilities) -> str:
        """The choice alone, in the form of an answer."""
        picks = [one.model_dump(include=set(Pick.model_fields)) for one in output.chosen]
        return fenced(json.dumps({"utilities": picks}, indent=1, ensure_ascii=False), "json")

    def check(self, input: RetrieverInput, output: Utilities, context: Context) -> Verdict:
        """Every chosen utility executes without errors and does what the view demands of it."""
        checkout = Checkout(self.root)
        chosen = self._candidates(checkout, input.config, output)
        reasons = prove(
            [candidate for candidate in chosen if candidate],
            self._setting(input.config),
            checkout,
            self.harness,
        )
        said = iter(reasons)
        violations = [
            Violation(
                code=FAILED,
                subject=utility.name,
                message=f"{utility.module}.{utility.name} {reason}.",
            )
            for utility, candidate in zip(output.chosen, chosen, strict=True)
            if (reason := next(said) if candidate else f"is not a function that can be called as {utility.call}")
        ]
        names = ", ".join(utility.name for utility in output.chosen) or "none needed"
        return Verdict.of(
            violations,
            [
                Measurement(
                    name="utilities",
                    status="failed" if violations else "passed",
                    detail=f"{len(output.chosen)} executed on small inputs: {names}",
                )
            ],
        )

    def implicated(self, violation: Violation, output: Utilities) -> str | None:
        """To blame where it was itself found wanting, or where the trace of a failure leads into its file."""
        names = ", ".join(f"{utility.module}.{utility.name}" for utility in _suspects(violation, output))
        return f"{names} failed where it was used: {violation.message}" if names else None

    def _demands(self, config: Config) -> list[Demand]:
        return demands_of(self.view, config, self.run_spec.output)

    def _setting(self, config: Config) -> Setting:
        return setting_of(self.view, config, self.run_spec.output)

    def _found(self, checkout: Checkout, demands: list[Demand]) -> list[Candidate]:
        """The likeliest functions, need by need."""
        places, neighbours = self.run_spec.repository.utilities, find_neighbours(checkout)
        return [one for demand in demands for one in find_candidates(checkout, demand, places, neighbours)]

    def _candidates(self, checkout: Checkout, config: Config, output: Utilities) -> list[Candidate | None]:
        demands = self._demands(config)
        known = {_form(candidate): candidate for candidate in self._found(checkout, demands)}
        return [known.get(_form(utility)) or proposed(checkout, utility, demands) for utility in output.chosen]


def _rejected(candidates: Iterable[Candidate], context: Context) -> Iterator[Rejected]:
    """The functions that earlier attempts have named and that did otherwise."""
    said = {one.message for attempt in context.attempts for one in attempt.violations if one.code == FAILED}
    for one in candidates:
        full = f"{one.module}.{one.name} "
        for reason in sorted(message.removeprefix(full) for message in said if message.startswith(full)):
            yield Rejected(name=one.name, module=one.module, need=one.need, reason=reason.rstrip("."))


def _form(one: Candidate | Utility) -> tuple[Need, str, str, str]:
    return one.need, one.module, one.name, one.call


def _need(demand: Demand, view: View) -> str:
    given = [f"{{{name}}} is given" for name in sorted(demand.gives)]
    given += [f"{name} is always {value}" for name, value in (demand.constants or {}).items()]
    given += [f"the object is of the class {demand.class_name}"] if demand.class_name else []
    if demand.need == "before_cutoff":
        given.append(f"as_of - days is the same time of day that many calendar days before, in {view.zone}")
    return f"{demand.need}: {'; '.join([CONTRACTS[demand.need], *given])}"


def _shown(candidate: Candidate) -> str:
    """A function that may fit, with the call that its signature suggests."""
    function = candidate.function
    used = f"; scripts of the team that import it: {candidate.uses}" if candidate.uses else ""
    head = f"need {candidate.need}: from {candidate.module} import {candidate.name}{used}"
    signature = f"def {function.name}({ast.unparse(function.node.args)}){_gives(function)}"
    return "\n".join([head, f"call: {candidate.call}", signature, *([candidate.doc] if candidate.doc else [])])


def _gives(function: Function) -> str:
    return f" -> {function.returns}" if function.returns else ""


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
