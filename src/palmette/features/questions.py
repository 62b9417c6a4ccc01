"""Questions that a specification in words leaves open, asked before a run begins."""

from __future__ import annotations

import re
from pathlib import Path

from palmette.engine.human import Human
from palmette.errors import InputError, Problem
from palmette.features.inputs import read_inputs

QUESTIONS = frozenset({"unknown-words", "ambiguous-words"})
"""Codes of problems that are questions."""


def answered(run_file: Path, human: Human) -> dict[str, str]:
    """Answers to all questions about features in words, by feature name.

    Raises:
        InputError: when there are mistakes beside the questions, or somebody does not answer.
    """
    answers: dict[str, str] = {}
    while True:
        try:
            read_inputs(run_file, answers)
        except InputError as error:
            question = _question(error)
            answer = human.ask(str(question.message)) if question else None
            if question is None or not answer:
                raise
            answers[_feature(run_file, question)] = answer
        else:
            return answers


def _question(error: InputError) -> Problem | None:
    """The first question, when there is nothing but questions."""
    if any(problem.code not in QUESTIONS for problem in error.problems):
        return None
    return error.problems[0]


def _feature(run_file: Path, question: Problem) -> str:
    """Name of the feature that a question is about."""
    from palmette.documents import read_document
    from palmette.features.spec.fsc import FeatureSpec
    from palmette.features.spec.run import Run

    index = re.match(r"features\[(\d+)\]", question.field)
    spec = read_document(run_file.parent / read_document(run_file, Run).fsc, FeatureSpec)
    assert index is not None, question.field
    return spec.features[int(index[1])].name
