"""Checks of a feature script: each is one class with a measured result, evidence and an owner."""

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
