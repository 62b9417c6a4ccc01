"""A small shop whose blueprint and code models write, with answers that are ready-made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from actor_cases import profiler_input
from canned import Canned, models
from small_model import SmallModel

from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.artefacts import Code, TrackCode
from palmette.engine import Attempt, PastAttempt, Verdict


def shop(folder: Path) -> SmallModel:
    """Sixty orders; one in three is returned, and the reason is the price of a piece."""
    rows = []
    for n in range(60):
        total, items = round(5 + 7.3 * (n % 11), 2), n % 4 + 1
        colour, returned = "" if n % 10 == 9 else "ab"[n % 2], "yes" if total / items > 18 else "no"
        rows.append(f"{total},{items},{100 + n % 3},{colour},{returned}")
    path = folder / "orders.csv"
    path.write_text("\n".join(["total,items,shop,colour,returned", *rows, ""]), "utf-8")
    return SmallModel(folder / "model", dict(profiler_input(path, "Predict whether an order is returned.")))


def said(field: str, text: str, **fields: str) -> str:
    head = f"```json\n{json.dumps(fields)}\n```\n" if fields else ""
    return f"{head}```python {field}\n{text}\n```\n"


def codes(found: Attempt[Any] | Verdict) -> list[str]:
    return [violation.code for violation in found.violations]


def text_of(code: Code, path: str) -> str:
    return next(file.text for file in code.files if file.path == path)


def rewritten(code: Any, path: str, text: str) -> Any:
    files = tuple(file.model_copy(update={"text": text}) if file.path == path else file for file in code.files)
    return code.model_copy(update={"files": files})


DECIDED: Mapping[str, Any] = {
    "columns": [
        {"column": "shop", "kind": "categorical", "reason": "Numbers of shops."},
        {"column": "colour", "kind": "drop", "reason": "It says nothing."},
    ],
    "derived": [
        {"name": "each", "operation": "ratio", "columns": ["total", "items"], "reason": "What a piece costs."}
    ],
    "algorithms": ["lightgbm", "linear"],
    "training": "Small trees.",
    "validation": "Orders are alike.",
}


def decide(small: SmallModel, *answers: Mapping[str, Any]) -> tuple[Attempt[Any], Canned, Any]:
    provider = Canned([f"```json\n{json.dumps(one)}\n```" for one in answers])
    actor, asked = small.make(GuidelineWriter, models(provider)), small.input(GuidelineWriter)
    return actor.run(asked, small.context()), provider, actor


OWN = '''

class Shallow:
    """Shares of the classes on either side of one price."""

    def __init__(self, seed, rounds=None):
        self.rounds = None

    def fit(self, features, target, valid_features, valid_target, deadline):
        self.shares = [np.bincount(target[side], minlength=2) + 1 for side in self._sides(features)]
        return self

    def predict(self, features):
        low, _ = self._sides(features)
        shares = [one / one.sum() for one in self.shares]
        return np.where(low[:, None], *shares)

    def _sides(self, features):
        low = features["each"].to_numpy() < 18
        return low, ~low


ALGORITHMS = {**ALGORITHMS, "shallow": Shallow}
WANTED = ("shallow", *WANTED)
STARTS = [Candidate("shallow", "shallow", {}), *STARTS[:1]]
'''


def own_models(tracks: TrackCode) -> str:
    return f"{text_of(tracks, 'models/traditional.py')}\nimport numpy as np\n{OWN}"


def attempts(
    small: SmallModel, actor: Any, input: Any, most: int = 4, past: tuple[PastAttempt, ...] = ()
) -> Iterator[tuple[Attempt[Any], Verdict | None]]:
    """As the engine lets an actor attempt: what was refused comes back to it."""
    before, last = len(past), None
    for number in range(1, most + 1):
        context = small.context(attempt=number, attempts=past, last=last)
        attempt = actor.run(input, context)
        verdict = actor.check(input, attempt.output, context) if attempt.output else None
        yield attempt, verdict
        if verdict is None or verdict.ok:
            return
        last = attempt.output
        told = {"reason": attempt.reason, "fix": attempt.fix, "violations": verdict.violations}
        past += (PastAttempt(number=before + number, **told),)
