"""Collecting the mistakes of a specification and its registry, each where it is written."""

from __future__ import annotations

from collections.abc import Iterable

from palmette.documents import Located
from palmette.errors import InputError, Problem
from palmette.features.spec.dfr import Registry
from palmette.features.spec.expressions import Fault
from palmette.features.spec.fsc import FeatureSpec


class Findings:
    """The mistakes found so far; nothing is raised before everything was looked at."""

    def __init__(self, spec: Located[FeatureSpec], registry: Located[Registry]) -> None:
        self._spec = spec
        self._registry = registry
        self._problems: dict[Problem, None] = {}

    def in_spec(
        self,
        code: str,
        message: str,
        remedy: str = "",
        *,
        field: str,
        value: object = None,
        known: Iterable[str] = (),
    ) -> None:
        """A mistake in the FSC; `known` are the names that could have been meant by `value`."""
        self._problems[self._spec.problem(code, message, remedy, field=field, value=value, known=known)] = None

    def in_registry(
        self,
        code: str,
        message: str,
        remedy: str = "",
        *,
        field: str,
        value: object = None,
        known: Iterable[str] = (),
    ) -> None:
        """A mistake in the DFR."""
        self._problems[self._registry.problem(code, message, remedy, field=field, value=value, known=known)] = None

    def in_expression(self, faults: Iterable[Fault], field: str) -> None:
        """Mistakes in an expression of the FSC."""
        spec = self._spec
        for fault in faults:
            problem = Problem(
                fault.code,
                fault.message,
                fault.remedy,
                spec.file,
                spec.line(field),
                field,
                fault.value,
                fault.nearest,
            )
            self._problems[problem] = None

    @property
    def count(self) -> int:
        return len(self._problems)

    def raise_if_any(self) -> None:
        """Raises one InputError with all mistakes, the registry's first, in the order of the lines."""
        if self._problems:
            by_place = sorted(self._problems, key=lambda one: (one.file == self._spec.file, one.line or 0))
            raise InputError(by_place)
