"""Agents that a team already has answer tasks: `command:PROGRAM` by a program, `mcp:SERVER#TOOL` by a tool of an MCP
server.

Both run in the sandbox, in a folder with the prompt, its two halves (the contract of the answer and the context), and
the files that it quotes. The answer is what is left in `answer.md`, or a file for each field of the contract, else what
is printed. It meets the same checks as a model's.
"""

import os
import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from palmette.errors import MachineError, ModelError, UserError
from palmette.llm import Prompt, Reply, Settings, fenced
from palmette.llm.relay import as_markdown
from palmette.sandbox import Access, Limits, Sandbox
from palmette.sandbox.reading import read_made
from palmette.sandbox.temporary import temporary_folder

PROMPT, CONTRACT, CONTEXT, QUOTED = "prompt.md", "contract.md", "context.md", "context"
ANSWER, DATA = "answer.md", "answer.json"
MOST = 8 << 20  # bytes of a file that is left
LANGUAGES = {".py": "python", ".yaml": "yaml", ".sql": "sql"}
"""Files that may be left for fields of the contract, by suffix."""
READ, VARIABLES = "PALMETTE_COMMAND_READ", "PALMETTE_COMMAND_ENV"
"""Variables of the environment: paths that programs may read, and names of variables that they get, such as a key."""
_FILE = re.compile(
    r"^(?P<path>[\w.-]+(?:/[\w.-]+)*\.\w+):\n(?P<fence>`{3,})\w*\n(?P<text>.*?)\n(?P=fence)$", re.M | re.S
)
"""A file as prompts quote it."""


class CommandProvider:
    """Answers by a program."""

    def __init__(self, name: str) -> None:
        """`name` is `command:` and a command line; UserError if there is no such program."""
        self.name = name
        self._argv = _command(name, name.partition(":")[2])
        self._reads = self._argv

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """Unknown: what the program pays is its own affair."""
        return None

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        text = as_markdown(prompt)
        allowed = [Path(one).expanduser() for one in os.environ.get(READ, "").split(os.pathsep) if one]
        names = [name.strip() for name in os.environ.get(VARIABLES, "").split(",")]
        with temporary_folder() as folder:
            _lay_out(folder, prompt)
            before = {path.name for path in folder.iterdir()}
            beside = [Path(one).absolute() for one in self._reads if _is_file(one)]
            done = Sandbox().run(
                self._argv,
                cwd=folder,
                access=Access(read=(*allowed, *beside), write=(folder,), network="machine"),
                env={name: os.environ[name] for name in names if name in os.environ},
                limits=Limits(seconds=settings.timeout),
                stdin=text.encode(),
            )
            if not done.ok:
                message = f"{self.name} {done.ended} with status {done.exit_code}: {done.error_line[:500]}"
                raise ModelError(message, f"Try it by hand; {READ} and {VARIABLES} allow more.", code="command-failed")
            answer = _left(folder, before) or done.stdout
        return Reply.estimated(self.name, text, answer)


class McpProvider(CommandProvider):
    """Answers by a tool of an MCP server, whose client and, unless it has an address, server run in the sandbox."""

    def __init__(self, name: str) -> None:
        """`name` is `mcp:`, the address or command line of a server, `#` and the tool.

        Raises:
            UserError: the server or the tool is missing, or there is no such program.
            MachineError: the SDK is not installed.
        """
        self.name = name
        server, _, tool = name.partition(":")[2].rpartition("#")
        if not (server and tool):
            message = f"The model {name!r} does not name a server and its tool."
            raise UserError(message, "Write mcp:ADDRESS#TOOL or mcp:PROGRAM#TOOL.", code="no-tool")
        if find_spec("mcp") is None:
            raise MachineError(f"{name!r} needs the MCP SDK.", "Run: pip install 'palmette[mcp]'.", code="no-mcp")
        if not server.startswith(("http://", "https://")):
            server = shlex.join(_command(name, server))
        client = Path(__file__).with_name("mcp_tool.py")
        self._argv = [sys.executable, "-P", str(client), server, tool]
        self._reads = [*shlex.split(server), str(client)]


def _command(name: str, text: str) -> list[str]:
    """The words of a command line, which runs in another folder: files of this one get their full paths."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed
        words = []
    program = shutil.which(words[0]) if words else None
    if program is None:
        message = f"The model {name!r} names no program that can be run."
        raise UserError(message, "Write command:PROGRAM, or its path; close every quote.", code="no-program")
    laid_out = (PROMPT, CONTRACT, CONTEXT, ANSWER, DATA)
    words = [program, *words[1:]]
    return [str(Path(one).absolute()) if one not in laid_out and _is_file(one) else one for one in words]


def _is_file(word: str) -> bool:
    return os.path.isfile(word)  # noqa: PTH113 - unlike `Path.is_file`, False for words too long for a path


def _lay_out(folder: Path, prompt: Prompt) -> None:
    """Writes what a program is given."""
    contract = "\n\n".join(one.text for one in prompt.messages if one.speaker == "system")
    context = prompt.model_copy(update={"messages": tuple(one for one in prompt.messages if one.speaker != "system")})
    texts = {PROMPT: as_markdown(prompt), CONTRACT: contract, CONTEXT: as_markdown(context)}
    for found in _FILE.finditer(texts[CONTEXT]):
        if ".." not in PurePosixPath(found["path"]).parts:
            texts.setdefault(f"{QUOTED}/{found['path']}", f"{found['text']}\n")
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _left(folder: Path, before: set[str]) -> str:
    """The answer that a program left; empty if there is none."""
    made = {path.name for path in folder.iterdir()} - before
    if ANSWER in made:
        return _read(folder, ANSWER)
    kinds = {name: LANGUAGES.get(Path(name).suffix) for name in made}
    labels = {name: f"{kind} {Path(name).stem}" for name, kind in kinds.items() if kind}
    labels |= {name: "json" for name in made & {DATA}}
    return "\n\n".join(fenced(_read(folder, name), labels[name]) for name in sorted(labels))


def _read(folder: Path, name: str) -> str:
    try:
        return read_made(folder, name, MOST).decode("utf-8", "replace")
    except OSError as error:
        raise ModelError(f"What was left in {name!r} cannot be read: {error}.", code="command-failed") from error
