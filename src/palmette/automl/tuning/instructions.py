"""Requests in words and the answers that a language model should give, by a grammar: labels right by construction.

A pair has a table, a person's way of speaking, and some wishes. Each wish is drawn as fields and then put into words.
Prompt and answer are those of the actor `requirement_parser`, so that a tuned model fits `--model`; an answer that the
actor would refuse is not a pair. Test pairs use tables and phrasings that no training pair has.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from palmette.automl.actors.requirement_parser import actor as parser
from palmette.automl.task_spec.request import ColumnSummary, DataSummary, Request
from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model, read_document
from palmette.engine import Context
from palmette.llm import Answerer, Models, Prompt, Reply, read_answer

Split = Literal["train", "validation", "test"]
COUNTS = (3, 4, 7, 14)  # clusters, or days of a forecast
CONTEXT = Context("requirement_parser", Path("/nowhere"))
BY_GRAMMAR = "Made by a grammar, without a language model and without real data; labels are right by construction."


class Phrasing(Model):
    """Ways to say one thing, and the fields of an answer that it means."""

    fields: Mapping[str, Any]
    train: tuple[str, ...]
    test: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    """Tasks that it fits; empty for all."""


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
    """A request about a table, and the answer to it."""

    split: Split
    request: str
    data: DataSummary
    answer: parser.SentenceAnswer

    @property
    def asked(self) -> parser.ParserInput:
        return parser.ParserInput(request=Request(text=self.request), columns=self.data)

    @property
    def prompt(self) -> Prompt:
        """What a run asks a model for this request."""
        return reader().render(self.asked, CONTEXT)

    def chat(self) -> dict[str, Any]:
        """As a line of chat JSONL."""
        asked = [{"role": one.speaker, "content": one.text} for one in self.prompt.messages]
        answer = self.answer.model_dump_json(exclude_defaults=True, indent=1)
        return {"messages": [*asked, {"role": "assistant", "content": f"```json\n{answer}\n```"}]}


@cache
def reader() -> parser.RequirementParser:
    return parser.RequirementParser(Models(lambda role: Answerer(role, ())))


@cache
def grammar() -> InstructionGrammar:
    return read_document(Path(__file__).with_name("grammar.yaml"), InstructionGrammar)


def pairs(count: int = 2400, seed: int = 0, splits: Collection[Split] = get_args(Split)) -> list[Pair]:
    """The pairs of some splits out of so many different ones: 80 % train, 10 % validate, 10 % test."""
    made = dict[str, Pair]()
    for number in range(count):
        split: Split = "test" if number % 10 == 9 else "validation" if number % 10 == 8 else "train"
        if split in splits:
            random_ = random.Random(f"{seed} {number}")
            drawn = iter(lambda: _drawn(random_, split), None)  # noqa: B023 - consumed at once
            fresh = (one for one in drawn if one.request not in made)
            one = next(one for one in fresh if not any(parser.mistakes(one.answer, one.request, one.data)))
            made[one.request] = one
    return list(made.values())


def _drawn(random_: random.Random, split: Split) -> Pair:
    known, held = grammar(), split == "test"
    table = random_.choice([name for name in known.tables if (name in known.test_tables) == held])
    person = random_.choice([name for name in known.persons if (name in known.test_persons) == held])
    before, after = known.persons[person]
    columns = known.tables[table]
    problem = random_.choice(sorted(known.tasks))
    targets = columns["classes"] if problem == "classification" else columns["numbers"]
    values = {"target": random_.choice(targets), "column": random_.choice(columns["others"])}
    values["count"] = str(random_.choice(COUNTS))
    said, fields = list[str](), dict[str, Any]()
    for one in (known.tasks[problem], *_wishes(random_, problem)):
        words = random_.choice(one.test if held else one.train).format_map(values)
        said.append(f"{words}.")
        _add(fields, {name: _put(value, values) for name, value in one.fields.items()}, words)
    data = DataSummary(columns=tuple(_column(name, kind) for kind, group in columns.items() for name in group))
    request, answer = f"{before}{' '.join(said)}{after}", parser.SentenceAnswer(**fields)
    return Pair(split=split, request=request, data=data, answer=answer)


def _wishes(random_: random.Random, problem: str) -> Iterator[Phrasing]:
    """At most four wishes of different kinds that fit a problem."""
    known = grammar()
    for kind in random_.sample(sorted(known.wishes), random_.randint(0, 4)):
        of_task = next((name for name in known.tasks if kind.startswith(name)), problem)
        fitting = [one for one in known.wishes[kind] if not one.tasks or problem in one.tasks]
        if fitting and of_task == problem:
            yield random_.choice(fitting)


def _column(name: str, kind: str) -> ColumnSummary:
    if kind == "numbers":
        return ColumnSummary(name=name, kind="number", distinct=90, examples=("3", "12.5"))
    return ColumnSummary(name=name, kind="category", distinct=3 if kind == "classes" else 40, examples=("a", "b"))


def _put(value: Any, values: Mapping[str, str]) -> Any:
    return [_put(one, values) for one in value] if isinstance(value, list) else value.format_map(values)


def _add(answer: dict[str, Any], fields: Mapping[str, Any], words: str) -> None:
    """Adds fields to an answer, with the words that they were read from."""
    for name, value in fields.items():
        if name in ("constraints", "learners"):
            answer[name] = [*answer.get(name, []), *({"value": one, "words": words} for one in value)]
        else:
            answer[name] = value
            answer.setdefault("words", {})[name] = words


def task_fields(task: TaskSpec) -> set[tuple[str, str]]:
    """The single values of a task by field; the problem only where target and horizon do not tell it."""
    listed: dict[str, Iterable[object]] = {
        "target": [task.target],
        "problem": ["clustering"] if task.problem == "clustering" or task.clusters.count else [],
        "metric": [task.metric],
        "clusters": [task.clusters.count or ""],
        "horizon": [task.forecast.horizon],
        "budget": [f"{task.budget:g}"] if "budget" in task.sources else [],
    }
    listed |= {name: getattr(task, name) for name in ("exclude", "known_after", "constraints", "learners", "prefer")}
    return {(name, str(one)) for name, values in listed.items() for one in values if str(one)}


def by_rules(pair: Pair) -> TaskSpec:
    """What the offline rules read in a request."""
    return read_sentence(pair.request, pair.data).task


def by_model(ask: Callable[[Prompt], Reply]) -> Callable[[Pair], TaskSpec]:
    """What a model reads in a request; nothing where its answer would be refused."""

    def read(pair: Pair) -> TaskSpec:
        answer = read_answer(ask(pair.prompt), parser.SentenceAnswer)
        if not isinstance(answer, parser.SentenceAnswer) or [*parser.mistakes(answer, pair.request, pair.data)]:
            return TaskSpec()
        return parser.reading_of(answer, pair.request, pair.data).task

    return read


class TuningScores(Model):
    """How well requests are read."""

    pairs: int
    exact: float
    """Share of the pairs that are read without any mistake."""
    f1: Mapping[str, float]
    """By field, over its single values; and of all fields together as `all`."""


def evaluate(read: Callable[[Pair], TaskSpec], tested: Sequence[Pair]) -> TuningScores:
    """Compares what a reader finds with the labels."""
    exact, right, wrong = 0, Counter[str](), Counter[str]()
    for pair in tested:
        wanted = task_fields(parser.reading_of(pair.answer, pair.request, pair.data).task)
        found = task_fields(read(pair))
        exact += wanted == found
        right.update(name for name, _ in wanted & found)
        wrong.update(name for name, _ in wanted ^ found)
    right["all"], wrong["all"] = right.total(), wrong.total()
    f1 = {name: round(2 * right[name] / (2 * right[name] + wrong[name]), 4) for name in sorted(right | wrong)}
    return TuningScores(pairs=len(tested), exact=round(exact / max(len(tested), 1), 4), f1=f1)


def write(made: Iterable[Pair], folder: Path, origin: str = BY_GRAMMAR) -> dict[str, int]:
    """Writes `train.jsonl`, `validation.jsonl`, `test.jsonl` and a card with their origin; returns their pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(made)
    counts = {}
    for split in ("train", "validation", "test"):
        lines = [json.dumps(one.chat(), ensure_ascii=False) for one in listed if one.split == split]
        (folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        counts[split] = len(lines)
    (folder / "README.md").write_text("".join(f"{line}\n" for line in _card(counts, origin)), "utf-8")
    return counts


def _card(counts: Mapping[str, int], origin: str) -> Iterator[str]:
    known = grammar()
    yield "# Requests and tasks\n"
    yield f"{sum(counts.values())} pairs: {', '.join(f'{number} {split}' for split, number in counts.items())}."
    yield origin
    yield "Each was accepted by the checks of the actor `requirement_parser`, as it stands here.\n"
    yield f"Tables: {', '.join(known.tables)}; in the test only: {', '.join(sorted(known.test_tables))}."
    yield f"Ways of speaking: {', '.join(known.persons)}; in the test only: {', '.join(sorted(known.test_persons))}."
    yield "The grammar's phrasings of the test do not occur in training. Limits: English, one table, one target."
