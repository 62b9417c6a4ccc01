"""A small shop whose own code models write, with answers that are ready-made."""

import inspect
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from canned import Canned, models
from small_plans import chain, given_of

from palmette.automl.artefacts import Store
from palmette.automl.candidates import Candidate
from palmette.automl.samples.load import load
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import Attempt, Context, PastAttempt, Verdict
from palmette.llm import OFFLINE, Models
from palmette.sandbox import ExecutionResult, Sandbox

KEPT = ("lightgbm", "linear")
"""Learners of the plan: few, so that runs are short."""


class Counting(Sandbox):
    """Counts the programs that it starts."""

    def __init__(self) -> None:
        super().__init__()
        self.started = 0

    def run(self, *arguments: Any, **options: Any) -> ExecutionResult:
        self.started += 1
        return super().run(*arguments, **options)


def orders(rows: int = 120) -> list[str]:
    """Lines of a file of orders, which are returned for the price of a piece."""
    lines = ["total,items,shop,colour,returned"]
    for n in range(rows):
        total, items = round(5 + 7.3 * (n % 11), 2), n % 4 + 1
        colour, returned = "" if n % 10 == 9 else "ab"[n % 2], "yes" if total / items > 18 else "no"
        lines.append(f"{total},{items},{100 + n % 3},{colour},{returned}")
    return lines


class Shop:
    """A small table, planned by the rules; its orders unless other lines are given."""

    def __init__(self, folder: Path, lines: Sequence[str] = (), kept: Sequence[str] = KEPT, **fields: Any) -> None:
        path = folder / "orders.csv"
        path.write_text("\n".join([*(lines or orders()), ""]), "utf-8")
        usual = {"data": [str(path)], "target": "returned", "problem": "classification"}
        task = TaskSpec.model_validate(usual | fields)
        given = given_of(task, load([path]).samples)
        found = chain(given)
        kept = tuple(one for one in found.blueprint.candidates if one.name in kept)
        blueprint = found.blueprint.model_copy(
            update={
                "candidates": kept,
                "seconds": 4.0,
                "tuning": False,
                "folds": found.blueprint.folds.model_copy(update={"count": 3}),
            }
        )
        self.sandbox, self.store, self.folder = Counting(), Store(folder / "store"), folder
        self.known: dict[str, Any] = {
            **given._asdict(), **found._asdict(), "blueprint": blueprint, "track": "traditional",
            "tracks": ("traditional",),
        }  # fmt: skip
        self._workspaces = (folder / f"work{number}" for number in itertools.count())

    def context(self, actor: str = "small", **fields: Any) -> Context:
        workspace = next(self._workspaces)
        workspace.mkdir(parents=True)
        return Context(actor, workspace, **fields)

    def make(self, actor: Any, models: Models = OFFLINE) -> Any:
        """An actor with its services."""
        services = {"sandbox": self.sandbox, "store": self.store, "models": models}
        names = inspect.signature(actor).parameters
        return actor(**{name: service for name, service in services.items() if name in names})

    def input(self, actor: Any, **fields: Any) -> Any:
        known = {**self.known, **fields}
        return actor.Input(**{name: known[name] for name in actor.Input.model_fields if name in known})

    def made(self, actor: Any, **fields: Any) -> Any:
        """What an actor makes by the rules, which meets its criterion; others find it among their inputs."""
        input, one = self.input(actor, **fields), self.make(actor)
        output = one.run(input, self.context()).output
        assert output is not None
        verdict = one.check(input, output, self.context())
        assert verdict.ok, verdict.violations
        self.known[actor.produces] = (output,) if actor.produces == "models" else output
        return output


def said(field: str = "", text: str = "", **fields: Any) -> str:
    """An answer: a JSON object, and a block of code."""
    head = f"```json\n{json.dumps(fields)}\n```\n" if fields else ""
    language = "patch" if text.startswith("<<<") else "python"
    return head + (f"```{language} {field}\n{text}\n```\n" if field else "")


def codes(found: Attempt[Any] | Verdict) -> list[str]:
    return [violation.code for violation in found.violations]


FEATURES = '''"""Features of orders."""

import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin


class OrderFeatures(TransformerMixin, BaseEstimator):
    """What a piece costs."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return pd.DataFrame({"each": X["total"] / X["items"].where(X["items"] > 0)})
'''
LEARNER = '''"""A learner of two classes."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Shares(ClassifierMixin, BaseEstimator):
    """Shares of the classes on either side of a threshold of the first feature."""

    def __init__(self, cut=0.0):
        self.cut = cut

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.shares_ = [self._share(y[side]) for side in self._sides(X)]
        return self

    def predict_proba(self, X):
        low, _ = self._sides(X)
        return np.where(low[:, None], *self.shares_)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _share(self, y):
        counts = np.array([(y == one).sum() for one in self.classes_]) + 1.0
        return counts / counts.sum()

    def _sides(self, X):
        low = X[:, 0] < self.cut
        return low, ~low
'''
PROPOSED = {"learner": "Shares", "settings": {"cut": 0.5}, "reason": "Two kinds of orders."}


def own(text: str = FEATURES) -> Any:
    """A model that writes features."""
    return models(Canned([said("own_features", text, reason="The price of a piece.")]))


def candidate(name: str, **fields: Any) -> Candidate:
    return Candidate(name=name, learner=fields.pop("learner", name.partition("-")[0]), **fields)


def attempts(
    small: Shop, actor: Any, input: Any, most: int = 4, past: tuple[PastAttempt, ...] = ()
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
        fields = {"reason": attempt.reason, "fix": attempt.fix, "violations": verdict.violations}
        past += (PastAttempt(number=before + number, **fields),)
