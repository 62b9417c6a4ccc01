"""Recordings of models' answers: `replay:PATH` answers from one, without a network; `write_cassette` makes one.

A cassette holds one object per paid call. A replayed prompt must equal the recorded one; otherwise
the error names the role and shows the difference.
"""

import difflib
import json
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from palmette.documents import MOST_WRITTEN, Model, read_text, write_text
from palmette.engine import ArtefactStore, read_journal
from palmette.engine.events import CallAnswered
from palmette.errors import InputError, Mistake, ModelError
from palmette.llm.messages import Message, Prompt, Reply, Settings

SHOWN = 30  # lines of difference in an error


class RecordedCall(Model):
    """One recorded exchange."""

    actor: str
    """The caller; `planner`, or empty while the run was opened."""
    role: str
    messages: tuple[Message, ...]
    answer: Reply


class Cassette(Model):
    """The answers of one run, in order."""

    cassette: Literal[1] = 1
    """Version of the format."""
    calls: tuple[RecordedCall, ...]


def recorded(folder: Path) -> Cassette:
    """The models' answers in the journal of a run."""
    store = ArtefactStore(folder)
    calls = []
    for call in (entry.event for entry in read_journal(folder, "call_answered")):
        assert isinstance(call, CallAnswered)
        prompt = store.get(call.request)
        if isinstance(prompt, dict) and "messages" in prompt:  # otherwise a person's answer
            exchange = {"messages": prompt["messages"], "answer": store.get(call.answer)}
            calls.append(RecordedCall.model_validate({"actor": call.actor, "role": call.role, **exchange}))
    return Cassette(calls=tuple(calls))


def write_cassette(folder: Path, path: Path) -> Cassette:
    """Writes the answers of a run to a file that `replay:PATH` reads."""
    cassette = recorded(folder)
    write_text(path, cassette.model_dump_json(indent=1) + "\n")
    return cassette


def read_cassette(path: Path) -> Cassette:
    """The answers in a file or in a run folder."""
    if path.is_dir():
        return recorded(path)
    try:
        return Cassette.model_validate_json(read_text(path, MOST_WRITTEN))
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(map(str, detail["loc"]))
        found = Mistake("bad-cassette", f"{detail['msg']}.", "Record it again.", str(path), field=field)
        raise InputError([found]) from error


class Replay:
    """Answers from a recording."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = Path(name.partition(":")[2])
        self._calls = read_cassette(self._path).calls
        self._known = {_key(call.role, call.messages): call.answer for call in self._calls}

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return 0.0

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        answer = self._known.get(_key(prompt.role, prompt.messages))
        if answer is None:
            raise self._changed(prompt)
        return answer

    def _changed(self, prompt: Prompt) -> ModelError:
        asked = _lines(prompt.messages)
        of_role = [_lines(call.messages) for call in self._calls if call.role == prompt.role]
        head = f"The recording {str(self._path)!r} has no answer to this prompt of {prompt.role}"
        if not of_role:
            roles = ", ".join(sorted({call.role for call in self._calls})) or "nobody"
            return ModelError(f"{head}; it has answers for {roles}.", "Record the run again.", code="not-recorded")
        nearest = max(of_role, key=lambda lines: difflib.SequenceMatcher(None, lines, asked, autojunk=False).ratio())
        changes = list(difflib.unified_diff(nearest, asked, "recorded", "asked", lineterm="", n=1))
        more = f"\n... {len(changes) - SHOWN} lines more" if len(changes) > SHOWN else ""
        message = f"{head}. From the nearest recorded one it differs in:\n" + "\n".join(changes[:SHOWN]) + more + "\n"
        return ModelError(message, "Record the run again, or take the change back.", code="prompt-changed")


def _key(role: str, messages: tuple[Message, ...]) -> str:
    return json.dumps([role, [[message.speaker, message.text] for message in messages]])


def _lines(messages: tuple[Message, ...]) -> list[str]:
    return [line for message in messages for line in (f"[{message.speaker}]", *message.text.splitlines())]
