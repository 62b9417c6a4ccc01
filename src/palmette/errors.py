"""Every error that palmette raises, named for who must act.

PalmetteError
├── UserError              the person who wrote the input; exit status 2
│   ├── InputError         one or many mistakes in a file, all reported together
│   ├── TopologyError      a topology that cannot be run as written
│   └── RunError           a run that does not exist, is in use, or cannot go on
├── MachineError           the machine or its installation; exit status 3
├── ModelError             the language-model provider; exit status 4
├── DeliveryError          the remote repository or forge; exit status 5
├── RunStopped             the run ended cleanly without its goal: budget, or help needed; exit status 6
└── DeveloperError         the author of the actor, planner, check or palmette; exit status 70

Expected failure of *generated* code is never an exception: it is an `ExecutionResult` or a `Violation`.
"""

import difflib
import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None.

    >>> nearest("amout", ["amount", "user_id"])
    'amount'
    """
    candidates = sorted(set(known))
    folded = {candidate.casefold(): candidate for candidate in candidates}
    hits = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.6)
    return folded[hits[0]] if hits else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the probable intended name, or nothing.

    >>> did_you_mean("amout", ["amount", "user_id"]), did_you_mean("x", ["amount"])
    (" Did you mean 'amount'?", '')
    """
    hint = nearest(name, known)
    return f" Did you mean {hint!r}?" if hint else ""


@dataclass(frozen=True)
class Mistake:
    """One mistake: location, message and remedy."""

    code: str
    """Stable, kebab-case, e.g. `unknown-column`."""
    message: str  # what is wrong, with the value in `repr` form
    remedy: str = ""  # what to do, as an imperative sentence
    file: str = ""
    line: int | None = None  # 1-based line in `file`
    field: str = ""
    """Dotted path of the field, e.g. `features[2].aggregate.of`."""
    value: str | None = None
    nearest: str | None = None  # the valid name that was probably intended

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        head = " · ".join(part for part in (place, self.field) if part)
        hint = f" Did you mean {self.nearest!r}?" if self.nearest else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{head + ': ' if head else ''}{self.message}{hint}{remedy} [{self.code}]"


@dataclass
class PalmetteError(Exception):
    """Base of all errors; `str()` gives the complete message for a person."""

    message: str
    remedy: str = ""
    code: str = field(default="error", kw_only=True)

    exit_code = 1

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        gap = "" if not self.remedy or self.message.endswith("\n") else " "
        return f"{self.message}{gap}{self.remedy} [{self.code}]"


class UserError(PalmetteError):
    """The person who wrote the input must act."""

    exit_code = 2


class InputError(UserError):
    """All mistakes in an input file."""

    def __init__(self, problems: Sequence[Mistake]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems), code="invalid-input")

    def __str__(self) -> str:
        return self.message


class TopologyError(InputError):
    """A topology that is inconsistent or cannot reach its end."""


class RunError(UserError):
    """A run that does not exist, is in use by another process, or cannot continue."""


class MachineError(PalmetteError):
    """Something on this machine is missing or broken."""

    exit_code = 3


def missing_extra(error: BaseException, extra: str) -> MachineError | None:
    """The error for a package that is not installed, with the extra that installs it; None for any other error."""
    if not isinstance(error, ModuleNotFoundError) or not extra or (error.name or "palmette").startswith("palmette"):
        return None
    message = f"The package {error.name!r} is not installed."
    return MachineError(message, f"Run: pip install 'palmette[{extra}]'", code="missing-extra")


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "unit test"), counted(2, "unit test")
    ('1 unit test', '2 unit tests')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def named(path: object) -> str:
    """A path for messages: in quotes, and shortened if it is very long."""
    text = str(path)
    return repr(text) if len(text) <= 300 else f"{text[:100]!r}... ({len(text)} characters)"


def require_text(given: object) -> None:
    """Raises UserError for a string, at any depth, that is not valid UTF-8 and so cannot be journaled."""
    if isinstance(given, Mapping):
        given = [*given.keys(), *given.values()]
    if isinstance(given, list | tuple):
        for each in given:
            require_text(each)
    elif isinstance(given, str):
        try:
            given.encode()
        except UnicodeEncodeError:
            message, remedy = f"{given!r} is not text in UTF-8.", "Encode it in UTF-8, or rename the file."
            raise UserError(message, remedy, code="no-text") from None


_UNUSABLE = {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES, errno.EPERM}


def path_error(error: BaseException) -> UserError | None:
    """The error for an unusable path; None for errors with another cause."""
    if isinstance(error, RuntimeError):  # raised by `Path.resolve` for symbolic-link loops before Python 3.13
        error = error.__context__ or error
    if not isinstance(error, OSError) or error.errno not in _UNUSABLE or not error.filename:
        return None
    message = f"The path {named(os.fsdecode(error.filename))} cannot be used: {error.strerror}."
    return UserError(message, "Name another path, or change its permissions.", code="unusable-path")


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
_SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EIO}


def machine_error(error: BaseException) -> MachineError | None:
    """The error for an exhausted resource of the machine; None for errors with another cause."""
    if isinstance(error, MemoryError):
        error = OSError(errno.ENOMEM, str(error) or os.strerror(errno.ENOMEM))
    if not isinstance(error, OSError) or error.errno not in _FULL | _SCARCE:
        return None
    place = f" at {error.filename!r}" if error.filename else ""
    full = error.errno in _FULL
    code, what = ("full", "Free disk space") if full else ("scarce", "Free memory, files or processes")
    remedy = f"{what} and try again; `palmette resume` continues a run that was cut off."
    return MachineError(f"{error.strerror}{place}.", remedy, code=code)


class ModelError(PalmetteError):
    """The language-model provider failed or refused."""

    exit_code = 4


class DeliveryError(PalmetteError):
    """The remote or the forge refused; the message explains how to finish by hand."""

    exit_code = 5


class RunStopped(PalmetteError):  # noqa: N818 - not a mistake: the run ended in order
    """The run ended cleanly, short of its goal: a budget was reached or a person is needed."""

    exit_code = 6


class DeveloperError(PalmetteError):
    """An actor, planner, check or palmette itself broke its contract."""

    exit_code = 70
