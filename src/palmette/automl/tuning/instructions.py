"""Requests in words with the task that each asks for, made by a grammar, so that labels are right by construction.

A pair has a table, a person's way of speaking, and some wishes. Each wish is drawn as fields and then put into words.
Test pairs use tables and phrasings that no training pair has.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from palmette.automl.task_spec.request import ColumnSummary, DataSummary
from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model, read_document

Split = Literal["train", "validation", "test"]
SYSTEM = (
    "Read the request about the table and answer with one JSON object. Its fields are target, problem, metric, "
    "exclude, constraints, learners, prefer and budget (seconds). Leave out what the request does not ask for."
)
FIELDS = ("target", "problem", "metric", "exclude", "constraints", "learners", "prefer", "budget")


class Phrasing(Model):
    """Ways to say one thing, and the fields that it means."""

    fields: Mapping[str, Any]
    train: tuple[str, ...]
    test: tuple[str, ...]


class InstructionGrammar(Model):
    """The tables, persons and wishes of `grammar.yaml`."""

    tables: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By name: columns that are classes (`classes`) or numbers (`numbers`) and may be predicted, and `others`."""
    test_tables: frozenset[str]
    persons: Mapping[str, tuple[str, str]]
    """By name: what stands before and after a request."""
    test_persons: frozenset[str]
    tasks: Mapping[str, Phrasing]
    """By problem; `{target}` is the column."""
    wishes: Mapping[str, tuple[Phrasing, ...]]
    """By kind; of each kind a request has one at most. Names that begin with a problem belong to it."""


class Pair(Model):
    """A request and the task that it asks for."""

    split: Split
    request: str
    columns: Mapping[str, str]
    """Kind by name."""
    task: Mapping[str, Any]

    def chat(self) -> dict[str, Any]:
        """As a line of chat JSONL."""
        listed = ", ".join(f"{name} ({kind})" for name, kind in self.columns.items())
        answer = json.dumps(self.task, ensure_ascii=False, sort_keys=True)
        turns = (("system", SYSTEM), ("user", f"Columns: {listed}\nRequest: {self.request}"), ("assistant", answer))
        return {"messages": [{"role": role, "content": text} for role, text in turns]}


@cache
def grammar() -> InstructionGrammar:
    return read_document(Path(__file__).with_name("grammar.yaml"), InstructionGrammar)


def pairs(count: int = 2400, seed: int = 0) -> list[Pair]:
    """So many different pairs: 80 % for training, 10 % for validation, 10 % for the test."""
    random_, made, known = random.Random(seed), list[Pair](), set[str]()
    while len(made) < count:
        split: Split = "test" if len(made) % 10 == 9 else "validation" if len(made) % 10 == 8 else "train"
        one = _drawn(random_, split)
        if one.request not in known:
            known.add(one.request)
            made.append(one)
    return made


def _drawn(random_: random.Random, split: Split) -> Pair:
    known, held = grammar(), split == "test"
    table = random_.choice([name for name in known.tables if (name in known.test_tables) == held])
    before, after = known.persons[
        random_.choice([name for name in known.persons if (name in known.test_persons) == held])
    ]
    columns = known.tables[table]
    problem = random_.choice(sorted(known.tasks))
    targets = columns["classes"] if problem == "classification" else columns["numbers"]
    names = {"target": random_.choice(targets), "column": random_.choice(columns["others"])}
    kinds = [kind for kind in known.wishes if not kind.startswith(tuple(known.tasks)) or kind.startswith(problem)]
    chosen = [random_.choice(known.wishes[kind]) for kind in random_.sample(kinds, random_.randint(0, 4))]
    said, task = list[str](), dict[str, Any]()
    for one in (known.tasks[problem], *chosen):
        said.append(_put(random_.choice(one.test if held else one.train), names))
        task = _joined(task, {name: _put(value, names) for name, value in one.fields.items()})
    listed = {name: kind for kind, group in columns.items() for name in group}
    kinds_of = {name: "number" if kind == "numbers" else "category" for name, kind in listed.items()}
    return Pair(split=split, request=f"{before}{' '.join(said)}{after}", columns=kinds_of, task=task)


def _put(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list | tuple):
        return [_put(one, names) for one in value]
    return value.format_map(names) if isinstance(value, str) else value


def _joined(task: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: [*task[name], *value] for name, value in fields.items() if isinstance(value, list) and name in task}
    return {**task, **fields, **both}


def task_fields(task: TaskSpec) -> dict[str, Any]:
    """The fields of a task in the form of the labels."""
    made: dict[str, Any] = {
        name: getattr(task, name) for name in ("target", "problem", "metric") if getattr(task, name)
    }
    lists = {
        "exclude": list(task.exclude),
        "constraints": [str(one) for one in task.constraints],
        "learners": [str(one) for one in task.learners],
        "prefer": list(task.prefer),
    }
    made |= {name: value for name, value in lists.items() if value}
    return made | ({"budget": task.budget} if "budget" in task.sources else {})


def by_rules(pair: Pair) -> dict[str, Any]:
    """What the offline rules read in a request."""
    columns = tuple(
        ColumnSummary.model_validate({"name": name, "kind": kind, "distinct": 3 if kind == "category" else None})
        for name, kind in pair.columns.items()
    )
    return task_fields(read_sentence(pair.request, DataSummary(columns=columns)).task)


class TuningScores(Model):
    """How well requests are read."""

    pairs: int
    exact: float
    """Share of the pairs that are read without any mistake."""
    f1: Mapping[str, float]
    """By field, over its single values; and of all fields together as `all`."""


def evaluate(read: Callable[[Pair], Mapping[str, Any]], tested: Sequence[Pair]) -> TuningScores:
    """Compares what a reader finds with the labels; `problem` counts only where the words must say it."""
    counts = {name: [0, 0, 0] for name in (*FIELDS, "all")}
    exact = 0
    for pair in tested:
        wanted, found = _values(pair.task), _values(read(pair))
        exact += wanted == found
        for name, values in ((name, {one for one in wanted | found if name in (one[0], "all")}) for name in counts):
            both, more, less = len(values & wanted & found), len(values & found - wanted), len(values & wanted - found)
            counts[name] = [old + new for old, new in zip(counts[name], (both, more, less), strict=True)]
    scores = {
        name: 2 * both / (2 * both + more + less) for name, (both, more, less) in counts.items() if both + more + less
    }
    rounded = {name: round(score, 4) for name, score in scores.items()}
    return TuningScores(pairs=len(tested), exact=round(exact / max(len(tested), 1), 4), f1=rounded)


def _values(task: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Single values by field; the problem follows from the target unless it is a clustering, so it is left out."""
    listed = ((name, value if isinstance(value, list | tuple) else [value]) for name, value in task.items())
    return {(name, _plain(one)) for name, values in listed if name != "problem" for one in values}


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def write(made: Iterable[Pair], folder: Path) -> dict[str, int]:
    """Writes `train.jsonl`, `validation.jsonl`, `test.jsonl` and a data card; returns the pairs of each."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(made)
    counts = {}
    for split in ("train", "validation", "test"):
        lines = [json.dumps(one.chat(), ensure_ascii=False) for one in listed if one.split == split]
        (folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        counts[split] = len(lines)
    (folder / "README.md").write_text("".join(f"{line}\n" for line in _card(counts)), "utf-8")
    return counts


def _card(counts: Mapping[str, int]) -> Iterator[str]:
    known = grammar()
    yield "# Requests and tasks\n"
    yield f"{sum(counts.values())} pairs: {', '.join(f'{number} {split}' for split, number in counts.items())}."
    yield "Made by a grammar, without a language model and without real data; labels are right by construction.\n"
    yield f"Tables: {', '.join(known.tables)}; in the test only: {', '.join(sorted(known.test_tables))}."
    yield f"Ways of speaking: {', '.join(known.persons)}; in the test only: {', '.join(sorted(known.test_persons))}."
    yield "Phrasings of the test do not occur in training. Limits: English, one table, one target."
