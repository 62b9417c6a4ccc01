"""Limits what generated feature code may use: Spark, the repository, and modules that only compute.

`palmette.sandbox.import_policy` checks files against the lists in `import_policy.yaml`. The team's own functions are
not inspected.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from palmette.delivery.paths import is_obeyed, matches
from palmette.documents import parse_document, read_text
from palmette.engine.actor import TextFile, Violation
from palmette.features.repository import Checkout
from palmette.features.spec import Run, View
from palmette.sandbox import import_policy
from palmette.sandbox.import_policy import CODE, first_text, is_place

__all__ = ["CODE", "FeatureImportPolicy", "is_place"]


class PolicyLists(import_policy.AllowLists):
    """The lists of `import_policy.yaml`, which documents each."""

    outside: import_policy.WordSet
    fixtures: import_policy.WordSet
    formats: import_policy.WordSet


LISTS = parse_document(read_text(Path(__file__).with_suffix(".yaml")), PolicyLists, "import_policy.yaml")

_SETTING = re.compile(
    r"spark\.(remote|jars|files|archives|submit|plugins|extraListeners|.*extra(JavaOptions|ClassPath|LibraryPath))"
)
_JAVA = re.compile(r"\b(reflect|java_method|try_reflect)\s*\(", re.IGNORECASE)
_FILES = "csv|json|parquet|orc|text|avro|delta|binaryfile|jdbc"
_READS = re.compile(rf"(?:\s|--[^\n]*\n)*(select|with)\b(?!.*\b({_FILES})\s*\.\s*`)", re.IGNORECASE | re.DOTALL)


def _runner(node: ast.AST) -> Iterator[str]:
    """Constructs in a test file that interfere with pytest itself."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name.startswith("pytest_"):
        yield f"{node.name!r} is a hook of the runner"
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("pytest_"):
        yield f"{node.id!r} loads plug-ins into the runner"
    elif isinstance(node, ast.arg) and node.arg in LISTS.fixtures:
        yield f"the fixture {node.arg!r} reaches the runner"


def _spark(node: ast.AST) -> Iterator[str]:
    """Connections and statements through which Spark could reach the network or files."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _text(node.value)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    given = node.args[0] if node.args else None
    if node.func.attr == "sql" and not (isinstance(text := first_text(given), str) and _READS.match(text)):
        yield "a statement that does more than select from tables, or cannot be read"
    of_tables = any(isinstance(one, ast.Attribute) and one.attr in ("read", "write") for one in ast.walk(node.func))
    if node.func.attr == "format" and of_tables:
        if isinstance(given, ast.Constant):
            if given.value not in LISTS.formats:
                yield f"the format {given.value!r} is a connection"
        elif not isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
            yield "a format that cannot be read"
    if node.func.attr == "master" and not (first_text(given) or "").startswith("local"):
        yield "a Spark elsewhere"
    if any(word.arg == "filename" for word in node.keywords):
        yield "it writes a file"


def _text(text: str) -> Iterator[str]:
    if _SETTING.match(text):
        yield f"the setting {text[:80]!r} loads programs"
    if _JAVA.search(text):
        yield "SQL that calls Java"


@dataclass(frozen=True)
class FeatureImportPolicy(import_policy.CodePolicy):
    """Limits what a view's generated code may use, and where its files may be placed."""

    lists = LISTS
    rules = (_runner, _spark)
    summary = "generated code reaches Spark and the repository only"

    allow: tuple[str, ...] = ()
    """The run file's globs of allowed paths."""

    @classmethod
    def of(cls, view: View, run: Run, checkout: Checkout, script: str) -> Self:
        """The policy of a view; `script` is the path of its script, which its tests import."""
        used = {name.split(".")[0] for module in checkout.modules for name in module.imports.values()}
        has = {*checkout.packages, checkout.import_name(script).split(".")[0]}
        # Without words and descriptions: a location mentioned there is not a requested one.
        unsaid: dict[str, Any] = {"description": True, "features": {"__all__": {"description", "words"}}}
        spec = view.spec.model_dump_json(exclude=unsaid)
        named = [place for table in view.tables.values() for place in (table.path, table.table)]
        places = frozenset(filter(None, [*named, *view.tables, run.output.path, run.output.table, view.table_name]))
        own = {*used, *has} - LISTS.computing - LISTS.outside - sys.stdlib_module_names
        return cls(frozenset({*own, import_policy.RELATIVE}), places, spec, run.repository.allow)

    def objections(self, *files: TextFile, tests: TextFile | None = None) -> list[Violation]:
        """Reasons why files may not be executed or delivered; empty if there are none."""
        own = [violation for file in files for violation in self._of(file, rows_alone=False)]
        return [*own, *(self._of(tests, rows_alone=True) if tests else ())]

    def _of(self, file: TextFile, *, rows_alone: bool) -> Iterator[Violation]:
        if is_obeyed(file.path) and not any(matches(file.path, glob) for glob in self.allow):
            message = f"{file.path} is a place that programs obey by themselves; only `repository.allow` can open it."
            yield Violation(code="path-not-allowed", subject=file.path, message=message)
        yield from self.violations(file, rows_alone=rows_alone)
