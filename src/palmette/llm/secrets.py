"""Keys: read from the environment or from one file outside any repository, and removed from every stored text.

The file has lines `NAME=value`, is named by $PALMETTE_SECRETS or is `~/.config/palmette/secrets.env`, and must be
readable by its owner only.
"""

import json
import os
import re
import stat
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from pydantic import JsonValue

from palmette.documents import read_text
from palmette.errors import InputError, Mistake, PalmetteError

PLACE = "PALMETTE_SECRETS"
HIDDEN = "[hidden]"
SHORTEST = 8  # shorter values are not treated as secrets: hiding them would damage ordinary text

_SECRET = re.compile(
    r"(^|_)((API)?KEY|TOKEN|SECRETS?|PASS|PASSPHRASE|PASSWD|AUTH|CREDENTIALS?|DSN|WEBHOOK_URL)(_|$|\d)|PASSWORD",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"\w://([^/?#\s@:]*):([^?#\s@]+)@")  # user and password in a URL, whatever the variable's name
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(['\"]?)(.*)\2")


def load_secrets(into: dict[str, str] | None = None) -> None:
    """Loads the secrets file into this process's environment; existing variables win.

    Raises:
        InputError: the file is unreadable, lies in a repository, or is readable by others.
    """
    named = os.environ.get(PLACE)
    path = Path(named or "~/.config/palmette/secrets.env").expanduser().absolute()
    if not named and not path.is_file():
        return
    text = read_text(path)
    _guard(path)
    target = os.environ if into is None else into
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        match = _LINE.fullmatch(bare)
        if match is None:
            raise _refusal(path, "bad-secret", "The line is not `NAME=value`.", "Mend it.", number)
        target.setdefault(match[1], match[3])


def hider() -> Callable[[str], str]:
    """A function that removes every secret of this process's environment from a text."""
    named = {value for name, value in os.environ.items() if _SECRET.search(name)}
    found = {value for value in named if not os.path.exists(value)}  # noqa: PTH110 - or a file; long texts are none
    in_urls = [credentials for value in os.environ.values() for credentials in _IN_URL.findall(value)]
    found |= {spelt for user, password in in_urls for spelt in _spellings(user, password)}
    secrets = {value for value in found if len(value) >= SHORTEST}
    if not secrets:
        return str
    pattern = re.compile("|".join(re.escape(value) for value in sorted(secrets, key=len, reverse=True)))
    return lambda text: pattern.sub(HIDDEN, text)


def bare_url(url: str) -> str:
    """A URL, valid or not, without user, password and query."""
    return re.sub(r"//[^/?#]*@", "//", url).partition("?")[0]


def error_json(error: PalmetteError) -> dict[str, JsonValue]:
    """An error as JSON data, without secrets."""
    body = {name: getattr(error, name) for name in ("code", "message", "remedy", "exit_code")}
    body["problems"] = [vars(problem) for problem in error.problems] if isinstance(error, InputError) else []
    hidden: dict[str, JsonValue] = json.loads(hider()(json.dumps(body)))
    return hidden


def _spellings(user: str, password: str) -> tuple[str, ...]:
    """The spellings of a password: as in the URL, as a library may parse it, decoded, and as in headers."""
    meant = unquote(password)
    return password, password.partition("/")[0], meant, b64encode(f"{unquote(user)}:{meant}".encode()).decode()


def _guard(path: Path) -> None:
    for folder in path.resolve().parents:
        if (folder / ".git").exists():
            message = f"The secrets lie in the repository {str(folder)!r}, from where they may be committed."
            raise _refusal(path, "secrets-in-repository", message, f"Move them, and set {PLACE}.")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        message = "Others on this machine may read the secrets."
        raise _refusal(path, "secrets-readable", message, f"Run: chmod 600 {path}")


def _refusal(path: Path, code: str, message: str, remedy: str, line: int | None = None) -> InputError:
    return InputError([Mistake(code, message, remedy, str(path), line)])
