"""Faults of the test-case generator."""

from typing import Any

from palmette.features.actors.testcase_generator.actor import OWN as REFUSED
from palmette.features.artefacts import TestCase, TestCases
from palmette_bench.featbench.faults.kind import Faulted, FaultKind, FaultSite, anywhere

WEAK = frozenset({"mutant-survived", "mutation"})


def _with(cases: TestCases, index: int, **changes: Any) -> TestCases:
    every = list(cases.cases)
    every[index] = every[index].model_copy(update=changes)
    return cases.model_copy(update={"cases": tuple(every)})


def wrong_expectation(cases: TestCases) -> Faulted | None:
    """A row that the specification does not demand."""
    for index, case in enumerate(cases.cases):
        if case.expect:
            first = case.expect[0]
            return Faulted(_with(cases, index, expect=(*case.expect, first)), (case.name,))
    return None


def too_many(cases: TestCases) -> Faulted | None:
    """More cases than there may be."""
    more = tuple(
        case.model_copy(update={"name": f"{case.name}_again_{number}"})
        for number in range(10)
        for case in cases.cases[:1]
    )
    return Faulted(cases.model_copy(update={"cases": (*cases.cases, *more)}))


def happy_path(cases: TestCases, site: FaultSite) -> Faulted | None:
    """One case, of what usually happens."""
    fewer = cases.model_copy(update={"cases": cases.cases[-1:]})
    return None if len(cases.cases) < 2 or site.passes(fewer) else Faulted(fewer)


def unknown_table(cases: TestCases, site: FaultSite) -> Faulted | None:
    """Rows of a table that the view does not read, in place of one that it does."""
    for index, case in enumerate(cases.cases):
        if name := next(iter(case.given), ""):
            given = {f"{name}_old" if key == name else key: rows for key, rows in case.given.items()}
            changed = _with(cases, index, given=given)
            return None if site.passes(changed) else Faulted(changed, (case.name,))
    return None


def barely_enough(cases: TestCases, site: FaultSite) -> Faulted | None:
    """No more cases than the criterion demands: what else could go wrong goes unnoticed."""
    kept: list[TestCase] = list(cases.cases)
    for case in cases.cases:
        fewer = cases.model_copy(update={"cases": tuple(one for one in kept if one is not case)})
        if len(kept) > 1 and site.passes(fewer):
            kept = list(fewer.cases)
    return Faulted(cases.model_copy(update={"cases": tuple(kept)})) if len(kept) < len(cases.cases) else None


KINDS = (
    FaultKind("wrong expectation", "testcase_generator", False, REFUSED, anywhere(wrong_expectation)),
    FaultKind("too many cases", "testcase_generator", False, REFUSED, anywhere(too_many)),
    FaultKind("the happy path alone", "testcase_generator", False, REFUSED, happy_path),
    FaultKind("a table that is not there", "testcase_generator", False, REFUSED, unknown_table),
    FaultKind("barely enough cases", "testcase_generator", True, WEAK, barely_enough),
)
