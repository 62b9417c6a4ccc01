"""A test-case generator with a latent fault: its first cases cover almost nothing, and its criterion lets them pass."""

from typing import Any

from palmette.engine import Attempt, Context, Verdict
from palmette.features.actors.testcase_generator.actor import TestcaseGenerator
from palmette.features.artefacts import TestCases


class ForgetfulGenerator(TestcaseGenerator):
    """Needs to be told by evidence."""

    def run(self, input: Any, context: Context) -> Attempt[TestCases]:
        attempt = super().run(input, context)
        if context.evidence or attempt.output is None:
            return attempt
        return Attempt(TestCases(cases=attempt.output.cases[-1:]))

    def check(self, input: Any, output: TestCases, context: Context) -> Verdict:
        return Verdict(ok=bool(output.cases))
