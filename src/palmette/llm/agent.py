"""An agent: a task with a prompt, a typed answer and built-in rules. Every answer is checked the same way."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, final

from pydantic import BaseModel

from palmette.documents import Model, parse_document, read_text
from palmette.engine import TERMINATE, Attempt, BaseActor, Context, PastAttempt, Recall, Violation
from palmette.engine.artefacts import replace_texts
from palmette.errors import DeveloperError
from palmette.llm import answers
from palmette.llm.answerer import OFFLINE, Answerer, AnswerError, Models
from palmette.llm.answers import Answer, describe
from palmette.llm.context import Section, abridged, clipped, fenced, pack, without
from palmette.llm.messages import Message, Prompt
from palmette.llm.text import estimate_tokens

_FILE = re.compile(
    r"\A---\n(?P<front>.*?)\n---\n+# System\n+(?P<system>.*?)\n+# Example\n+(?P<example>.*?)\n+# User\n+(?P<user>.*)\Z",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\{\{ *([a-z_]+) *\}\}")
NO_PARTS: Mapping[str, str] = MappingProxyType({})


class Front(Model):
    """The front matter."""

    task: str
    """Name of the agent."""
    inputs: tuple[str, ...]
    """Names of the sections that the user part shows."""
    parts: tuple[str, ...] = ()
    """Names of fixed texts that complete the system part and the example; never data."""
    answer: str
    """Name of the answer's model class."""


class PromptFile(Model):
    """A prompt: a Markdown file beside its agent, with a front matter that names its inputs and its answer.

        ---
        task: code_generator
        inputs: [view, template]
        answer: ScriptAnswer
        ---
        # System
        The model's role and what a good answer is. It has no variables except the fixed texts that `parts` names, such
        as rules for one kind of data.

        # Example
        The shortest complete answer.

        # User
        The view: {{view}}
        The template: {{template}}

    Variables are strict: the user part has exactly the inputs; the other parts have exactly the `parts`. The example
    is shown with the answer format, after the system part.
    """

    path: str
    front: Front
    system: str
    example: str
    user: str

    def instructions(self, answer: type[Answer], parts: Mapping[str, str] = NO_PARTS) -> str:
        """The system part with the answer format; every part must be given."""
        _agree(self.path, "given", set(parts), set(self.front.parts))
        contract = describe(answer, fill(self.example, parts))
        return f"{fill(self.system, parts)}\n\n{fill(shared('rules'), {'contract': contract})}"

    def prompt(
        self,
        role: str,
        answer: type[Answer],
        sections: Iterable[Section],
        tokens: int,
        parts: Mapping[str, str] = NO_PARTS,
        past: Sequence[str] = (),
    ) -> Prompt:
        """The complete prompt in at most `tokens` tokens; `past` is what follows the user part.

        Raises:
            AnswerError: the sections that must not be cut do not fit.
        """
        system = self.instructions(answer, parts)
        packed = pack(sections, tokens - sum(map(estimate_tokens, (system, self.user, *past))))
        user = "\n\n".join((self.fill(packed), *past))
        return Prompt(role=role, messages=(Message(speaker="system", text=system), Message(speaker="user", text=user)))

    def fill(self, values: Mapping[str, str]) -> str:
        """The user part with its variables filled; exactly the inputs must be given."""
        _agree(self.path, "given", set(values), set(self.front.inputs))
        return fill(self.user, values)


@cache
def load_prompt(path: Path) -> PromptFile:
    """The prompt in a file; DeveloperError if the front matter or a part is missing, or a variable is not an input."""
    text = read_text(path).replace("\r\n", "\n")
    match = _FILE.match(text)
    if match is None:
        raise _broken(str(path), "It needs a front matter between `---` lines, then `# System`, `# Example`, `# User`.")
    front = parse_document(match["front"], Front, str(path))
    _agree(str(path), "in the user part", set(_VARIABLE.findall(match["user"])), set(front.inputs))
    before = f"{match['system']}\n{match['example']}"
    _agree(str(path), "before the user part", set(_VARIABLE.findall(before)), set(front.parts))
    parts = {name: match[name].strip() for name in ("system", "example", "user")}
    return PromptFile(path=str(path), front=front, **parts)


def fill(text: str, values: Mapping[str, str]) -> str:
    """A text with its variables replaced in one pass: inserted text is never expanded."""
    return _VARIABLE.sub(lambda match: values[match[1]], text)


@cache
def shared(name: str) -> str:
    """A part that all prompts share, such as the rules of answering."""
    return read_text(Path(__file__).with_name("shared") / f"{name}.md").strip()


def _agree(path: str, where: str, found: set[str], named: set[str]) -> None:
    if found != named:
        unknown, missing = sorted(found - named), sorted(named - found)
        raise _broken(path, f"Of what it names, {sorted(named)}, {where} are missing {missing} and unknown {unknown}.")


def _broken(path: str, message: str) -> DeveloperError:
    return DeveloperError(f"The prompt {path!r} is not in order. {message}", "Mend it.", code="broken-prompt")


EVIDENCE = 1500  # characters of a violation's evidence in a prompt
EVIDENCED = 3  # violations shown with their evidence
LAST = 4000  # tokens of the last output in a prompt


class Agent(BaseActor):
    """An actor whose task is answered by a language model or by built-in rules.

    A subclass defines `name`, `description`, `produces`, `Input`, `Output` and `Answer`, a prompt file, and the three
    methods `offline`, `sections` and `read`.
    """

    name: str
    prompt: ClassVar[str] = "prompt.md"  # the prompt file, relative to the module of the class
    Answer: type[answers.Answer]  # A model's answer type; `read` turns it into the actor's output

    def __init__(self, models: Models = OFFLINE) -> None:
        self.model: Answerer | None = models.of(self.name)  # None for the built-in rules
        self.needs_person = self.model is not None  # rules give the same output again

    def offline(self, input: Any, context: Context) -> Attempt[Any]:
        """One attempt by the built-in rules."""
        raise NotImplementedError

    def sections(self, input: Any, context: Context) -> tuple[Section, ...]:
        """The prompt's sections, one for every input that the prompt file names.

        Raises:
            AnswerError: there is nothing to ask, as its violations explain; no call is paid for.
        """
        raise NotImplementedError

    def parts(self, input: Any) -> Mapping[str, str]:
        """Fixed texts that complete the prompt file, by name; never data."""
        return NO_PARTS

    def read(self, answer: Any, input: Any, context: Context) -> Attempt[Any]:
        """The actor's output from a model's answer.

        For an unusable answer, an `Attempt` whose output does not meet the criterion, or one without
        output and with violations.
        """
        raise NotImplementedError

    def objection(self, answer: Any, input: Any) -> str:
        """Why an answer is unusable, so that the model is asked again; empty if it is usable."""
        return ""

    def is_settled(self, input: Any, context: Context) -> bool:
        """Whether nothing is left to decide; then the rules answer and no call is paid for."""
        return False

    def redacted(self, violation: Violation) -> Violation:
        """A violation as the model may see it on re-entry; unchanged unless overridden."""
        return violation

    def recalled(self, output: Any) -> str:
        """The last output as shown to the model again; its files and the rest as JSON unless overridden."""
        return shown(output)

    @final
    def run(self, input: Any, context: Context) -> Attempt[Any]:
        if self.model is None or self.is_settled(input, context):
            return self.offline(input, context)
        try:
            asked = self.render(input, context)
            answer = self.model.ask(asked, self.Answer, context.pay, lambda found: self.objection(found, input))
        except AnswerError as error:
            return Attempt(None, error.message, TERMINATE, error.violations)
        if answer.hands_over:
            return Attempt(None, answer.reason, TERMINATE)
        return self.read(answer, input, context)

    @final
    def render(self, input: Any, context: Context) -> Prompt:
        """The complete prompt; AnswerError if there is nothing to ask, or the required sections do not fit."""
        assert self.model is not None
        file = load_prompt(Path(inspect.getfile(type(self))).parent / self.prompt)
        # Folders differ from run to run, and equal prompts are answered from the journal or a recording.
        places = {str(context.workspace): "<workspace>"}
        sections = [
            one.model_copy(update={"items": tuple(without(item, places) for item in one.items)})
            for one in self.sections(input, context)
        ]
        past, tokens = [without(text, places) for text in self._past(context)], self.model.settings.prompt_tokens
        return file.prompt(self.name, self.Answer, sections, tokens, self.parts(input), past)

    def _past(self, context: Context) -> list[str]:
        """Earlier attempts in this run, and why the planner came back."""
        parts = []
        if context.instruction:
            found = [*_described(map(self.redacted, context.evidence)), *_remedies(context.evidence, context.recall)]
            words = "\n".join([context.instruction, *found])
            parts.append(fill(shared("instruction"), {"instruction": fenced(words)}))
        if context.attempts:
            shown = [_attempt(one, last=one is context.attempts[-1]) for one in context.attempts]
            shown += _remedies(context.attempts[-1].violations, context.recall)
            parts.append(fill(shared("attempts"), {"attempts": fenced("\n\n".join(shown))}))
        if parts and context.last:
            parts.append(fill(shared("last"), {"last": clipped(self.recalled(context.last), LAST)}))
        return parts


def shown(output: BaseModel) -> str:
    """An output as shown to a model: its files as they are, and the rest as JSON."""
    files: list[str] = []

    def noted(path: str, text: str) -> str:
        files.append(f"{path}:\n{fenced(text)}")
        return path

    rest = replace_texts(output.model_dump(mode="json"), noted)
    data = [fenced(json.dumps(rest, indent=1, ensure_ascii=False), "json")] if rest else []
    return "\n\n".join([*data, *files])


def _attempt(attempt: PastAttempt, *, last: bool) -> str:
    """An attempt, abridged; only the last one has its evidence."""
    head = f"Attempt {attempt.number}: {attempt.reason} {attempt.fix}".strip()
    found = _described(attempt.violations) if last else [f"- {one.message}" for one in attempt.violations]
    return "\n".join([head, *found])


def _remedies(violations: Iterable[Violation], recall: Recall) -> list[str]:
    """What fixed such violations in earlier runs, each once."""
    return list(dict.fromkeys(str(one) for code in {found.code: 0 for found in violations} for one in recall(code)))


def _described(violations: Iterable[Violation]) -> Iterator[str]:
    """The violations, the first few with their evidence; it is mostly the same in the others."""
    for number, violation in enumerate(violations):
        subject = f" ({violation.subject})" if violation.subject else ""
        yield f"- [{violation.code}] {violation.message}{subject}"
        evidence = violation.evidence.strip()
        if evidence and number < EVIDENCED:
            yield abridged(evidence, EVIDENCE)
