"""All checks, cheapest first, and the actors that are responsible for their violations."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from palmette.engine import Measurement, Verdict, Violation, create, names
from palmette.features import import_policy
from palmette.features.checks.base import Check, CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.golden import DifferentialCheck, GoldenCheck, SpecCheck
from palmette.features.checks.metamorphic.check import MetamorphicCheck
from palmette.features.checks.mutation import MutationCheck, TestsCheck
from palmette.features.checks.plan import PlanCheck
from palmette.features.checks.static.check import StaticCheck
from palmette.features.checks.team import LintCheck, TeamSuiteCheck
from palmette.features.passed import PassedBefore

ALL: tuple[Check, ...] = (
    StaticCheck(),
    SpecCheck(),
    PlanCheck(),
    GoldenCheck(),
    DifferentialCheck(),
    TestsCheck(),
    MetamorphicCheck(),
    MutationCheck(),
)
"""Checks that need no configuration, by ascending cost."""
TOLERATED = frozenset({"mutant-survived", "failed-before", "team-lint"})
"""Violations for reviewers that do not fail the run."""
EXPENSIVE = 20
"""Checks with at least this cost are skipped after a cheaper one fails, since they would report the same error."""

OF_SCRIPT = frozenset({"sample run", "static", "spec", "plan", "golden", "differential", "metamorphic"})
"""Checks that depend on the script, its view and the team's files alone."""


def registered() -> tuple[Check, ...]:
    """The built-in checks and those of installed packages, cheapest first."""
    added = tuple(create("check", name) for name in names("check"))
    return tuple(sorted((*ALL, *added), key=lambda check: check.cost))


def run_checks(
    subject: ScriptUnderTest,
    checks: Sequence[Check] | None = None,
    *,
    passed: PassedBefore | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Runs the checks by ascending cost; the verdict is ok if all violations are tolerated.

    Returns one measurement per check. Checks that did not run are reported as skipped, with the reason. Those in
    `OF_SCRIPT` that have `passed` on the same content are not run again, and reported as kept.
    """
    passed = passed or PassedBefore()
    violations: list[Violation] = []
    measurements: list[Measurement] = []
    failed = ""
    for check in sorted(registered() if checks is None else checks, key=lambda check: check.cost):
        if check.code in OF_SCRIPT and (known := passed.find(check.code)):
            measurements.append(known.model_copy(update={"detail": f"kept: {known.detail}"}))
            continue
        started = time.monotonic()
        if failed and check.cost >= EXPENSIVE:
            outcome = CheckResult(skipped=f"not run, because {failed} failed")
        else:
            progress(f"checking: {check.code}")
            outcome = check.check(subject)
        measurement = measured(check, outcome, time.monotonic() - started)
        measurements.append(measurement)
        violations += outcome.violations
        if measurement.status == "passed":
            passed.keep(measurement, check.code)
        if measurement.status == "failed":
            failed = failed or check.code
    return Verdict(ok=not failed, violations=tuple(violations), measurements=tuple(measurements))


def measured(check: Check, outcome: CheckResult, seconds: float) -> Measurement:
    """The result of a check as a measurement."""
    if outcome.skipped:
        return Measurement(name=check.code, status="skipped", detail=outcome.skipped, seconds=seconds)
    serious = [violation for violation in outcome.violations if violation.code not in TOLERATED]
    status: Literal["passed", "failed", "warning"] = (
        "failed" if serious else "warning" if outcome.violations else "passed"
    )
    counted = f"{len(outcome.violations)} found" if outcome.violations else ""
    detail = "; ".join(part for part in (counted, outcome.detail) if part)
    return Measurement(name=check.code, status=status, detail=detail, evidence=outcome.evidence, seconds=seconds)


TRIAL = ("script-failed", "no-data-written", "output-schema", "partition-lost", "sample-mismatch")
"""Codes of the trial run under production conditions."""
OWNERS: Mapping[str, Owner] = {
    **{code: check.owner for check in ALL for code in check.codes},
    **dict.fromkeys((*TeamSuiteCheck.codes, *LintCheck.codes), TeamSuiteCheck.owner),
    **dict.fromkeys((*TRIAL, import_policy.CODE), "code_generator"),
}
"""Violation code to the responsible actor."""
