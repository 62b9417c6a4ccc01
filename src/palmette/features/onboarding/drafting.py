"""Drafts the first registry, specification and run file of a repository, as YAML with the evidence in comments."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import yaml

from palmette.delivery.git import Git
from palmette.features.onboarding.inference import EPOCHS, InferredTable, infer, latest_day
from palmette.features.onboarding.tables import TableFiles, read_table, snake_case
from palmette.features.repository import Checkout, find_neighbours
from palmette.features.repository.neighbours import config_annotations
from palmette.features.spec.run import FORMATS, schema_of

REGISTRY, RUN = "registry.yaml", "run.yaml"
_HEAD = """\
# yaml-language-server: $schema=schemas/{format}.json
# Drafted from the files by `palmette init`. Comments give the evidence; what is marked "guess" needs a second look.
# All fields: palmette schema {format}
"""


@dataclass(frozen=True)
class RepositoryFacts:
    """Facts about the team's repository for the run file."""

    path: Path
    base: str
    """The current branch; empty if it is not a git repository."""
    scripts: tuple[str, ...]
    config_class: str
    """`module:Class` of configurations; empty if scripts name none."""
    readme: str
    """The README; empty if it has the usual name or there is none."""


@dataclass(frozen=True)
class Draft:
    """The drafted files and the evidence for them."""

    files: dict[str, str]
    """By file name: the registry and, if there is an event table, a specification and a run file."""
    tables: tuple[InferredTable, ...]
    repository: RepositoryFacts


def draft(tables: Sequence[TableFiles], repository: Path, folder: Path) -> Draft:
    """Drafts the files, with paths relative to `folder`; MachineError if a table cannot be read."""
    inferred = infer([read_table(one) for one in tables])
    facts = _facts(repository)
    files = {REGISTRY: "\n".join(_registry(inferred, folder))}
    if view := _View.of(inferred):
        files[f"{view.name}.yaml"] = "\n".join(view.specification())
        files[RUN] = "\n".join(_run(view, facts, folder))
    for name in FORMATS:  # editors use these to complete and validate the drafts
        files[f"schemas/{name}.json"] = json.dumps(schema_of(name), indent=2, ensure_ascii=False) + "\n"
    return Draft(files, tuple(inferred), facts)


def flow(value: Any) -> str:
    """Formats a value on one line of YAML."""
    return yaml.safe_dump([value], default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)[1:-2]


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _registry(tables: Sequence[InferredTable], folder: Path) -> Iterator[str]:
    yield _HEAD.format(format="dfr") + "dfr: 1\ntables:"
    for one in tables:
        table = one.table(_relative(one.data.files.path, folder))
        notes = {finding.subject: f"  # {finding.confidence}: {finding.evidence}" for finding in one.findings}
        yield f"  - name: {table.name}  # {one.rows}"
        yield f"    kind: {table.kind}{notes.get('kind', '')}"
        yield f"    path: {flow(table.path)}"
        if table.format != "parquet":
            yield f"    format: {table.format}"
        yield f"    keys: {flow(list(table.keys))}{notes.get('keys', '')}"
        if not table.keys_enforced:
            yield "    keys_enforced: false"
        for name, time_column in one.times.items():
            yield f"    {name}: {time_column}{notes.get(name, '')}"
        if table.partitions:
            partitions = [partition.model_dump(exclude_none=True) for partition in table.partitions]
            yield f"    partitions: {flow(partitions)}{notes.get('partitions', '')}"
        yield "    columns:"
        for column in table.columns:
            further = {"nullable", "values", "length", "unit", "personal"}
            fields = column.model_dump(mode="json", include=further, exclude_defaults=True)
            fields = {"name": column.name, "type": str(column.type), **fields}
            yield f"      - {flow(fields)}{notes.get(f'columns.{column.name}', '')}"
        yield from (f"    # left out, because the registry cannot hold it: {text}" for text in one.data.left_out)
        yield ""


@dataclass(frozen=True)
class _View:
    """A first view, about the entity that most event tables refer to, with features of the longest of these tables."""

    events: InferredTable
    key: str
    entity: str
    day: date
    """The day after the last event."""

    @classmethod
    def of(cls, tables: Sequence[InferredTable]) -> _View | None:
        events = [one for one in tables if one.kind == "event"]
        last = latest_day(events)
        keys = [(one, column) for one in events for column in one.data.columns if column.is_key_like]
        shared = [
            column.name for one, column in keys if 1 < column.distinct < one.data.rows and (column.name,) != one.keys
        ]
        candidates = Counter(shared)
        if not candidates or last is None:
            return None
        referenced = {column for one in events for column, _ in one.references}
        key = max(candidates, key=lambda name: (candidates[name], name in referenced))
        having = [one for one in events if key in one.data.table.column_names and (key,) != one.keys]
        chosen = max(having, key=lambda one: (one.are_enforced, one.data.rows))
        return cls(chosen, key, snake_case(key).rpartition("_")[0] or key, last + timedelta(days=1))

    @property
    def name(self) -> str:
        return f"{self.entity}_{self.events.data.name}"

    def specification(self) -> Iterator[str]:
        table = self.events.data
        yield _HEAD.format(format="fsc") + "fsc: 1"
        yield f"feature_view: {self.name}"
        yield f"description: What the {table.name} of a {self.entity} show.  # in your words: what it is for"
        yield f"entities:\n  - {flow({'name': self.entity, 'keys': [self.key]})}\nfeatures:"
        for feature in self._features():
            yield f"  - {flow(feature)}"
        yield "  # Plain words work as well:"
        yield f"  # - {{name: {table.name}_7d, dtype: bigint, words: number of {table.name} in the last 7 days}}"
        yield f"tests:\n  - name: a row at the cut-off does not count\n    as_of: {flow(f'{self.day}T00:00:00Z')}"
        yield f"    given:\n      {table.name}:"
        for number, seconds in enumerate((-1, 0), start=1):
            row = {**{key: self._value(key, number) for key in self.events.keys}, self.key: self._value(self.key, 1)}
            times = {name: self._instant(name, seconds) for name in self.events.times.values()}
            yield f"        - {flow(row | times)}"
        yield f"    expect:\n      - {flow({self.key: self._value(self.key, 1), f'{table.name}_30d': 1})}\n"

    def _features(self) -> Iterator[dict[str, Any]]:
        table = self.events.data
        count = {"function": "count", "source": table.name, "window": "30d"}
        yield {"name": f"{table.name}_30d", "dtype": "bigint", "nullable": False, "default": 0, "aggregate": count}
        recency = {"function": "days_since_last", "source": table.name}
        yield {"name": f"days_since_{table.name}", "dtype": "int", "aggregate": recency}
        for column in table.columns:
            if column.type.is_numeric and not column.is_key_like and column.name not in self.events.times.values():
                mean = {"function": "avg", "source": table.name, "of": column.name, "window": "90d"}
                yield {"name": f"average_{column.name}_90d", "dtype": "double", "aggregate": mean}
                return

    def _value(self, name: str, number: int) -> Any:
        kind = self.events.data.column(name).type
        if kind.is_temporal or name in self.events.units:
            return self._instant(name)
        return number if kind.is_numeric else str(number)

    def _instant(self, name: str, seconds: int = 0) -> Any:
        """A value of a time column near the cut-off; a whole day for dates."""
        kind, unit = self.events.data.column(name).type, self.events.units.get(name)
        if kind.name == "date":
            return str(self.day + timedelta(days=-1 if seconds else 0))
        instant = datetime.combine(self.day, time(), UTC) + timedelta(seconds=seconds)
        if unit:
            return int(instant.timestamp()) * EPOCHS[unit]
        return instant.strftime("%Y-%m-%dT%H:%M:%S") + ("Z" if kind.name == "timestamp" else "")


def _run(view: _View, facts: RepositoryFacts, folder: Path) -> Iterator[str]:
    repository = {"path": _relative(facts.path, folder), "base": facts.base, "readme": facts.readme}
    repository["config_class"] = facts.config_class
    yield _HEAD.format(format="run") + "run: 1"
    yield f"fsc: {view.name}.yaml\ndfr: {REGISTRY}"
    yield f"repository: {flow({name: value for name, value in repository.items() if value})}"
    yield f"interval: {flow({'as_of': f'{view.day}T00:00:00Z'})}  # midnight after the last event"
    yield f"output: {flow({'path': f'out/{view.name}'})}\n"


def _facts(root: Path) -> RepositoryFacts:
    checkout = Checkout(root)
    neighbours = find_neighbours(checkout)
    named = [annotation.rpartition(".")[2] for annotation in config_annotations(neighbours)]
    classes = {node.name: module.name for module in checkout.modules for node in module.classes if not module.is_test}
    name = next((name for name in named if name in classes), "")
    readmes = [path for path in checkout.paths if path.upper().startswith("README.")]
    return RepositoryFacts(
        path=root,
        base=Git(root).attempt("symbolic-ref", "--quiet", "--short", "HEAD").out.strip(),
        scripts=tuple(neighbour.module.path for neighbour in neighbours),
        config_class=f"{classes[name]}:{name}" if name else "",
        readme="" if "README.md" in checkout.paths else next(iter(readmes), ""),
    )
