"""Long-term memory: what finished runs measured and how failures were fixed, in one SQLite file.

A run leaves meta-features, limits and preferences of its request, candidates with scores and costs, and failures. Rows
are never kept; names and words that may come from the data are kept only with `PALMETTE_MEMORY_TEXTS=1`. What is
recalled only proposes: settings are checked like those of a language model, and everything is measured again.
"""

import json
import math
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from palmette.documents import Model
from palmette.engine import ArtefactStore, Entry, Observer, Remedy, RunState, events, fold, read_journal, runs_folder
from palmette.errors import MachineError, UserError, did_you_mean
from palmette.knowledge.source import KnowledgeFinding, LookupResult, Subject, SuggestedCandidate
from palmette.llm.text import visible

VARIABLE = "PALMETTE_MEMORY"
"""The variable that names the file, or is `off`; by default `memory.sqlite` in the folder of runs."""
TEXTS = "PALMETTE_MEMORY_TEXTS"
ALIKE = 0.7  # similarity from which a run is recalled
RUNS, CANDIDATES, FAILURES = 5, 3, 20  # recalled runs, candidates of each, and failures that a run leaves
LONGEST = 300
MOST_MENDED = 3  # fixes of a failure that are shown
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")


class RememberedCandidate(Model):
    """A candidate and its measurements."""

    candidate: SuggestedCandidate
    score: float
    """Out of fold, in the metric of the run."""
    seconds: float
    chosen: bool = False


class MendedFailure(Remedy):
    """A failure, and what fixed it."""

    code: str
    """Of the violation."""
    message: str = ""


class RunMemory(Model):
    """What is kept of one run."""

    run: str
    """Id of the run."""
    ended: datetime
    environment: str
    problem: str = ""
    metric: str = ""
    limits: tuple[str, ...] = ()
    """E.g. `latency <= 0.02`."""
    prefer: tuple[str, ...] = ()
    budget: float = 0.0
    figures: Mapping[str, float] = Field(default_factory=dict)
    plans: tuple[str, ...] = ()
    """What each plan trained, as learners; the chosen plan first."""
    candidates: tuple[RememberedCandidate, ...] = ()
    """The best first."""
    mended: tuple[MendedFailure, ...] = ()


class Memory:
    """The file, created with the first remembered run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, runs: Iterable[RunMemory]) -> int:
        """Keeps runs, each once; returns their number."""
        rows = [(one.run, one.ended.isoformat(), one.model_dump_json()) for one in runs]
        with self._transaction() as base:
            base.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)
        return len(rows)

    def all(self) -> list[RunMemory]:
        """The runs, newest first, without unreadable rows."""
        if not self.path.is_file():
            return []
        with self._transaction() as base:
            texts = [text for (text,) in base.execute("SELECT content FROM runs ORDER BY ended DESC")]
        return [one for one in map(_parsed, texts) if one]

    def get(self, run: str) -> RunMemory:
        """The run of an id, or of a unique beginning of one; UserError if there is none."""
        found = [one for one in self.all() if one.run == run] or [one for one in self.all() if one.run.startswith(run)]
        if len(found) != 1:
            near = did_you_mean(run, [one.run for one in self.all()])
            message = f"{'Several runs begin with' if found else 'The memory has no run'} {run!r}.{near}"
            raise UserError(message, "`palmette memory list` shows them.", code="unknown-memory")
        return found[0]

    def forget(self, run: str) -> None:
        with self._transaction() as base:
            base.execute("DELETE FROM runs WHERE run = ?", (self.get(run).run,))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10)) as base, base:
                base.execute("CREATE TABLE IF NOT EXISTS runs(run TEXT PRIMARY KEY, ended TEXT, content TEXT)")
                yield base
        except (OSError, sqlite3.Error) as error:
            message = f"The memory {str(self.path)!r} cannot be used: {error}."
            raise MachineError(message, f"Move it away, or set {VARIABLE}.", code="memory-unusable") from error


def _parsed(text: str) -> RunMemory | None:
    try:
        return RunMemory.model_validate_json(text)
    except ValidationError:
        return None


def open_memory() -> Memory | None:
    """The memory of this machine; None if it is off."""
    named = os.environ.get(VARIABLE, "")
    return None if named == "off" else Memory(Path(named) if named else runs_folder() / "memory.sqlite")


class _Recorder(Observer):
    def __init__(self, folder: Path, memory: Memory) -> None:
        self._folder, self._memory = folder, memory

    def event(self, entry: Entry) -> None:
        if isinstance(entry.event, events.RunEnded) and entry.event.status == "finished":
            with suppress(MachineError):  # a memory that cannot be written costs no run
                made = remembered(self._folder)
                self._memory.add([made] if made.candidates or made.mended else [])


def open_recorder(folder: Path) -> Observer:
    """The observer that remembers the run in a folder once it is finished."""
    memory = open_memory()
    return _Recorder(folder, memory) if memory else Observer()


def remembered(folder: Path) -> RunMemory:
    """What is kept of a finished run."""
    store, entries = ArtefactStore(folder), read_journal(folder)
    state = fold(entries)
    environment, made = state.opened.environment if state.opened else "", state.digests
    names = ("task", "profile", "comparison", "plans", "choice", "assessment")
    measured = names if environment == "automl" else ()  # artefacts of others may have these names
    values: dict[str, Any] = {name: store.get(made[name]) for name in measured if name in made}
    task, profile, scores = values.get("task") or {}, values.get("profile") or {}, values.get("assessment") or {}
    board = (values.get("comparison") or {}).get("leaderboard") or ()
    rows = [one for one in board if one.get("candidate") and not one["candidate"].get("features")]
    columns = [str(one.get("name")) for one in profile.get("columns") or () if isinstance(one, dict)]
    return RunMemory(
        run=folder.name,
        ended=datetime.now(UTC),
        environment=environment,
        problem=str((profile.get("split") or {}).get("problem") or task.get("problem") or ""),
        metric=next((one["metric"] for one in scores.get("scores") or ()), ""),
        limits=tuple("{quantity} {comparison} {value:g}".format_map(one) for one in task.get("constraints") or ()),
        prefer=tuple(task.get("prefer") or ()),
        budget=float(task.get("budget") or 0),
        figures=profile.get("meta") or {},
        plans=tuple(_plans(values)),
        candidates=tuple(_remembered(one) for one in sorted(rows, key=lambda one: -one["error_reduction"])[:20]),
        mended=mended_in(entries, columns),
    )


def _remembered(row: Mapping[str, Any]) -> RememberedCandidate:
    fields = {name: row["candidate"].get(name) or {} for name in ("encoders", "settings", "strategy")}
    candidate = SuggestedCandidate(learner=row["learner"], **fields)
    return RememberedCandidate(candidate=candidate, score=row["score"], seconds=row["seconds"], chosen=row["chosen"])


def _plans(values: Mapping[str, Any]) -> Iterator[str]:
    chosen = ((values.get("choice") or {}).get("proposal") or {}).get("plan") or {}
    others = (values.get("plans") or {}).get("plans") or ()
    for one in (chosen, *(one for one in others if one.get("name") != chosen.get("name"))):
        if one:
            yield ", ".join(dict.fromkeys(each["learner"] for each in one.get("candidates") or ()))


def mended_in(entries: Iterable[Entry], names: Iterable[str] = ()) -> tuple[MendedFailure, ...]:
    """The fixed failures in a journal, without names of columns."""
    happened = [entry.event for entry in entries]
    decided = (event for event in happened if isinstance(event, events.Decided))
    sent = {one.code: order for event in decided for order in event.orders for one in order.evidence}
    return tuple(_mended(fold(entries), sent, names))[:FAILURES]


def _mended(state: RunState, sent: Mapping[str, events.Order], names: Iterable[str]) -> Iterator[MendedFailure]:
    """The failures of actors that succeeded in the end, with what was done about each."""
    known = sorted(filter(None, names), key=len, reverse=True)
    for name, actor in state.actors.items():
        for past in actor.attempts if actor.status == "succeeded" else ():
            for violation in past.violations[:2]:
                back = sent.get(violation.code)
                yield MendedFailure(
                    actor=name,
                    code=violation.code,
                    message=without_names(violation.message, known),
                    fault=back.actor if back else name,
                    fix=without_names(back.instruction if back else past.fix, known),
                )


def without_names(text: str, names: Iterable[str]) -> str:
    """A text without quoted parts and names of columns, unless texts are allowed.

    >>> without_names("The column 'ssn' of customers has no type.", ["customers"])
    'The column … of … has no type.'
    """
    if os.environ.get(TEXTS) != "1":
        text = _QUOTED.sub("…", text)
        for name in names:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text)
    return " ".join(text.split())[:LONGEST]


def similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Similarity of two tables by their shared figures: 1 if they are equal, towards 0 if they differ.

    It is 0 for tables that have no kind of column in common, such as texts and images: what leads on one fails on the
    other.

    >>> similarity({"rows": 1000.0}, {"rows": 1000.0}), round(similarity({"rows": 100.0}, {"rows": 100000.0}), 2)
    (1.0, 0.13)
    """
    shared = [name for name in one if name in other and math.isfinite(one[name]) and math.isfinite(other[name])]
    kinds, others = ({name for name in shared if name.endswith("_columns") and has[name]} for has in (one, other))
    if not shared or (kinds and others and kinds.isdisjoint(others)):
        return 0.0
    return 1 / (1 + math.fsum(abs(_scaled(one[name]) - _scaled(other[name])) for name in shared) / len(shared))


def _scaled(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def recalled(subject: Subject) -> LookupResult:
    """The most similar runs as findings, each with its best candidates."""
    memory = open_memory()
    if memory is None:
        return LookupResult(note="The memory of earlier runs is off.")
    try:
        known = memory.all()
    except MachineError as error:
        return LookupResult(note=error.message)
    usable = [one for one in known if one.problem == subject.task and one.candidates]
    ranked = sorted(((similarity(subject.figures, one.figures), one) for one in usable), key=lambda pair: -pair[0])
    found = [pair for pair in ranked if pair[0] >= ALIKE][:RUNS]
    findings = tuple(_finding(one, alike) for alike, one in found)
    return LookupResult(note=f"{len(findings)} of {len(known)} remembered runs are similar.", findings=findings)


def _finding(one: RunMemory, alike: float) -> KnowledgeFinding:
    best = tuple(each.candidate for each in one.candidates[:CANDIDATES])
    learners = tuple(dict.fromkeys(each.learner for each in best))
    text = f"On a similar table, {', '.join(learners)} led an earlier run."
    because = f"its figures are {alike:.0%} alike"
    return KnowledgeFinding(text=text, source=f"run {one.run}", because=because, algorithms=learners, candidates=best)


def mended_before(code: str) -> list[Remedy]:
    """How failures of a code were fixed in earlier runs: each way once, the most frequent first, then the newest."""
    memory, known = open_memory(), list[RunMemory]()
    with suppress(MachineError):
        known = memory.all() if memory else []
    return remedies(code, (each for one in known for each in one.mended))


def remedies(code: str, mended: Iterable[MendedFailure]) -> list[Remedy]:
    """The most frequent remedies of a code among fixed failures, each once."""
    mine = (one for one in mended if one.code == code and one.fix)
    found = Counter(tuple(visible(text)[:LONGEST] for text in (one.actor, one.fault, one.fix)) for one in mine)
    return [Remedy(actor=one[0], fault=one[1], fix=one[2]) for one, _ in found.most_common(MOST_MENDED)]


def imported(memory: Memory, text: str, file: str) -> int:
    """Adds runs from JSON lines; UserError for a line that is not a run."""
    runs = []
    for number, line in enumerate(filter(None, text.splitlines()), start=1):
        try:
            runs.append(RunMemory.model_validate(json.loads(line)))
        except (ValueError, ValidationError, RecursionError) as error:
            reason = " ".join(str(error).split())[:200]
            message = f"{file}:{number} is not a run of a memory: {reason}."
            raise UserError(message, "Write the file with `palmette memory export`.", code="bad-memory") from error
    return memory.add(runs)
