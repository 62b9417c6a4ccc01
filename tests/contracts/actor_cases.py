"""The actors that the contract suite runs. Add one line for a new actor: how to make it, and an input to run it on."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class ActorCase:
    """An actor, and a valid input."""

    name: str
    make: Callable[[], Any]
    input: Callable[[Any], Any]
    """Gets the actor's `Input` class."""


def example(path: str) -> ModuleType:
    """A module of the examples, which are not installed."""
    file = EXAMPLES / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


own = example("own_actor/own_actors.py")

CASES = [
    ActorCase("split_notes", own.SplitNotes, lambda model: model(text="- one\n- two\n")),
    ActorCase("choose_entries", own.ChooseEntries, lambda model: model(notes=own.Notes(entries=("one", "two")))),
    ActorCase("write_digest", own.WriteDigest, lambda model: model(chosen=own.Chosen(entries=("one",)))),
]
