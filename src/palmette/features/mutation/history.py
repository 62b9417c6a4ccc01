"""What earlier runs found out about mutants. It decides what is tried first, never a result."""

import re

from palmette.engine.actor import Measurement
from palmette.features.mutation.mutants import Mutant
from palmette.features.passed import PassedBefore


class MutantHistory:
    """The tests that noticed changes of a view's script, and changes that no output showed."""

    def __init__(self, passed: PassedBefore | None = None) -> None:
        self._passed = passed or PassedBefore()

    def hints(self, mutant: Mutant) -> list[str]:
        """The test that noticed the change, and the words of the change."""
        known = self._passed.find("mutant", mutant.change)
        return [*([known.name] if known else []), *re.findall(r"\w{3,}", mutant.change)]

    def was_equivalent(self, mutant: Mutant) -> bool:
        known = self._passed.find("mutant", mutant.change)
        return known is not None and known.status == "skipped"

    def keep(self, mutant: Mutant, noticed_by: str = "") -> None:
        """Keeps the test that noticed the change, or that no output showed it."""
        measurement = Measurement(name=noticed_by, status="passed" if noticed_by else "skipped")
        self._passed.keep(measurement, "mutant", mutant.change)
