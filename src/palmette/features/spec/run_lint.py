"""What can be wrong with a run file beside its form: paths, interval, output."""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from palmette.documents import Located
from palmette.errors import Problem, nearest
from palmette.features.spec.author_tests import is_midnight
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.run import Run


def lint_run(run: Located[Run], folder: Path) -> list[Problem]:
    """Every mistake of a run file in `folder`, as far as it can be told without the other files."""
    return [*_paths(run, folder), *_interval(run), *_output(run), *_config_class(run), *_test_command(run, folder)]


def lint_cutoff(run: Located[Run], spec: FeatureSpec) -> list[Problem]:
    """Whether the interval of the run suits the cut-off of the specification."""
    interval, cutoff = run.value.interval, spec.time.cutoff
    has_days = interval.start is not None
    if cutoff == "spine":
        return []
    if interval.as_of is None and not has_days:
        return [
            run.problem(
                "interval-form",
                "The interval has neither `as_of` nor `start` with `end`.",
                "Give one of the two forms.",
                field="interval",
            )
        ]
    if cutoff == "run" and has_days:
        return [
            run.problem(
                "interval-form",
                "The view has one cut-off a run, and the run gives an interval of days.",
                "Give `as_of`.",
                field="interval.start",
                value=interval.start,
            )
        ]
    problems = []
    for name in ("as_of", "start", "end"):
        instant = getattr(interval, name)
        if cutoff == "partition" and instant is not None and not is_midnight(instant, spec.time.zone):
            problems.append(
                run.problem(
                    "not-midnight",
                    f"{name!r} is {instant.isoformat()}, which is not midnight in "
                    f"{spec.time.zone}; partitions begin and end with days.",
                    "Give a midnight.",
                    field=f"interval.{name}",
                    value=instant.isoformat(),
                )
            )
    return problems


def _paths(run: Located[Run], folder: Path) -> Iterator[Problem]:
    value = run.value
    files = {"fsc": value.fsc, "dfr": value.dfr, "topology": value.topology}
    for field, text in files.items():
        if text is not None and not (folder / text).is_file():
            yield _missing(run, field, folder / text, "file")
    repository = folder / value.repository.path
    if not repository.is_dir():
        yield _missing(run, "repository.path", repository, "folder")
        return
    inside = {"repository.readme": value.repository.readme} if "readme" in value.repository.model_fields_set else {}
    inside |= {f"repository.utilities[{i}]": text for i, text in enumerate(value.repository.utilities)}
    for field, text in inside.items():
        if not _real(repository / text).is_relative_to(_real(repository)):
            yield run.problem(
                "outside-repository",
                f"{text!r} leads out of the repository.",
                "Name something inside it, relative to its top.",
                field=field,
                value=text,
            )
        elif not (repository / text).exists():
            yield _missing(run, field, repository / text, "file")


def _real(path: Path) -> Path:
    """Where a path leads by links; one that leads in a circle leads nowhere."""
    return Path(os.path.realpath(path))


def _missing(run: Located[Run], field: str, path: Path, kind: str) -> Problem:
    path = Path(os.path.normpath(path))
    other = "file" if kind == "folder" else "folder"
    is_other = path.is_dir() or path.is_file()
    what = f"{str(path)!r} is a {other}, not a {kind}." if is_other else f"There is no {kind} {str(path)!r}."
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() and not path.exists() else []
    problem = run.problem(
        "no-such-file" if kind == "file" else "no-such-folder",
        what,
        "Paths are relative to the run file; those of the repository to it.",
        field=field,
        value=path.name,
    )
    return dataclasses.replace(problem, nearest=nearest(path.name, names))


def _test_command(run: Located[Run], folder: Path) -> Iterator[Problem]:
    command = run.value.repository.test_command
    if command is None:
        return
    try:
        program = next(iter(shlex.split(command)), "")
        is_own = (folder / run.value.repository.path / program).is_file()
    except (ValueError, OSError):
        program = ""
    if not program:
        what, remedy = f"{command!r} is not a command.", "Write it as in a shell; close every quote."
    elif shutil.which(program) or is_own or program == "python":
        return
    else:
        what, remedy = f"There is no program {program!r}.", "Install it, or name another."
    yield run.problem("bad-command", what, remedy, field="repository.test_command", value=command)


def _interval(run: Located[Run]) -> Iterator[Problem]:
    interval = run.value.interval
    days = [part for part in (interval.start, interval.end) if part is not None]
    if interval.as_of is not None and days:
        yield run.problem(
            "interval-form",
            "The interval has both `as_of` and `start` with `end`.",
            "Give one of the two forms.",
            field="interval",
        )
    elif len(days) == 1:
        missing = "end" if interval.start else "start"
        yield run.problem(
            "interval-form", f"The interval has no {missing!r}.", "Add it.", field="interval", value=missing
        )
    elif interval.start is not None and interval.end is not None and interval.end <= interval.start:
        yield run.problem(
            "empty-interval",
            f"The interval ends at {interval.end.isoformat()}, not after it starts.",
            "Let `end` be later than `start`; it is not included.",
            field="interval.end",
            value=interval.end.isoformat(),
        )


def _output(run: Located[Run]) -> Iterator[Problem]:
    output = run.value.output
    if (output.path is None) == (output.table is None):
        which = "neither a path nor a table" if output.path is None else "both a path and a table"
        yield run.problem("output-form", f"The output has {which}.", "Give one of them.", field="output")


def _config_class(run: Located[Run]) -> Iterator[Problem]:
    class_name = run.value.repository.config_class
    if class_name is not None and class_name.count(":") != 1:
        yield run.problem(
            "bad-class-name",
            f"{class_name!r} does not name a class.",
            "Write `package.module:Class`.",
            field="repository.config_class",
            value=class_name,
        )
