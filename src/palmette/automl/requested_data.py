"""Finds data for a request that names none; a person or a rule chooses among the results."""

from __future__ import annotations

import re

from palmette.automl.task_spec.spec import FieldSource, TaskSpec
from palmette.engine import Human
from palmette.errors import UserError
from palmette.knowledge.datasets import DatasetCandidate, candidates, chosen, is_named

_ASKED = re.compile(
    r"\b(?:find|search for|look for|get)\s+(?:me\s+)?(?:some\s+|a\s+|suitable\s+)*(?:open\s+)?data(?:\s?sets?)?\s+"
    r"(?:about|on|for|of|with)\s+(?P<words>[^.;\n]+?)(?=\s+and\s+(?:predict|forecast|classify|cluster|group)|[.;\n]|$)"
    r"(?:\s+and\b)?[.;]?",
    re.I,
)
_METHOD = re.compile(
    r"\b(?:predict\w*|forecast\w*|classif\w+|cluster\w*|group\w*|models?|build|train|regress\w*|accuracy|auc|roc|f1|rmse|"
    r"mae|at least|at most|best|within|score|i|want|need|please|use|using|whether|without|\d[\w.%]*)\b",
    re.I,
)
"""Words about the model rather than the data."""
SHOWN = 5
"""Number of candidates offered to a person."""


def with_found_data(task: TaskSpec, human: Human) -> TaskSpec:
    """Adds a data set that fits the sentence; returns the task unchanged if none fits.

    Raises:
        UserError: the sentence asks for data ("find data about ..."), and no set fits.
    """
    asked = _ASKED.search(task.sentence)
    words = asked["words"] if asked else _METHOD.sub(" ", task.sentence)
    if not words.strip():
        return task
    found, notes = candidates(words, task.problem, task.target)
    listed = "\n".join(f"{number}. {one}" for number, one in enumerate(found[:SHOWN], start=1))
    place = _answered(human, words, found, listed) if found else ""
    why = "chosen by the person who was asked"
    if not place and (best := chosen(found)):
        place, why = best.record.place, f"{best}; nothing rules it out"
    if not place and asked:
        why = f"Candidates are:\n{listed}\n" if listed else f"{' '.join(notes)} "
        message = f"No data set fits {words.strip()!r} well enough to be chosen by rule. {why}"
        raise UserError(message, "Name one with --data, or a file of your own.", code="no-data-found")
    if not place:
        return task
    source = FieldSource(origin="answer" if why.startswith("chosen") else "default", words=why)
    sentence = task.sentence.replace(asked[0], " ").strip() if asked else task.sentence
    changes = {"data": (place,), "sentence": sentence, "sources": {**task.sources, "data": source}}
    return task.model_copy(update=changes)


def _answered(human: Human, words: str, found: list[DatasetCandidate], listed: str) -> str:
    """Returns the place that a person chooses by number or name, or '' without an answer."""
    answer = human.ask(f"Which data about {words.strip()!r}? Answer with a number or a name.\n{listed}") or ""
    if answer.strip().isdecimal() and 1 <= int(answer) <= len(found[:SHOWN]):
        return found[int(answer) - 1].record.place
    return answer.strip() if is_named(answer.strip()) else ""
