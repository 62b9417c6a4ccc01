"""Which file of a project a failure is from: the two sides of the contract, and what a trace names.

Whoever wrote that file answers for the failure. What the rules themselves have written is blamed last: it was the same
in every project so far, and asking for it again gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from palmette.automl.artefacts import PREPARATION, Assembly, Track
from palmette.automl.modalities import Blueprint, modality_of
from palmette.engine import TextFile, Violation
from palmette.sandbox import told_from

AT_WORK = frozenset(
    {
        "prediction-failed", "predictions-differ", "endpoint-unhealthy", "bad-request-accepted", "openapi-missing",
        "page-missing", "tests-failed", "imports-palmette", "unexpected-file",
    }
)  # fmt: skip
"""Codes of a trained project that does not do what it promises; their subject is a file, or open."""
SIDE = re.compile(r"ContractError: (rows|features|predictions):")
FRAME = re.compile(r'File "([^"\n]+\.py)", line \d+|^([\w./-]+\.py):\d+: ', re.MULTILINE)


def frames(trace: str) -> list[str]:
    """The files that a trace goes through, the innermost last; as Python writes it, or its test runner."""
    return [first or second for first, second in FRAME.findall(trace)]


def broken_side(trace: str) -> str:
    """What of the contract is broken: rows, features or predictions; empty where the trace does not say."""
    found = SIDE.search(trace)
    return found.group(1) if found else ""


def rules_own(blueprint: Blueprint, tracks: Iterable[Track]) -> frozenset[TextFile]:
    """The files of a project as the rules write all of them."""
    modality, names = modality_of(blueprint), tuple(tracks)
    own = (file for track in names for file in modality.track_files(track))
    return frozenset((*modality.preparation_files(), *modality.shared_files(names), *own))


def located(wrong: Iterable[Violation], folder: Path, made: Assembly, blueprint: Blueprint) -> tuple[Violation, ...]:
    """Failures of a project in a folder, each with the file that it is from as its subject, as far as that can be told.

    A file that differs from what the rules write is to blame where the trace or the broken side of the contract leads
    to it, or where it is the only one. Of several the subject is left open: one writer after the other is asked.
    """
    own = rules_own(blueprint, [run.track for run in made.tracks])
    found = [file.path for file in made.files if file not in own]
    foreign = sorted(found, key=lambda path: (path != PREPARATION, path))
    return tuple(_located(one, told_from(folder, one.evidence), foreign) for one in wrong)


def _located(violation: Violation, trace: str, foreign: Sequence[str]) -> Violation:
    named = [path for path in frames(trace) if path in foreign]
    subject = violation.subject
    if broken_side(trace) in ("rows", "features") and PREPARATION in foreign:
        subject = PREPARATION
    elif named:
        subject = named[-1]
    elif foreign and subject not in foreign:
        subject = foreign[0] if len(foreign) == 1 else ""
    return violation.model_copy(update={"subject": subject, "evidence": trace})


def answers_for(violation: Violation, paths: Collection[str], codes: Collection[str], opens: str) -> bool:
    """Whether the writer of these paths answers for a violation.

    Args:
        violation: what was found.
        paths: the files that it has written.
        codes: those that it answers for where one of them is named, beside all of a project at work.
        opens: the one of them that it answers for where no file is named.
    """
    if violation.subject:
        return violation.subject in paths and violation.code in {*codes, *AT_WORK}
    return violation.code in {opens, *AT_WORK}
