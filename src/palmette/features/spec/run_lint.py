"""Checks of a well-formed run file: paths, interval, output."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from palmette.documents import Located
from palmette.features.spec.author_tests import is_midnight
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.problems import ProblemCollector, Reporter
from palmette.features.spec.run import CutoffInterval, Repository, Run


def lint_run(run: Located[Run], folder: Path, spec: FeatureSpec | None) -> ProblemCollector:
    """All problems of a run file in `folder`; checking the interval against the cut-off needs the specification."""
    findings = ProblemCollector(run)
    report, value = findings.report, run.value
    _paths(value, folder, report)
    _interval(value.interval, report)
    if (value.output.path is None) == (value.output.table is None):
        report("output-form/none" if value.output.path is None else "output-form/both", "output")
    class_name = value.repository.config_class
    if class_name is not None and class_name.count(":") != 1:
        report("bad-class-name", "repository.config_class", class_name)
    _test_command(value.repository, folder, report)
    if spec is not None:
        _cutoff(value.interval, spec, report)
    return findings


def _paths(run: Run, folder: Path, report: Reporter) -> None:
    for field, text in {"fsc": run.fsc, "dfr": run.dfr, "topology": run.topology}.items():
        if text is not None:
            _require_path(field, folder / text, "file", report)
    repository = folder / run.repository.path
    if not repository.is_dir():
        _require_path("repository.path", repository, "folder", report)
        return
    inside = {"repository.readme": run.repository.readme} if "readme" in run.repository.model_fields_set else {}
    inside |= {f"repository.utilities[{i}]": text for i, text in enumerate(run.repository.utilities)}
    for field, text in inside.items():
        if not _resolve_links(repository / text).is_relative_to(_resolve_links(repository)):
            report("outside-repository", field, text)
        elif not (repository / text).exists():
            _require_path(field, repository / text, "file", report)


def _resolve_links(path: Path) -> Path:
    """Resolves symbolic links; does not raise on circular ones."""
    return Path(os.path.realpath(path))


def _require_path(field: str, path: Path, kind: str, report: Reporter) -> None:
    """Reports a missing file or folder."""
    if path.is_file() if kind == "file" else path.is_dir():
        return
    path = Path(os.path.normpath(path))
    is_other = path.is_dir() or path.is_file()
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() and not path.exists() else []
    problem = f"no-such-{kind}" + (f"/{'file' if kind == 'folder' else 'folder'}" if is_other else "")
    report(problem, field, path.name, names, path=str(path))


def _test_command(repository: Repository, folder: Path, report: Reporter) -> None:
    command, program = repository.test_command, ""
    if command is None:
        return
    try:
        program = next(iter(shlex.split(command)), "")
        is_own = (folder / repository.path / program).is_file()
    except (ValueError, OSError):
        program = ""
    if not program:
        report("bad-command", "repository.test_command", command)
    elif not (shutil.which(program) or is_own or program == "python"):
        report("bad-command/missing", "repository.test_command", command, program=program)


def _interval(interval: CutoffInterval, report: Reporter) -> None:
    days = [part for part in (interval.start, interval.end) if part is not None]
    if interval.as_of is not None and days:
        report("interval-form/both", "interval")
    elif len(days) == 1:
        report("interval-form/half", "interval", "end" if interval.start else "start")
    elif interval.start is not None and interval.end is not None and interval.end <= interval.start:
        report("empty-interval", "interval.end", interval.end.isoformat())


def _cutoff(interval: CutoffInterval, spec: FeatureSpec, report: Reporter) -> None:
    """Checks the interval against the specification's cut-off."""
    cutoff = spec.time.cutoff
    if cutoff == "spine":
        return
    if interval.as_of is None and interval.start is None:
        report("interval-form/none", "interval")
        return
    if cutoff == "run" and interval.start is not None:
        report("interval-form/days", "interval.start", interval.start)
    for name in ("as_of", "start", "end") if cutoff == "partition" else ():
        timestamp = getattr(interval, name)
        if timestamp is not None and not is_midnight(timestamp, spec.time.zone):
            facts = {"name": name, "zone": spec.time.zone}
            report("not-midnight/interval", f"interval.{name}", timestamp.isoformat(), **facts)
