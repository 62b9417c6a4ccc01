"""How a run asks a person."""

import hashlib
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from palmette.engine.events import HumanAnswered, HumanAsked
from palmette.engine.journal import read_journal
from palmette.engine.storage import disk_errors, write_whole
from palmette.errors import RunError

ANSWERS = "answers"  # the folder of a run that takes answers from other processes
WATCHED = 0.3  # seconds between two looks at whether there is an answer


class Human(Protocol):
    """A person who can be asked."""

    def ask(self, question: str) -> str | None:
        """The answer; None if help is not available."""


def is_yes(answer: str | None) -> bool:
    """Whether an answer agrees."""
    return (answer or "").strip().casefold() in {"y", "yes"}


class NoHuman:
    """No person is available."""

    def ask(self, question: str) -> str | None:
        return None


class ConsoleHuman:
    """Asks on the terminal; an empty answer, or no terminal, means that help is not available."""

    _terminal = threading.Lock()

    def ask(self, question: str) -> str | None:
        if not sys.stdin.isatty():
            return None
        with self._terminal, suppress(EOFError):
            print(f"\n{question}\n> ", file=sys.stderr, end="", flush=True)  # standard output is for results
            return input().strip() or None
        return None


class PendingQuestion(NamedTuple):
    """A question of a run that nobody has answered yet."""

    id: str  # of the question and of how often it was answered before, so the same after a resume
    at: float
    event: HumanAsked


def open_questions(folder: Path) -> list[PendingQuestion]:
    """The questions of a run that wait for an answer, oldest first; also while nobody works on it."""
    answered: dict[str, int] = {}
    waiting: dict[str, tuple[float, HumanAsked]] = {}
    for entry in read_journal(folder, "human_asked", "human_answered", "run_ended"):
        match entry.event:
            case HumanAsked(question=question) as asked:
                waiting[question] = entry.at, asked
            case HumanAnswered(question=question):
                answered[question] = answered.get(question, 0) + 1
                waiting.pop(question, None)
            case _:
                waiting.clear()
    ids = {text: f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{answered.get(text, 0)}" for text in waiting}
    return [PendingQuestion(ids[text], *asked) for text, asked in waiting.items()]


def answer_question(folder: Path, id: str, answer: str) -> None:
    """Answers an open question of a run from another process; an empty answer means that help is not available.

    Raises:
        RunError: the question is not open.
    """
    if id not in {one.id for one in open_questions(folder)}:
        message = f"The run {folder.name!r} has no open question {id!r}."
        raise RunError(message, "It was answered, or the run has ended.", code="no-such-question")
    with disk_errors(folder):
        write_whole(folder / ANSWERS / id, answer.encode())


class WebHuman:
    """Waits for an answer that another process gives to a journaled question by `answer_question`.

    An answer that arrives while the run is not worked on is found when the run is resumed and asks again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, question: str) -> str | None:
        try:
            waiting = {one.event.question: one.id for one in open_questions(self._folder)}
        except RunError:
            return None  # while the environment opens, before there is a journal
        if question not in waiting:
            return None
        path = self._folder / ANSWERS / waiting[question]
        while not path.exists():
            time.sleep(WATCHED)
        return path.read_text(encoding="utf-8").strip() or None


def human_of(name: JsonValue, folder: Path) -> Human:
    """The human that a run's `human` names: `console`, `web` or `none`."""
    if name == "web":
        return WebHuman(folder)
    return ConsoleHuman() if name == "console" else NoHuman()
