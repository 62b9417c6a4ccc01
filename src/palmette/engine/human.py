"""How a run asks a person."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Protocol


class Human(Protocol):
    """A person who can be asked."""

    def ask(self, question: str) -> str | None:
        """The answer; None if help is not available."""


class NoHuman:
    """No person is available."""

    def ask(self, question: str) -> str | None:
        return None


class ConsoleHuman:
    """Asks on the terminal; an empty answer, or no terminal, means that help is not available."""

    def ask(self, question: str) -> str | None:
        if not sys.stdin.isatty():
            return None
        print(f"\n{question}\n> ", file=sys.stderr, end="", flush=True)  # standard output is for results
        try:
            return input().strip() or None
        except EOFError:
            return None


class ScriptedHuman:
    """Gives prepared answers in order, then none; records the questions."""

    def __init__(self, answers: Iterable[str | None] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    def ask(self, question: str) -> str | None:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else None
