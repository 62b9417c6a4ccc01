"""What a feature script is held to: each check is one class, measured, with evidence and an owner."""

from palmette.features.checks.base import Check, CheckResult, Owner, ScriptUnderTest
from palmette.features.checks.suite import ALL, OWNERS, registered, run_checks
from palmette.features.checks.team import TeamSuiteCheck

__all__ = [
    "ALL",
    "OWNERS",
    "Check",
    "CheckResult",
    "Owner",
    "ScriptUnderTest",
    "TeamSuiteCheck",
    "registered",
    "run_checks",
]
