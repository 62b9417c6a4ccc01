"""Drafts the specification that a feature script or a query follows, with a list of what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from palmette.documents import read_document, read_text
from palmette.errors import UserError
from palmette.features.adoption.features import Drafter
from palmette.features.adoption.frames import Keyed, Note, ScriptReading, SymbolicRows, spine_of, table_rows
from palmette.features.adoption.interpreter import Code, Interpreter
from palmette.features.adoption.methods import DottedName
from palmette.features.adoption.statements import result_of
from palmette.features.adoption.trees import Cutoff, NotReadError
from palmette.features.harness.binding import bind, find_entry, functions_of
from palmette.features.repository import Checkout, Module
from palmette.features.script_check import QUERY, repository_of
from palmette.features.signature import BY_NAME
from palmette.features.spec.dfr import Registry


@dataclass(frozen=True)
class SpecificationDraft:
    """The specification drafted from a script."""

    view: str
    entry: str
    """The function that builds the features; empty for a query."""
    spec: Mapping[str, Any]
    notes: tuple[Note, ...]
    """What the specification lacks, or has otherwise, by line of the script."""

    @property
    def features(self) -> list[str]:
        """Output columns that the specification has."""
        return [one["name"] for one in self.spec["features"] if not one.get("internal")]

    @property
    def text(self) -> str:
        """The specification as YAML; what was not read is in comments."""
        lines = [f"# Drafted from the script of {self.view} by `palmette fsc from`: add descriptions and tests."]
        lines += [f"# Not read: line {one.line}: {one.text}" for one in self.notes]
        written = yaml.safe_dump(self.spec, default_flow_style=None, sort_keys=False, allow_unicode=True, width=100)
        return "\n".join([*lines, written])


def draft_of(script: Path, registry_file: Path, entry: str | None = None) -> SpecificationDraft:
    """Reads a script, without running it, and drafts its specification.

    A file that ends in `.sql` is one SELECT over tables of the registry, with the cut-off as a parameter (`:cutoff`).

    Raises:
        InputError: mistakes in the registry.
        UserError: the entry function is not found, or nothing of what it returns can be read.
    """
    registry = read_document(registry_file, Registry)
    tables = {table.name: table for table in registry.tables}
    text, reading, is_query = read_text(script), ScriptReading(), script.suffix.lower() == QUERY
    name = "" if is_query else find_entry(text, tables, name=entry, file=script.name)
    root = repository_of(script)
    checkout, path = Checkout(root), script.resolve().relative_to(root.resolve()).as_posix()
    own = Module(path, checkout.import_name(path), text)  # a checkout lacks generated, hidden and very long files
    interpreter = Interpreter([*checkout.modules, own], reading, tables)
    rows: dict[str, Any] = {one: table_rows(table) for one, table in tables.items()}
    reading.line = 1
    try:
        result = result_of(reading, text, rows, _CUTOFFS) if is_query else _result(interpreter, own, name, rows)
        if isinstance(result, SymbolicRows):
            result = spine_of(reading, result, result.table.keys)
        if not isinstance(result, Keyed):
            raise NotReadError(f"{name}() returns no data frame that can be read")
    except NotReadError as error:
        place = f"{script.name}:{error.line or reading.line}"
        raise UserError(
            f"{place}: {error.reason}.", "Simplify that part, or write the specification by hand.", code="unread-script"
        ) from None
    spec = Drafter(reading, result, tables, interpreter.zone).spec(script.stem)
    return SpecificationDraft(script.stem, name, spec, tuple(sorted(reading.notes, key=lambda note: note.line)))


_CUTOFFS = {name: Cutoff() for name, meaning in BY_NAME.items() if meaning == "as_of"}
"""Values of a query's parameters, by their usual names."""


def _result(interpreter: Interpreter, module: Module, entry: str, rows: Mapping[str, Any]) -> object:
    """What the entry function of a Python script returns."""
    home = next((one for one in module.classes if one.name == entry.rpartition(".")[0]), None)
    values = {"tables": rows, "as_of": Cutoff(), "spark": DottedName("spark")}
    bound = bind(module.text, entry, interpreter.tables)
    given = {one.name: rows[one.table] if one.meaning == "table" else values[one.meaning] for one in bound.bound}
    return interpreter.run(Code(functions_of(module.tree)[entry], module, home), [], given)
