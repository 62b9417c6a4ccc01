"""Answers of models in finished runs: accepted ones, and refused ones beside what was accepted after them."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from palmette.engine import ArtefactStore, events, read_journal

_SECRET = re.compile(
    r"\b(?:sk|hf|ghp|gho|glpat|xox[bp])[-_][\w-]{8,}|\bAKIA[0-9A-Z]{16}\b|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)|"
    r"(?i:(?<=bearer )[\w.~+/-]{8,}=*|(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*\S+)"
)


def scrubbed(text: str) -> str:
    """A text without what looks like a secret.

    >>> scrubbed("api_key=abc and sk-0123456789abcdef")
    '[secret] and [secret]'
    """
    return _SECRET.sub("[secret]", text)


def trajectories(folders: Iterable[Path]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Chat lines of accepted answers, and preference lines (`prompt`, `chosen`, `rejected`) of refused ones."""
    accepted, preferred = list[dict[str, Any]](), list[dict[str, Any]]()
    for folder in folders:
        refused: dict[str, list[str]] = {}
        for actor, prompt, answer, good in _answers(folder):
            reply = [{"role": "assistant", "content": answer}]
            if not good:
                refused.setdefault(actor, []).append(answer)
                continue
            accepted.append({"messages": [*prompt, *reply]})
            for worse in refused.pop(actor, []):
                rejected = [{"role": "assistant", "content": worse}]
                preferred.append({"prompt": prompt, "chosen": reply, "rejected": rejected})
    return accepted, preferred


def _answers(folder: Path) -> Iterator[tuple[str, list[dict[str, str]], str, bool]]:
    """Actor, prompt and answer of each last call of an attempt, and whether the attempt succeeded."""
    store, last = ArtefactStore(folder), dict[str, events.CallAnswered]()
    for entry in read_journal(folder):
        happened = entry.event
        if isinstance(happened, events.CallAnswered):
            last[happened.actor] = happened
        elif isinstance(happened, events.AttemptSucceeded | events.AttemptFailed) and happened.actor in last:
            call = last.pop(happened.actor)
            prompt, answer = _chat(store.get(call.request)), store.get(call.answer)
            text = answer.get("text") if isinstance(answer, dict) else None
            if prompt and text:
                good = isinstance(happened, events.AttemptSucceeded)
                yield happened.actor, prompt, scrubbed(str(text)), good


def _chat(request: Any) -> list[dict[str, str]]:
    """The messages of a request; none where a person was asked."""
    messages = request.get("messages", ()) if isinstance(request, dict) else ()
    return [{"role": str(one["speaker"]), "content": scrubbed(str(one["text"]))} for one in messages]


def write(folders: Iterable[Path], folder: Path) -> tuple[int, int]:
    """Writes `trajectories.jsonl` and `preferences.jsonl`; returns their lines."""
    made = trajectories(folders)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in zip(("trajectories", "preferences"), made, strict=True):
        text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return len(made[0]), len(made[1])
