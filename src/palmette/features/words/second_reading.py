"""Reads words a second time, by another prompt that does not show the first reading, and compares the two.

The oracle computes both on the adversarial scenarios of a view that holds the feature twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from palmette.engine import Pay
from palmette.errors import InputError
from palmette.features import prompt_context
from palmette.features.frame import Frame, Row
from palmette.features.frame_json import encode, encode_row
from palmette.features.frames.scenarios import NamedScenario, named_scenarios
from palmette.features.oracle import NotCovered, WouldFail, expected
from palmette.features.oracle.compare import alike
from palmette.features.spec import Feature, TypeName, View
from palmette.features.spec.phrases import definition, helpers_of, read_statement, sentence_forms, steps_of
from palmette.features.spec.resolve import resolve
from palmette.features.spec.values import Name
from palmette.features.spec.words import WordsReading
from palmette.llm import NEEDED, Answer, Answerer, AnswerError, Prompt, section
from palmette.llm.agent import load_prompt

if TYPE_CHECKING:
    from palmette.features.words.reader import OpenWords

AGAIN = "_read_again"  # suffix of the names of the second reading in the view that holds both
Readings = Mapping[str, WordsReading]


class SecondAnswer(Answer):
    definitions: dict[Name, str] = Field(default_factory=dict)
    """Feature to its definition, and each new name that one uses to its own."""


class SecondVerdict(NamedTuple):
    """The outcome of a second reading that does not confirm the first."""

    doubt: str  # how the readings differ, or why they were not compared
    question: str = ""  # for the author; empty if they were not compared


def ask_again(model: Answerer, pay: Pay, documents: OpenWords, readings: Readings) -> dict[str, SecondVerdict]:
    """Has the words of `readings` read again; returns a verdict on each feature that this does not confirm."""
    try:
        answer = model.ask(_prompt(model, documents, readings), SecondAnswer, pay)
    except AnswerError as error:
        return dict.fromkeys(readings, _skipped(error.message))
    if not isinstance(answer, SecondAnswer):
        return dict.fromkeys(readings, _skipped(answer.reason))
    verdicts = {name: compare(documents, readings, answer, name) for name in readings}
    return {name: verdict for name, verdict in verdicts.items() if verdict is not None}


def compare(documents: OpenWords, readings: Readings, answer: SecondAnswer, name: str) -> SecondVerdict | None:
    """Compares two readings of a feature's words; None if they are equal on all scenarios."""
    if name not in answer.definitions:
        return _skipped("it gives no definition")
    first = (one.model_copy(update={"internal": False}) for one in documents.spec.value.features)
    features = (*first, *_second(documents, answer, name))
    spec = documents.spec.value.model_copy(update={"features": features, "tests": ()})
    answers = {**documents.answers, **readings}
    try:
        view = resolve(spec, documents.registry, answers=answers)
    except InputError as error:
        return _skipped(str(error.problems[0].message))
    view, is_computed = view.narrowed((name, name + AGAIN, *view.populating)), False
    for staged in named_scenarios(view):
        rows = _rows_apart(view, staged.scenario().frames, staged.builder.cutoff, name)
        if rows:
            return _difference(view, staged, name, rows[0])
        is_computed = is_computed or rows is not None
    return None if is_computed else _skipped("the oracle cannot compute it")


def _second(documents: OpenWords, answer: SecondAnswer, name: str) -> Iterator[Feature]:
    """The feature as it is read again, and the new names that its definition uses."""
    spec = documents.spec.value
    features = {one.name: one for one in spec.features}
    new = {one: text for one, text in answer.definitions.items() if one not in features}
    known = {*features, *new, *(key for entity in spec.entities for key in entity.keys)}

    def words(text: str) -> str:
        is_derived = new and read_statement(text, (), known)
        return re.sub(rf"\b({'|'.join(new)})\b", rf"\1{AGAIN}", text) if is_derived else text

    second = {"name": name + AGAIN, "words": words(answer.definitions[name]), "internal": False, "nullable": True}
    yield features[name].model_copy(update=second)
    for one, text in new.items():
        if any(re.search(rf"\b{one}\b", other) for other in (answer.definitions[name], *new.values())):
            yield Feature(name=one + AGAIN, dtype=TypeName("double"), words=words(text), internal=True)


def _rows_apart(view: View, frames: Mapping[str, Frame], cutoff: datetime, name: str) -> list[Row] | None:
    """The rows on which the readings of a feature differ; None if the oracle does not compute both."""
    with suppress(NotCovered, WouldFail):
        output = expected(view, frames, cutoff)
        if {name, name + AGAIN} <= output.schema.keys():
            return [row for row in output.rows if not alike(view.output[name], row[name], row[name + AGAIN])]
    return None


def _difference(view: View, staged: NamedScenario, name: str, row: Row) -> SecondVerdict:
    """Describes how the readings of a feature differ, by the fewest rows of the scenario that show it."""
    factory, cutoff, given = staged.builder.factory, staged.builder.cutoff, staged.why
    for part in sorted(staged.builder.parts, key=lambda part: sum(map(len, part.rows.values()))):
        frames = factory.frames(part.rows, cutoff)
        if rows := _rows_apart(view, frames, cutoff, name):
            row, given = rows[0], f"{part.note}: {_inputs(view, name, frames)}"
            break
    key = json.dumps(encode_row({key: view.output[key] for key in view.identity}, row))
    values = [json.dumps(encode(view.output[name], row[each])) for each in (name, name + AGAIN)]
    text = (
        f"(1) {_meaning(view, name)}. (2) {_meaning(view, name + AGAIN)}. In the row {key}, "
        f"(1) gives {values[0]} and (2) gives {values[1]} ({given})."
    )
    question = f"They are read in two ways. {text} Which is meant: 1, 2, or what in other words?"
    return SecondVerdict(f"A second reading differs. {text}", question)


def _inputs(view: View, name: str, frames: Mapping[str, Frame]) -> str:
    """The rows of the tables that either reading uses, with the columns that it uses and the keys."""
    used, shown = {*view.lineage[name], *view.lineage[name + AGAIN]}, dict[str, object]()
    for table, frame in frames.items():
        kept = {each: kind for each, kind in frame.schema.items() if f"{table}.{each}" in used or each in view.grain}
        is_used = frame.rows and any(column.startswith(f"{table}.") for column in used)
        shown |= {table: [encode_row(kept, row) for row in frame.rows]} if is_used else {}
    return json.dumps(shown)


def _meaning(view: View, name: str) -> str:
    """The definition of a feature, with those of the helpers that it uses."""
    helpers = [f"{one.name} is {definition(one, view)}" for one in helpers_of(view.feature(name), view)]
    return ", where ".join([definition(view.feature(name), view), *helpers])


def _skipped(reason: str) -> SecondVerdict:
    return SecondVerdict(f"A second reading was skipped: {reason.replace(AGAIN, '').rstrip('.')}.")


def _prompt(model: Answerer, documents: OpenWords, readings: Readings) -> Prompt:
    """Shows the words, the sources and the tables, but no computation."""
    spec = documents.spec.value
    asked = [one for one in spec.features if one.name in readings]
    features = [f"{one.name} [{one.dtype}]: {one.words} {one.description}".rstrip() for one in asked]
    given = (spec.sources, *(reading.sources for reading in readings.values()))
    sources = {one.name: one for each in given for one in each}
    prepared = [f"{one.name}: {'; '.join([one.table or one.name, *steps_of(one)])}" for one in sources.values()]
    keys = [key for entity in spec.entities for key in entity.keys]
    named = f"{documents.text} {prepared}"
    tables = [one for one in documents.tables if one.name in named or all(map(one.column, keys))]
    known = {
        "a row for each": ", ".join(keys),
        "days and hours in": spec.time.zone,
        "other features": ", ".join(one.name for one in spec.features if one.name not in readings),
    }
    sections = (
        section("features", "\n".join(features), rank=NEEDED),
        section("view", prompt_context.facts(known), rank=NEEDED),
        section("sources", "\n".join(prepared), rank=NEEDED),
        prompt_context.registry(tables).model_copy(update={"rank": 1}),
    )
    file, parts = load_prompt(Path(__file__).with_name("second_reading.md")), {"forms": sentence_forms()}
    return file.prompt(model.role, SecondAnswer, sections, model.settings.prompt_tokens, parts)
