"""`command:PROGRAM`: a program, such as a coding agent that a team already has, answers the agents' tasks.

It runs in the sandbox, in an empty folder: the prompt with its context and the contract of the answer is on standard
input and in `prompt.md`. Its answer is what it leaves in `answer.md`, else what it prints. The answer meets the same
checks as a model's.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from palmette.errors import ModelError, UserError
from palmette.llm.messages import Prompt, Reply, Settings
from palmette.llm.relay import as_markdown
from palmette.llm.tokens import estimate_tokens
from palmette.sandbox import Access, Limits, Sandbox
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

PROMPT, ANSWER = "prompt.md", "answer.md"
READ, VARIABLES = "PALMETTE_COMMAND_READ", "PALMETTE_COMMAND_ENV"
"""Variables of the environment: paths that programs may read, and names of variables that they get, such as a key."""


class CommandProvider:
    """Answers by a program."""

    def __init__(self, name: str) -> None:
        """`name` is `command:` and a command line.

        Raises:
            UserError: there is no such program.
        """
        self.name = name
        words = shlex.split(name.partition(":")[2])
        program = shutil.which(words[0]) if words else None
        if program is None:
            message = f"The model {name!r} names no program that can be run."
            raise UserError(message, "Write command:PROGRAM, or its path.", code="no-program")
        self._argv = [program, *words[1:]]

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Unknown: what the program pays is its own affair."""
        return None

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        text = as_markdown(prompt)
        allowed = [Path(one).expanduser() for one in os.environ.get(READ, "").split(os.pathsep) if one]
        names = [name.strip() for name in os.environ.get(VARIABLES, "").split(",")]
        with temporary_folder() as folder:
            (folder / PROMPT).write_text(text, encoding="utf-8")
            beside = [Path(one).absolute() for one in self._argv if Path(one).is_file()]
            access = Access(read=(*allowed, *beside), write=(folder,), network="machine")
            done = Sandbox().run(
                self._argv,
                cwd=folder,
                access=access,
                env={name: os.environ[name] for name in names if name in os.environ},
                limits=Limits(seconds=settings.timeout),
                stdin=text.encode(),
            )
            if not done.ok:
                message = f"{self._argv[0]} {done.ended} with status {done.exit_code}: {done.last_line[:500]}"
                raise ModelError(message, f"Try it by hand; {READ} and {VARIABLES} allow more.", code="command-failed")
            answer = read_made(folder, ANSWER).decode("utf-8", "replace") if (folder / ANSWER).exists() else done.stdout
        return Reply(
            text=answer,
            model=self.name,
            input_tokens=estimate_tokens(text),
            output_tokens=estimate_tokens(answer),
            counted=False,
        )
