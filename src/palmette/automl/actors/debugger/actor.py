"""The task `debugger`: finds the module of own code that a failure comes from, and patches it."""

import ast
import re
from typing import Annotated

from palmette.automl.candidates import OwnCode
from palmette.documents import Model
from palmette.engine import TERMINATE, Attempt, Context, Violation
from palmette.llm import NEEDED, Agent, Answer, CodeField, Section, section

Patch = Annotated[str, CodeField("patch")]
_CHANGE = re.compile(r"^<{7} old\n(.*?)^={7}\n(.*?)^>{7} new$", re.MULTILINE | re.DOTALL)


class DebuggerInput(Model):
    failure: Violation
    """As the traceback locates it."""
    modules: tuple[OwnCode, ...]
    """That may be changed."""

    def module(self, path: str) -> OwnCode | None:
        """The module of this path; where it is empty, the one of the traceback, or the only one."""
        wanted = path or self.failure.subject
        found = {one.path: one for one in self.modules}
        return found.get(wanted) or (self.modules[0] if not path and len(found) == 1 else None)


class DebuggerAnswer(Answer):
    path: str = ""
    """The module that is changed; empty for the one that the failure names."""
    code: Patch
    """The changed passages of the module."""


class Debugger(Agent):
    """Changes one module, and in it no more than the failure asks for; its caller checks and runs the result."""

    name = "debugger"
    description = "Patches the module of own code that a failure comes from."
    produces = "corrected"
    Input = DebuggerInput
    Output = OwnCode
    Answer = DebuggerAnswer

    def offline(self, input: DebuggerInput, context: Context) -> Attempt[OwnCode]:
        return Attempt(None, "", TERMINATE, (input.failure,))

    def sections(self, input: DebuggerInput, context: Context) -> tuple[Section, ...]:
        failure, recalled = input.failure, map(str, context.recall(input.failure.code))
        return (
            section("failure", failure.message, failure.evidence, *recalled, rank=NEEDED),
            section("modules", *(f"{one.path}:\n{one.text}" for one in input.modules), rank=NEEDED),
        )

    def objection(self, answer: DebuggerAnswer, input: DebuggerInput) -> str:
        module = input.module(answer.path)
        if module is None:
            return f"{answer.path!r} is not a module that may be changed."
        try:
            ast.parse(patched(module.text, answer.code))
        except (SyntaxError, ValueError) as error:
            return f"The patch cannot be applied: {error}"
        return ""

    def read(self, answer: DebuggerAnswer, input: DebuggerInput, context: Context) -> Attempt[OwnCode]:
        module = input.module(answer.path)
        assert module is not None
        made = module.model_copy(update={"text": patched(module.text, answer.code)})
        return Attempt(made, answer.reason or input.failure.message, answer.fix or f"{module.path} is changed.")


def patched(text: str, patch: str) -> str:
    r"""The text with every change of a patch.

    >>> patched("a = 1\nb = 2\n", "<<<<<<< old\nb = 2\n=======\nb = 3\n>>>>>>> new\n")
    'a = 1\nb = 3\n'

    Raises:
        ValueError: there is no change, or a passage does not occur exactly once.
    """
    changes = _CHANGE.findall(patch)
    if not changes:
        raise ValueError("There is no change in the patch. Write `<<<<<<< old`, `=======` and `>>>>>>> new`.")
    for old, new in changes:
        count = text.count(old) if old else 0
        if count != 1:
            raise ValueError(f"This passage occurs {count} times in the module, not once: {old[:200]!r}")
        text = text.replace(old, new)
    return text
