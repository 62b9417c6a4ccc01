"""Actors of `toys.yaml`: quick, deterministic, and with everything that a kill could repeat or lose.

`outside` is a folder that stands for the world: `calls` in it has a line for every answer that was paid for, and what
is delivered lies beside it, found again and replaced as a forge does with an open pull request.
"""

import time
import uuid
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Paid, Spend, TextFile, Verdict, Violation

TOPOLOGY = Path(__file__).with_name("toys.yaml")
PRICE = Spend(calls=1, input_tokens=1, output_tokens=1)


def arguments(outside: Path, count: int = 3, pause: float = 0.0) -> dict[str, JsonValue]:
    """Of the environment `topology`; `pause`: seconds that every actor takes at least."""
    outside.mkdir(parents=True, exist_ok=True)
    return {"topology": str(TOPOLOGY), "given": {"count": count, "outside": str(outside), "pause": pause}}


class ListInput(Model):
    count: int
    pause: float


class WordList(Model):
    words: tuple[str, ...]


class ListWords(BaseActor):
    name, produces, description = "list_words", "words", "Lists the words."
    Input, Output = ListInput, WordList

    def run(self, input: ListInput, context: Context) -> Attempt[WordList]:
        time.sleep(input.pause)
        return Attempt(WordList(words=tuple(f"word{number}" for number in range(input.count))))


class SpellInput(Model):
    word: str
    outside: str
    pause: float


class Spelled(Model):
    word: str
    file: TextFile


class Spell(BaseActor):
    name, produces, description = "spell", "spelled", "Pays for the spelling of a word."
    Input, Output = SpellInput, Spelled

    def run(self, input: SpellInput, context: Context) -> Attempt[Spelled]:
        def ask() -> Paid:
            time.sleep(input.pause)
            with (Path(input.outside) / "calls").open("a", encoding="utf-8") as calls:
                calls.write(f"{input.word}\n")
            return Paid("-".join(input.word), PRICE)

        spelling = context.pay({"spell": input.word}, PRICE, ask, role="speller")
        return Attempt(Spelled(word=input.word, file=TextFile(path=f"words/{input.word}.txt", text=f"{spelling}\n")))


class DraftInput(Model):
    spelled: tuple[Spelled, ...]
    pause: float


class Drafted(Model):
    file: TextFile
    careful: bool


class WriteDraft(BaseActor):
    name, produces, description = "draft", "drafted", "Writes it down, carefully only on instruction."
    Input, Output = DraftInput, Drafted

    def run(self, input: DraftInput, context: Context) -> Attempt[Drafted]:
        time.sleep(input.pause)
        text = "".join(one.file.text for one in input.spelled)
        return Attempt(Drafted(file=TextFile(path="draft.txt", text=text), careful=bool(context.instruction)))

    def implicated(self, violation: Violation, output: Drafted) -> str | None:
        return None if output.careful else "Write carefully."


class DeliverInput(Model):
    drafted: Drafted
    outside: str
    pause: float


class ToyDelivery(Model):
    careful: bool
    text: str


class Deliver(BaseActor):
    name, produces, description = "deliver", "delivered", "Puts the draft where people look."
    Input, Output = DeliverInput, ToyDelivery
    has_criterion = True

    def run(self, input: DeliverInput, context: Context) -> Attempt[ToyDelivery]:
        if input.drafted.careful:
            found = next(Path(input.outside).glob("delivery-*"), None)
            draft = context.workspace / "draft.txt"
            draft.write_text(input.drafted.file.text, encoding="utf-8")
            time.sleep(input.pause)
            draft.replace(found or Path(input.outside) / f"delivery-{uuid.uuid4().hex}")
        return Attempt(ToyDelivery(careful=input.drafted.careful, text=input.drafted.file.text))

    def check(self, input: Any, output: ToyDelivery, context: Context) -> Verdict:
        """It was written carefully."""
        return Verdict.of([] if output.careful else [Violation(code="careless", message="The draft is careless.")])

    def stands(self, input: DeliverInput, output: ToyDelivery) -> bool:
        return any(Path(input.outside).glob("delivery-*"))
