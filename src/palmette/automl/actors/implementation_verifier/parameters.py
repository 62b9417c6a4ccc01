"""How many numbers a fitted model has learnt: weights of linear models and networks; trees and neighbours have none."""

from __future__ import annotations

from pathlib import Path

from palmette.automl.project import MODEL, BuiltPackage, run_program
from palmette.sandbox.reading import read_json

SECONDS = 120.0
MOST = 1 << 10
"""Bytes of the answer."""
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
count = sum(dict(found(joblib.load(model), {})).values())
out.write_text(json.dumps(count), encoding="utf-8")
"""


def parameters_of(package: BuiltPackage, scratch: Path) -> int | None:
    """The parameters of the fitted model of a package; None where it has none that can be counted."""
    scratch.mkdir(parents=True, exist_ok=True)
    out, model = scratch / "parameters.json", package.folder / MODEL / "model.joblib"
    given = ("-c", PROGRAM, str(model), str(out))
    done = run_program(package.sandbox, package.folder, *given, seconds=SECONDS, write=scratch)
    try:
        count = read_json(scratch, out.name, MOST) if done.ok else None
    except (OSError, ValueError):  # whatever the package has left there
        return None
    return count if isinstance(count, int) and count > 0 else None
