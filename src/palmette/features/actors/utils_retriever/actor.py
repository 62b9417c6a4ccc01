"""The actor `utils_retriever`: the repository's own functions, each proven on small inputs."""

from __future__ import annotations

from pathlib import Path

from palmette.documents import Model
from palmette.engine.actor import Attempt, Context, Measurement, Verdict, Violation
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
from palmette.features.artefacts import Config, Request, Utilities, Utility
from palmette.features.repository import Checkout, find_neighbours
from palmette.features.spec.run import Run
from palmette.features.spec.view import View


class RetrieverInput(Model):
    request: Request
    config: Config


class UtilsRetriever:
    """Finds functions by name, signature and docstring, and believes none of them before it has run."""

    name = "utils_retriever"
    description = "Finds the repository's functions that the view needs and proves each on small inputs."
    produces = "utilities"
    Input = RetrieverInput
    Output = Utilities
    has_criterion = True

    def __init__(self, view: View, run_spec: Run, repository_root: Path, harness: Probes) -> None:
        self.view, self.run_spec, self.root = view, run_spec, repository_root
        self.harness = RememberedProbes(harness)

    def run(self, input: RetrieverInput, context: Context) -> Attempt[Utilities]:
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
                code="utility-failed",
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

    def _candidates(self, checkout: Checkout, config: Config, output: Utilities) -> list[Candidate | None]:
        neighbours = find_neighbours(checkout)
        known = {
            (candidate.need, candidate.module, candidate.name, candidate.call): candidate
            for demand in self._demands(config)
            for candidate in find_candidates(checkout, demand, self.run_spec.repository.utilities, neighbours)
        }
        return [known.get((utility.need, utility.module, utility.name, utility.call)) for utility in output.chosen]


def _suspects(violation: Violation, output: Utilities) -> list[Utility]:
    """Utilities that failed their own proof, or that the trace of a failure leads into."""
    if violation.code == "utility-failed":
        return [utility for utility in output.chosen if utility.name == violation.subject]
    return [
        utility
        for utility in output.chosen
        if f"{utility.module.replace('.', '/')}.py" in violation.evidence
        and f"in {utility.call.split('(')[0].split('.')[-1]}" in violation.evidence
    ]
