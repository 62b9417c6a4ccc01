"""A provider that gives prepared replies, and a toy agent to ask it."""

import ast
from collections.abc import Iterable
from typing import Any

from palmette.documents import Model
from palmette.engine import Attempt, Context, TextFile, Verdict, Violation
from palmette.errors import ModelError
from palmette.llm import Agent, Answer, Answerer, Models, Prompt, Python, Reply, Section, Settings, section


class Canned:
    """Gives replies in order; remembers the prompts."""

    name = "canned:model"

    def __init__(self, replies: Iterable[str | Reply | ModelError]) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return (input_tokens + output_tokens) / 1000

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        self.prompts.append(prompt)
        assert self._replies, f"no reply is left for: {prompt.messages[-1].text[-500:]}"
        reply = self._replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        if isinstance(reply, str):
            return Reply(text=reply, model=self.name, input_tokens=100, output_tokens=20)
        return reply


def models(*providers: Any, **settings: Any) -> Models:
    """These providers in every role."""
    return Models(lambda role: Answerer(role, providers, Settings(**settings)))


class Script(Model):
    file: TextFile


class ScriptAnswer(Answer):
    script: Python
    """The whole script."""


class Writer(Agent):
    """Writes a script that prints a word."""

    name = "writer"
    description = "Writes a script."
    produces = "script"
    prompt = "writer.md"
    Output = Script
    Answer = ScriptAnswer

    class Input(Model):
        word: str = "hello"

    def offline(self, input: Input, context: Context) -> Attempt[Script]:
        return Attempt(_script(f"print({input.word!r})\n"))

    def sections(self, input: Input, context: Context) -> tuple[Section, ...]:
        return (section("word", input.word, rank=0),)

    def read(self, answer: ScriptAnswer, input: Input, context: Context) -> Attempt[Script]:
        return Attempt(_script(answer.script), answer.reason, answer.fix)

    def check(self, input: Input, output: Script, context: Context) -> Verdict:
        """The script prints the word."""
        words = [node.value for node in ast.walk(ast.parse(output.file.text)) if isinstance(node, ast.Constant)]
        wrong = Violation(code="wrong-word", message=f"It prints {words}, not {input.word!r}.")
        return Verdict.of([] if input.word in words else [wrong])


def _script(text: str) -> Script:
    return Script(file=TextFile(path="script.py", text=text))


def code(text: str, **fields: str) -> str:
    """An answer as a good model gives it."""
    import json

    head = f"```json\n{json.dumps(fields)}\n```\n" if fields else ""
    return f"{head}```python script\n{text}\n```\n"
