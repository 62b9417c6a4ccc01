"""The only place that starts generated code, a team's own code, and Spark."""

from palmette.sandbox.access import Access, ExecutionResult, Limits, error_line, relative_to_root
from palmette.sandbox.isolation import LEVELS, Bubblewrap, Isolation, Landlock, NoIsolation, isolation_of
from palmette.sandbox.java import Java, find_java, java_environment
from palmette.sandbox.process import Process, Sandbox, python_command
from palmette.sandbox.spark import WarmSpark

__all__ = [
    "LEVELS", "Access", "Bubblewrap", "ExecutionResult", "Isolation", "Java", "Landlock", "Limits", "NoIsolation",
    "Process", "Sandbox", "WarmSpark", "error_line", "find_java", "isolation_of", "java_environment",
    "python_command", "relative_to_root",
]  # fmt: skip
