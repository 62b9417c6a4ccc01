"""The one registry of plug-ins (actors, planners, checks, ...), by kind and name.

A plug-in registers itself by a decorator, or an entry point of the group `palmette.<kind>s` names it, e.g.

    [project.entry-points."palmette.actors"]
    "ours.summary" = "ours.actors:Summary"

The built-in plug-ins use entry points too.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, TypeVar

from palmette.errors import DeveloperError, PalmetteError, UserError, did_you_mean, missing_extra

Kind = Literal[
    "actor", "planner", "check", "knowledge_source", "provider", "environment", "observer", "kind", "encoder",
    "learner", "problem",
]  # fmt: skip
T = TypeVar("T", bound=Callable[..., Any])
EXTRAS = {"automl": "automl", "features": "spark", "llm": "llm"}
"""By package of palmette: the extra that its plug-ins need."""

_registered: dict[tuple[Kind, str], Any] = {}


def register(kind: Kind, name: str) -> Callable[[T], T]:
    """Registers a class or function under a name.

    >>> @register("planner", "lazy")
    ... class Lazy: ...
    >>> load("planner", "lazy") is Lazy
    True
    """

    def decorate(plugin: T) -> T:
        known = _registered.setdefault((kind, name), plugin)
        if known is not plugin and _identity(known) != _identity(plugin):
            message = f"Two {kind}s are registered as {name!r}: {_identity(known)} and {_identity(plugin)}."
            raise DeveloperError(message, "Rename one of them.", code="registered-twice")
        _registered[kind, name] = plugin
        return plugin

    return decorate


def names(kind: Kind) -> list[str]:
    """The names of all plug-ins of a kind."""
    return sorted({name for known, name in _registered if known == kind} | _entry_points(kind).keys())


def packages(*kinds: Kind) -> frozenset[str]:
    """The top-level packages of all plug-ins of these kinds."""
    return frozenset(load(kind, name).__module__.partition(".")[0] for kind in kinds for name in names(kind))


def load(kind: Kind, name: str, folder: Path | None = None) -> Any:
    """The class or function of a plug-in, by registered name or as `package.module:Class`.

    Modules in `folder` (that of the topology file) need not be installed.
    """
    if (kind, name) in _registered:
        return _registered[kind, name]
    if name in _entry_points(kind):
        return _import(kind, name, _entry_points(kind)[name].value, None)
    if ":" in name:
        return _import(kind, name, name, folder)
    remedy = f"Known are: {', '.join(names(kind)) or 'none'}; or write `package.module:Class`."
    words, code = kind.replace("_", " "), f"unknown-{kind.replace('_', '-')}"
    raise UserError(f"There is no {words} {name!r}.{did_you_mean(name, names(kind))}", remedy, code=code)


def create(kind: Kind, name: str, services: Mapping[str, object] | None = None, folder: Path | None = None) -> Any:
    """Creates a plug-in; its constructor's parameters are filled by name from `services`."""
    plugin = load(kind, name, folder)
    services = services or {}
    arguments: dict[str, object] = {}
    for parameter in inspect.signature(plugin).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in services:
            arguments[parameter.name] = services[parameter.name]
        elif parameter.default is parameter.empty:
            message = f"The {kind} {name!r} needs {parameter.name!r}, which this environment does not supply."
            remedy = f"Give the parameter a default, or use one of: {', '.join(sorted(services)) or 'nothing'}."
            raise DeveloperError(message, remedy, code="missing-service")
    return plugin(**arguments)


@cache
def _entry_points(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"palmette.{kind}s")}


def _import(kind: Kind, name: str, place: str, folder: Path | None) -> Any:
    module_name, _, attribute = place.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except PalmetteError:
        raise
    except Exception as error:  # the process boundary to plug-ins: importing a module runs its code
        parts = module_name.split(".")
        if parts[0] == "palmette" and (missing := missing_extra(error, EXTRAS.get(parts[1], ""))):
            raise missing from error
        raise UserError(
            f"The {kind} {name!r} cannot be imported from {place!r}: {type(error).__name__}: {error}.",
            "Check the spelling of module and class, that its package is installed, and that its module can be run.",
            code=f"broken-{kind}",
        ) from error


def _identity(plugin: Any) -> str:
    return f"{plugin.__module__}:{plugin.__qualname__}"
