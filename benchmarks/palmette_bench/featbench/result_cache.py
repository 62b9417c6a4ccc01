"""Actors that remember: equal inputs give the equal output and the equal verdict, computed once and kept on disk.

The built-in rules are deterministic, and so is every criterion: what an actor gives depends on nothing but its code,
the opened that it works on, its input and what it reads of the context. All of that is in the key, and an actor is
given no more of the context than that, so that a remembered run cannot differ from one that is not. Paid calls are
never remembered here, the journal does that: actors whose task a model answers are remembered by their criterion only.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

import palmette
import palmette_bench
from palmette.engine import Actor, Attempt, Context, PastAttempt, Verdict, Violation
from palmette.engine.artefacts import plain
from palmette.engine.storage import write_whole

_MODULES = ("result_cache.py", "cached_harness.py", "open_task.py", "hidden.py", "differences.py", "gold.py")
_PALMETTE = ("engine", "planners", "sandbox", "llm", "delivery", "features")
_BENCH = ("bugs", *(f"featbench/{part}" for part in ("faults", "world", *_MODULES)))
"""Folders and files of both packages that decide what comes of a run; tasks are in the digest of their opened."""


class CachedResult(NamedTuple):
    value: Any
    """JSON data."""
    seconds: float
    """That it took when it was computed."""


class ResultCache:
    """Values by the digest of what they depend on, one file each, for any number of processes."""

    def __init__(self, folder: Path, code: str | None = None) -> None:
        self._folder = folder / (code or code_digest())[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        self.hits = self.misses = 0

    def recall(
        self, depends_on: Any, make: Callable[[], JsonValue], keep: Callable[[Any], bool] = lambda _: True
    ) -> CachedResult:
        """The cached value of a key, else the one that `make` computes, which is cached when `keep` accepts it."""
        path = self._folder / f"{digest(depends_on)}.json"
        if path.is_file():
            self.hits += 1
            return CachedResult(**json.loads(path.read_text(encoding="utf-8")))
        begun = time.monotonic()
        found = CachedResult(make(), time.monotonic() - begun)
        self.misses += 1
        if keep(found.value):
            write_whole(path, json.dumps(found._asdict(), ensure_ascii=False).encode())
        return found


def digest(value: Any) -> str:
    """Digest of JSON data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def code_digest() -> str:
    """Digest of the code that actors consist of."""
    ours, theirs = Path(palmette.__file__).parent, Path(palmette_bench.__file__).parent
    places = [*(ours / part for part in _PALMETTE), *(theirs / part for part in _BENCH)]
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*"))]
    return files_digest(file for file in files if file.suffix in (".py", ".yaml", ".md"))


def files_digest(paths: Iterable[Path]) -> str:
    """Digest of the contents of files, in the order of their names."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return whole.hexdigest()


@dataclass
class WorkTime:
    """What the actors of one run have cost, had nothing been remembered."""

    seconds: float = 0.0


class CachedActor:
    """An actor of the built-in rules that computes nothing twice."""

    def __init__(
        self, actor: Actor, opened: str, memory: ResultCache | None, work: WorkTime, reads: frozenset[str]
    ) -> None:
        """`opened`: digest of what the actor was made from; `reads`: codes of past violations that its criterion heeds.

        Without a memory everything is computed, on the same part of the context.
        """
        self.name, self.description, self.produces = actor.name, actor.description, actor.produces
        self.Input, self.Output, self.has_criterion = actor.Input, actor.Output, actor.has_criterion
        self.is_measured = actor.is_measured
        self._actor, self._opened, self._memory, self._work, self._reads = actor, opened, memory, work, reads

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        reduced = replace(_bare(context), evidence=context.evidence, attempt=context.attempt, attempts=context.attempts)
        if getattr(self._actor, "model", None) is not None:
            return self._actor.run(input, context)
        key = [input, context.seed, context.evidence, context.attempt, context.attempts]
        found = self._recall("run", key, lambda: self._actor.run(input, reduced))
        output = None if found["output"] is None else self.Output.model_validate(found["output"])
        violations = tuple(map(Violation.model_validate, found["violations"]))
        return Attempt(output, found["reason"], found["fix"], violations)

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        reduced = replace(_bare(context), attempts=tuple(_only(context.attempts, self._reads)))
        key = [input, output, context.seed, reduced.attempts]
        return Verdict.model_validate(self._recall("check", key, lambda: self._actor.check(input, output, reduced)))

    def implicated(self, violation: Violation, output: Any) -> str | None:
        return self._actor.implicated(violation, output)

    def _recall(self, what: str, key: list[Any], make: Callable[[], Any]) -> Any:
        if self._memory is None:
            return plain(make())
        depends_on = plain([self._opened, self.name, what, *key])
        found = self._memory.recall(depends_on, lambda: plain(make()))
        self._work.seconds += found.seconds
        return found.value


def _bare(context: Context) -> Context:
    """What every actor is given: nothing that a result could depend on but the seed."""
    return Context(
        actor=context.actor, workspace=context.workspace, seed=context.seed, ask=context.ask, progress=context.progress
    )


def _only(attempts: Iterable[PastAttempt], codes: frozenset[str]) -> Iterable[PastAttempt]:
    """That violations of some codes were there before, and nothing else."""
    found = sorted({violation.code for attempt in attempts for violation in attempt.violations} & codes)
    for number, code in enumerate(found, 1):
        yield PastAttempt(number=number, reason="", fix="", violations=(Violation(code=code, message=""),))
