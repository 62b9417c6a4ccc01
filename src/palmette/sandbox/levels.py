"""Chooses the isolation: the requested level, or the best that works here."""

from collections.abc import Callable, Mapping
from functools import cache

from palmette.errors import MachineError, UserError, did_you_mean
from palmette.sandbox.container import ENGINES, Container
from palmette.sandbox.isolation import Bubblewrap, Isolation, Landlock, NoIsolation
from palmette.sandbox.network import Network, NoNetworkError

VARIABLE = "PALMETTE_ISOLATION"  # environment variable that names a level
UNSAFE = "none"

Trial = Callable[[Isolation], str]  # starts a program under an isolation and returns the error; empty if it worked


def isolation_of(name: str) -> Isolation:
    """The isolation of this name; UserError if unknown."""
    engine, _, image = name.partition(":")
    if engine in ENGINES and image:
        return Container(engine, image)
    if name not in LEVELS:
        known = [*LEVELS, *(f"{engine}:IMAGE" for engine in ENGINES)]
        message = f"{name!r} is not an isolation level.{did_you_mean(name, known)}"
        raise UserError(message, f"There are {', '.join(known)}; {VARIABLE} names one.", code="unknown-isolation")
    return LEVELS[name]()


@cache
def best_isolation(trial: Trial, name: str = "") -> Isolation:
    """The isolation of this name, or the best that works here.

    Raises:
        UserError: the name is unknown.
        MachineError: the requested level does not work here, or none works and `none` was not requested.
    """
    reasons = []
    for level in (name,) if name else [level for level in LEVELS if level != UNSAFE]:
        isolation = isolation_of(level)
        reason = isolation.missing() or trial(isolation)
        if not reason:
            return isolation
        reasons.append(f"{level}: {reason}")
    raise MachineError(
        f"Programs cannot be isolated on this machine ({'; '.join(reasons)}).",
        "Install bubblewrap, or allow generated code to read your files and to use your network: "
        f"`palmette --isolation {UNSAFE} ...` or {VARIABLE}={UNSAFE}.",
        code="not-isolated",
    )


@cache
def _own_network() -> bool:
    try:
        Network().close()
    except NoNetworkError:
        return False
    return True


LEVELS: Mapping[str, Callable[[], Isolation]] = {
    "bubblewrap": Bubblewrap,
    "landlock": lambda: Landlock(own_network=_own_network()),
    UNSAFE: NoIsolation,
}
"""Best first; containers are only used on request."""
