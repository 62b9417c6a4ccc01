"""A prompt: a Markdown file beside its agent, with a front matter that names its inputs and its answer.

    ---
    task: code_generator
    inputs: [view, template]
    answer: ScriptAnswer
    ---
    # System
    The model's role and what a good answer is. It has no variables except the fixed texts that `parts` names, such as
    rules for one kind of data.

    # Example
    The shortest complete answer.

    # User
    The view: {{view}}
    The template: {{template}}

Variables are strict: the user part has exactly the inputs; the other parts have exactly the `parts`. The example
is shown with the answer format, after the system part.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from palmette.documents import Model, parse_document, read_text
from palmette.errors import DeveloperError
from palmette.llm.answers import Answer, describe
from palmette.llm.context import Section, pack
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
    """A valid prompt file."""

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
