"""Reads the three documents of a feature run, and compares them with each other and with the repository."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from palmette.delivery import preflight
from palmette.documents import Located, ProblemCollector, read_located
from palmette.engine import TextFile, check_topology, load_topology
from palmette.errors import InputError, Mistake
from palmette.features.artefacts import RunRequest
from palmette.features.checks.golden import contradictions
from palmette.features.samples import check_samples
from palmette.features.spec import FeatureSpec, Registry, Run, Table, View
from palmette.features.spec.resolve import Answers, check_run, load_view


class RunInputs(NamedTuple):
    """A run file and its documents, read and found consistent.

    Relative paths of tables and of the output are relative to the repository, where the team's jobs start and which its
    configurations therefore refer to.
    """

    run: Run
    view: View
    request: RunRequest
    repository: Path
    """The team's checkout, which is only read."""


def read_inputs(run_file: Path, answers: Answers | None = None) -> RunInputs:
    """Reads the run file, and the FSC and DFR that it names.

    Args:
        answers: By feature name: clarifications of features in words, either as other words or as their meaning.

    Raises:
        InputError: with all mistakes of the run file's form, else with all in the three files and all questions about
            features in words.
    """
    located, base = read_located(run_file, Run), run_file.parent
    run, problems = located.value, _of_the_run(located, base)
    fsc, dfr, repository = (Path(os.path.normpath(base / name)) for name in (run.fsc, run.dfr, run.repository.path))
    view = None
    if not any(problem.field in ("fsc", "dfr") for problem in problems):
        try:
            view = load_view(fsc, dfr, answers=answers)
            problems += [
                *_contradictions(view, read_located(fsc, FeatureSpec)),
                *check_samples(read_located(dfr, Registry), dfr.parent, view.tables),
            ]
        except InputError as error:
            problems += error.problems
    if problems or view is None:
        raise InputError(problems)
    return _assemble(run, view, {"fsc": fsc, "dfr": dfr, "run": run_file}, repository.resolve())


def _of_the_run(located: Located[Run], base: Path) -> list[Mistake]:
    """Mistakes in the run file other than malformed parts."""
    run, repository = located.value, base / located.value.repository.path
    problems = check_run(located, base)
    if repository.is_dir():
        problems += _of_the_pull_request(located, Path(os.path.normpath(repository)))
    if run.topology and not any(problem.field == "topology" for problem in problems):
        problems += _of_the_topology(Path(os.path.normpath(base / run.topology)))
    return problems


def _assemble(run: Run, view: View, files: Mapping[str, Path], repository: Path) -> RunInputs:
    request = RunRequest(
        **{
            name: TextFile(path=f"{name}.yaml", text=path.read_text(encoding="utf-8-sig"))
            for name, path in files.items()
        }
    )
    output = run.output.model_copy(update={"path": rebased(run.output.path, files["run"].parent, repository)})
    tables = {name: _rebased_table(table, files["dfr"].parent, repository) for name, table in view.tables.items()}
    return RunInputs(run.model_copy(update={"output": output}), view.with_tables(tables), request, repository)


def _of_the_pull_request(run: Located[Run], repository: Path) -> list[Mistake]:
    """Mistakes that only the repository shows, each located in the run file."""
    value = run.value
    found = preflight(repository, value.repository.base, value.pull_request.branch, value.pull_request)
    return [dataclasses.replace(one, file=run.file, line=run.line(one.field)) for one in found]


def _of_the_topology(path: Path) -> list[Mistake]:
    try:
        check_topology(load_topology(path))
    except InputError as error:
        return list(error.problems)
    return []


def _contradictions(view: View, spec: Located[FeatureSpec]) -> list[Mistake]:
    """Test cases of the author that contradict the author's definitions."""
    found, problems = {one.subject: one.evidence for one in contradictions(view)}, ProblemCollector(spec)
    for index, test in enumerate(view.tests):
        if test.name in found:
            problems.report("test-contradicts", f"tests[{index}].expect", test=test.name, why=found[test.name])
    return problems.problems


def rebased(path: str | None, base: Path, onto: Path) -> str | None:
    """Makes a path relative to `base` relative to `onto`. URLs and absolute paths stay as they are.

    >>> rebased("tables/users", Path("/data"), Path("/code/team")), rebased("s3://lake/users", Path(), Path())
    ('../../data/tables/users', 's3://lake/users')
    """
    if path is None or "://" in path or Path(path).is_absolute():
        return path
    return Path(os.path.relpath(base.resolve() / path, onto.resolve())).as_posix()


def _rebased_table(table: Table, base: Path, onto: Path) -> Table:
    changed = {name: rebased(getattr(table, name), base, onto) for name in ("path", "sample")}
    return table.model_copy(update=changed)
