"""`relay`: a person takes prompts to any model, where no API is allowed, and brings back the answers.

Each prompt is written to the run folder as `relay/NNN-prompt.md`; its answer is expected in `relay/NNN-answer.md`. With
`relay:console` the prompt is printed, and the answer is pasted or piped, ended by a line with `END`.
"""

import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palmette.errors import ModelError
from palmette.llm.messages import Prompt, Reply, Settings

PATIENCE = 0.5  # seconds between checks of the folder
END = "END"
_CLOSED = "\x04"  # what a terminal in raw mode returns for Ctrl-D

_one_at_a_time = threading.Lock()


class Relay:
    """Answers supplied by a person."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder / "relay"
        self._console = name.partition(":")[2] == "console"

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return 0.0

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        text = as_markdown(prompt)
        with _one_at_a_time:
            answer = _pasted(prompt.role, text) if self._console else self._brought(prompt.role, text)
        return Reply.estimated(self.name, text, answer, by_person=True)

    def _brought(self, role: str, text: str) -> str:
        """Waits for the answer file; an existing prompt keeps its number."""
        self._folder.mkdir(parents=True, exist_ok=True)
        prompts = sorted(self._folder.glob("[0-9]*-prompt.md"))
        path = next((p for p in prompts if p.read_text("utf-8") == text), None)
        if path is None:
            path = self._folder / f"{len(prompts) + 1:03d}-prompt.md"
            path.write_text(text, "utf-8")
        answer = path.with_name(path.name.replace("-prompt", "-answer"))
        if not answer.is_file():
            print(f"\nrelay: {role} asks in {path}\n       write the answer to {answer}", file=sys.stderr, flush=True)
        while not (answer.is_file() and _settled(answer)):
            time.sleep(PATIENCE)
        return answer.read_text("utf-8-sig", errors="replace")


def as_markdown(prompt: Prompt) -> str:
    """A conversation as one text to paste into a chat."""
    if len(prompt.messages) <= 2:
        return "\n\n".join(message.text for message in prompt.messages) + "\n"
    titles = {"system": "", "user": "", "assistant": "(your earlier answer)\n\n"}
    return "\n\n---\n\n".join(f"{titles[one.speaker]}{one.text}" for one in prompt.messages) + "\n"


def _settled(path: Path) -> bool:
    """Whether the file is no longer being written."""
    before = path.stat()
    time.sleep(PATIENCE / 5)
    after = path.stat()
    return after.st_size > 0 and (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)


def _pasted(role: str, text: str) -> str:
    asked = f"\n----- prompt of {role} -----\n{text}\n----- paste the answer, then a line {END} -----"
    lines: list[str] = []
    with _lines_of_any_length():
        print(asked, file=sys.stderr, flush=True)
        for line in iter(sys.stdin.readline, ""):
            if line.strip() == END:
                return "".join(lines)
            if line.startswith(_CLOSED):
                break
            lines.append(line)
    message = f"The prompt of {role} has no answer: the input ended before a line {END}."
    remedy = "Resume to be asked again; without a terminal, `relay` waits for files in the run folder."
    raise ModelError(message, remedy, code="no-answer")


@contextmanager
def _lines_of_any_length() -> Iterator[None]:
    """Lets a terminal accept pasted lines of more than 4096 bytes."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~termios.ICANON
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
