"""Runs that the tests of the page need: one that asks in parallel, one with a long journal."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from pydantic import JsonValue

from palmette.engine.events import Decided, InvocationStarted, RunOpened, RunStarted
from palmette.engine.journal import Journal

ASKING = """
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Verdict

class Colour(Model):
    colour: str | None

class Ask(BaseActor):
    name = "ask"
    description = "Asks for a colour."
    produces = "colours"
    Output = Colour

    class Input(Model):
        item: str

    def run(self, input: Input, context: Context) -> Attempt[Colour]:
        return Attempt(Colour(colour=context.ask(f"Which colour for {input.item}?")))

    def check(self, input, output, context):
        return Verdict(ok=True)
"""
TOPOLOGY = """
topology: asking
given: [items]
start: [ask]
end: [ask]
actors:
  ask: {use: "asking_actor:Ask", for_each: items as item}
"""


def question_actor(folder: Path, human: str, items: list[str] | None = None) -> dict[str, JsonValue]:
    """Arguments of a run whose actor asks a question for each item, in parallel."""
    folder.mkdir(exist_ok=True)
    (folder / "asking_actor.py").write_text(ASKING, "utf-8")
    (folder / "asking.yaml").write_text(TOPOLOGY, "utf-8")
    given: list[JsonValue] = [*(items or ["a", "b"])]
    return {"topology": str(folder / "asking.yaml"), "given": {"items": given}, "human": human}


def write_journal(folder: Path, decisions: int) -> None:
    """A journal with so many decisions, as a run that is not stopped would write it."""
    topology = {"topology": "long", "start": ["a"], "end": ["a"], "actors": {"a": {"next": ["a"]}}}
    with Journal(folder) as journal:
        journal.append(
            RunOpened(environment="topology", arguments={}, version="0"),
            RunStarted(topology=json.dumps(topology), given={}, seed=0),
        )
    pair = (Decided(next="a", target="a"), InvocationStarted(actor="a", inputs={}))
    rows = [(time.time(), one.kind, one.model_dump_json()) for one in pair] * decisions
    with closing(sqlite3.connect(folder / "journal.sqlite")) as connection, connection:
        connection.executemany("INSERT INTO events (at, kind, body) VALUES (?, ?, ?)", rows)
    connection.close()
