"""The rules of the verifier: relevance and adequacy of a request, and the one question that it may leave open."""

from __future__ import annotations

from collections.abc import Callable

from palmette.automl.requirements import DataSummary, Question, Refusal, Request, Understanding, read_request
from palmette.automl.requirements.relevance import missing_upload
from palmette.errors import UserError

FACTS = ("no-data", "no-target")
"""Refusals that no opinion overrules: what is not there cannot be worked on."""


def read(request: Request, columns: DataSummary) -> Understanding:
    """What the rules read; a request whose data never came is declined here."""
    understood = read_request(request.text, columns.hints or None, request.files)
    made = understood.requirements
    if understood.refusal is None and not (columns.columns or request.files or made.dataset.hub):
        return Understanding(requirements=made, refusal=missing_upload(made))
    return understood


def ask(question: Question, put: Callable[[str], str | None]) -> tuple[str | None, bool]:
    """What is meant, and whether a person said so: the default where no option is named, None where nobody answers."""
    shown = ", ".join(f"{number} {option}" for number, option in enumerate(question.options, 1))
    default = "" if question.blind else f"; default: {question.default}"
    answer = put(f"{question.text} ({shown}{default})")
    if answer is None:
        return None, False
    said = answer.strip().strip("'\"`.")
    for number, option in enumerate(question.options, 1):
        if said.casefold() in (option.casefold(), str(number)):
            return option, True
    return question.default, False


def declined(refusal: Refusal) -> UserError:
    """A refusal as whoever asked reads it."""
    return UserError(refusal.reason, f"A request that works: {refusal.example}", code=f"request-{refusal.code}")
