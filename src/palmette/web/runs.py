"""Runs as JSON for the page, read from their journals: a list that is paged, a run that is bounded, its artefacts."""

import difflib
import json
import os
import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Query
from fastapi import Path as InPath
from pydantic import JsonValue

from palmette.cli.screen import costs_json
from palmette.cli.show import step_json, steps_of
from palmette.engine import ArtefactStore, RunState, open_questions, runs_folder
from palmette.engine.artefacts import canonical, replace_texts
from palmette.engine.journal import NAME, read_end
from palmette.engine.runs import RunSummary, run_summary, summarise
from palmette.engine.storage import is_running
from palmette.errors import RunError
from palmette.web.work import PROGRESS

PAGE = 50  # runs that are listed at once
PATIENCE = 2.0  # seconds that a search of the list may take
LAST = 2000  # events whose steps are shown, and steps
STEPS = CALLS = 300
MOST_TEXT = 300_000  # characters of a text that are shown or compared


class _Seen(NamedTuple):
    stamp: tuple[int, ...]
    run: RunSummary
    waiting: bool  # for a person


class RunIndex:
    """The runs of a folder, the newest first. A journal is read again only after it has changed."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def page(self, state: str = "", environment: str = "", text: str = "", before: str = "") -> dict[str, Any]:
        """The next runs that fit, and the id after which there may be more; what a first look takes is bounded."""
        found: list[dict[str, Any]] = []
        until = time.monotonic() + PATIENCE
        words = text.casefold().split()
        for id in self._ids(before):
            if time.monotonic() > until:
                return {"runs": found, "next": before}
            before, line = id, self.line(id)
            if line is None or (state and state not in (line["status"], "waiting" if line["waiting"] else "")):
                continue
            shown = f"{line['id']} {line['what']} {line['reason']}".casefold()
            if (environment and line["environment"] != environment) or any(word not in shown for word in words):
                continue
            if len(found) == PAGE:
                return {"runs": found, "next": found[-1]["id"]}
            found.append(line)
        return {"runs": found, "next": None}

    def line(self, id: str) -> dict[str, Any] | None:
        """A run; None where there is none."""
        folder = runs_folder() / id
        stamp = stamp_of(folder)
        if not stamp:
            return None
        known = self._seen.get(id)
        if known is None or known.stamp != stamp:
            run = run_summary(folder)
            known = self._seen[id] = _Seen(stamp, run, run.ended is None and bool(open_questions(folder)))
        shown = {name: getattr(known.run, name) for name in ("id", "environment", "what", "status", "reason", "ended")}
        if known.run.ended is None:
            shown["status"] = "running" if is_running(folder) else "killed"
        return {**shown, "waiting": known.waiting, "started": known.run.started.timestamp()}

    def waiting(self) -> list[dict[str, Any]]:
        """The open questions of all runs that are worked on or were killed while they asked."""
        lines = [line for id in self._ids("")[: PAGE * 4] if (line := self.line(id)) and line["waiting"]]
        asked = [(line, one) for line in lines for one in questions(runs_folder() / line["id"])]
        return [{"run": line["id"], "what": line["what"], "status": line["status"], **one} for line, one in asked]

    def _ids(self, before: str) -> list[str]:
        try:
            names = [entry.name for entry in os.scandir(runs_folder())]
        except FileNotFoundError:
            return []
        return sorted((name for name in names if not before or name < before), reverse=True)


Id = Annotated[str, InPath(max_length=200)]


def run_folder(id: Id) -> Path:
    """The folder of a run; RunError where there is none."""
    if re.fullmatch(r"\w[\w.+-]*", id) and (folder := runs_folder() / id).joinpath(NAME).is_file():
        return folder
    raise RunError(f"There is no run {id!r}.", "The list has all runs.", code="unknown-run")


Folder = Annotated[Path, Depends(run_folder)]  # the folder of the run that a route names by its `id`
Digest = Annotated[str, Query(pattern="^[0-9a-f]{64}$")]


def stamp_of(folder: Path) -> tuple[int, ...]:
    """Changes whenever something is written to a journal or its progress; empty where there is none."""
    stamp: list[int] = []
    for name in (NAME, f"{NAME}-wal", PROGRESS):
        try:
            found = (folder / name).stat()
        except OSError:
            if name == NAME:
                return ()
            continue
        stamp += (found.st_mtime_ns, found.st_size)
    return tuple(stamp)


def questions(folder: Path) -> list[dict[str, Any]]:
    """The open questions of a run."""
    return [
        {"id": one.id, "at": one.at, "question": one.event.question, "by": one.event.by, "actor": one.event.actor}
        for one in open_questions(folder)
    ]


def run_view(folder: Path) -> dict[str, Any]:
    """Everything that the page of a run shows, bounded however long its journal is."""
    run = read_end(folder, LAST)
    state, steps, summary = run.state, steps_of(run), summarise(folder, run.state)
    spent = state.spent
    return {
        **{name: getattr(summary, name) for name in ("id", "environment", "what", "status", "reason")},
        "started": state.started,
        "last": state.last,
        "now": time.time(),
        "decisions": state.decisions,
        "spent": {
            **{name: getattr(spent, name) for name in ("steps", "attempts", "seconds")},
            **{"tokens": spent.spend.tokens, "money": spent.spend.money},
        },
        "limits": state.header.limits if state.header else {},
        "topology": json.loads(state.header.topology) if state.header else None,
        "position": state.position,
        "actors": {name: _actor(state, name) for name in state.actors},
        "steps": [step_json(step) for step in steps[-STEPS:]],
        "earlier": run.earlier + max(0, len(steps) - STEPS),
        "artefacts": {name: asdict(version) for name, version in state.artefacts.items()},
        "questions": questions(folder),
        "models": costs_json(state),
        "progress": progress_of(folder) if summary.status == "running" else None,
    }


def progress_of(folder: Path) -> JsonValue:
    """What a worker of the page is doing; None where nothing is known."""
    try:
        found: JsonValue = json.loads((folder / PROGRESS).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _actor(state: RunState, name: str) -> dict[str, Any]:
    actor = state.actor(name)
    found = actor.failure.violations if actor.failure else actor.verdict.violations if actor.verdict else ()
    return {
        "status": actor.status,
        "invocations": actor.invocations,
        "failed": len(actor.attempts),
        "seconds": actor.seconds,
        "reason": actor.failure.reason if actor.failure else "",
        "checks": [one.model_dump() for one in actor.measurements],
        "violations": [one.model_dump() for one in found],
        "inputs": sorted(actor.inputs),
        "makes": [artefact for artefact, version in state.artefacts.items() if version.by == name],
    }


def files_of(folder: Folder, digest: Digest) -> dict[str, str]:
    """A stored value as texts by path: its text files, and the rest of it as JSON."""
    texts: dict[str, str] = {}

    def noted(path: str, text: str) -> JsonValue:
        texts[path] = text
        return {"path": path}

    rest = replace_texts(ArtefactStore(folder).get(digest), noted)
    shown = {"value.json": canonical(rest), **texts}
    return {name: text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n…" for name, text in shown.items()}


def difference(folder: Folder, old: Digest, new: Digest) -> list[dict[str, Any]]:
    """How two stored values differ: a unified diff for each file."""
    before, after = files_of(folder, old), files_of(folder, new)
    found = []
    for name in dict.fromkeys([*after, *before]):
        old_lines, new_lines = (texts.get(name, "").splitlines() for texts in (before, after))
        lines = list(difflib.unified_diff(old_lines, new_lines, name, name, lineterm=""))
        if lines:
            found.append({"path": name, "lines": lines[2:]})
    return found
