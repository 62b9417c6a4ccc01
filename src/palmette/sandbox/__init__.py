"""Running what is generated, what belongs to the team, and Spark: the only place that starts them."""

from palmette.sandbox.isolation import Isolation, LimitsOnly
from palmette.sandbox.java import Java, find_java, java_environment
from palmette.sandbox.process import Process, Sandbox, python_command
from palmette.sandbox.result import ExecutionResult, Limits, told_from
from palmette.sandbox.spark import WarmSpark

__all__ = [
    "ExecutionResult",
    "Isolation",
    "Java",
    "Limits",
    "LimitsOnly",
    "Process",
    "Sandbox",
    "WarmSpark",
    "find_java",
    "java_environment",
    "python_command",
    "told_from",
]
