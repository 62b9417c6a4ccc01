"""How many numbers the fitted models have learnt: weights of networks and of lines; trees and neighbours have none."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from palmette.automl.project import Project
from palmette.sandbox import ExecutionResult
from palmette.sandbox.reading import read_json

SECONDS = 120.0
COUNTS = TypeAdapter(dict[str, int])
MOST = 1 << 16
"""Bytes of what is counted, a number for each member."""
PROGRAM = """
import json, pathlib, sys
import joblib
import numpy as np

WEIGHTS = ("coef_", "intercept_", "coefs_", "intercepts_")

def found(one, seen):
    if id(one) in seen or isinstance(one, (str, bytes, type)):
        return
    seen[id(one)] = one
    if hasattr(one, "named_parameters"):
        yield from ((id(part), part.numel()) for part in one.parameters())
    elif isinstance(one, dict):
        for part in one.values():
            yield from found(part, seen)
    elif isinstance(one, (list, tuple)):
        for part in one:
            yield from found(part, seen)
    else:
        own = getattr(one, "__dict__", {})
        for name in own.keys() & set(WEIGHTS):
            parts = own[name] if isinstance(own[name], list) else [own[name]]
            yield from ((id(part), int(np.size(part))) for part in parts)
        yield from found({name: part for name, part in own.items() if name not in WEIGHTS}, seen)

model, out = map(pathlib.Path, sys.argv[1:])
counts = {}
for member in sorted((model / "fold_models").iterdir()):
    fitted = [joblib.load(path) for path in sorted(member.iterdir())]
    counts[member.name] = sum(dict(found(fitted, {})).values())
out.write_text(json.dumps(counts), encoding="utf-8")
"""


def parameters_of(project: Project, scratch: Path, folder: str = "model") -> dict[str, int] | None:
    """By candidate of a folder, the members of the chosen model if none is named: the parameters of its fitted models.

    None where they cannot be read.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    out = scratch / "parameters.json"
    done: ExecutionResult = project.python("-c", PROGRAM, folder, str(out), seconds=SECONDS, write=scratch)
    try:
        return COUNTS.validate_python(read_json(scratch, out.name, MOST)) if done.ok else None
    except (OSError, ValueError):  # whatever the project has left there
        return None
