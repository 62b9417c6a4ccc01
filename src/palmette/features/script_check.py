"""Runs the checks on any feature script, without a run."""

import inspect
import linecache
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from palmette.documents import read_text, write_text
from palmette.engine import ConsoleHuman, Human, NoHuman, Verdict, pay_unrecorded
from palmette.errors import UserError, did_you_mean
from palmette.features.checks import Check, ScriptUnderTest, registered, run_checks
from palmette.features.formatting import holds_module
from palmette.features.harness.binding import find_entry
from palmette.features.questions import understood_view
from palmette.features.repository import Checkout, Module
from palmette.features.script_tree import literal
from palmette.features.spec.phrases import definition
from palmette.features.spec.sql import SparkDialect
from palmette.features.spec.view import View
from palmette.sandbox import WarmSpark
from palmette.sandbox.temporary import temporary_folder

TOP = (".git", "pyproject.toml", "setup.cfg", "setup.py")
"""Files and folders that mark the top of a repository."""
QUERY = ".sql"
"""Ending of a file with one SELECT over the view's tables; it has at most one parameter, the cut-off."""
_RUNNER = """\
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession


def build(spark: SparkSession, tables: dict[str, DataFrame], as_of: datetime) -> DataFrame:
    spark.conf.set("spark.sql.session.timeZone", {zone})
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    return spark.sql({query}, args={{{parameters}}})
"""
QUICK = 4
"""Maximum cost of checks run with `quick`; more expensive ones start Spark."""


@dataclass(frozen=True)
class FeatureScript:
    """A PySpark script with a function that takes a view's tables and returns its data frame, or a query in a file."""

    path: Path
    entry: str | None = None
    """The name of that function; by default, it is found by its parameters."""
    root: Path | None = None
    """The repository; by default, the nearest parent folder that looks like one."""
    tests: Path | None = None
    """A pytest file for the script. It must pass, and detect mutants."""


@dataclass(frozen=True)
class CheckedScript:
    """The results of the checks on a script."""

    view: View
    entry: str
    """The function that builds the features; empty for a query."""
    verdict: Verdict

    @property
    def words(self) -> dict[str, str]:
        """By feature: how its words are read, including features that a reading has added."""
        written = {feature.name for feature in self.view.spec.features}
        read = [one for one in self.view.features if one.words or (one.internal and one.name not in written)]
        return {one.name: f"{definition(one, self.view)} {self.view.doubts.get(one.name, '')}".rstrip() for one in read}

    def __bool__(self) -> bool:
        return self.verdict.ok

    def __repr__(self) -> str:
        checks = ", ".join(f"{one.name} {one.status}" for one in self.verdict.measurements)
        found = "".join(f"\n  {one.code}: {one.message}" for one in self.verdict.violations)
        return f"{self.builder} builds {self.view.name}: {'ok' if self else 'not ok'} ({checks}){found}"

    @property
    def builder(self) -> str:
        """What builds the features, in words; a query's session has the view's zone."""
        return f"{self.entry}()" if self.entry else f"the query in zone {self.view.zone}"


def check_features(
    function: Callable[..., object] | str | Path,
    fsc: str | Path,
    dfr: str | Path,
    *,
    quick: bool = False,
    spark: WarmSpark | None = None,
) -> CheckedScript:
    """Checks a function on Spark data frames, or a script, against its specification, by running it.

    >>> palmette.check_features(build, "orders.fsc.yaml", "registry.yaml")  # doctest: +SKIP

    Args:
        function: takes the view's tables and returns its data frame. Its module, in a notebook its cell, is the
            script that is checked, so its imports stand there. Or the path of a script.
        fsc: path of the feature specification.
        dfr: path of the data frame registry.
        quick: only what needs no rows.
        spark: a running Spark for several calls; one is started when left out.

    Returns:
        The checks with their evidence; true when every check that ran passed.

    Raises:
        InputError: every mistake in the specification and the registry.
        UserError: the function has no source.
    """
    view = view_of(Path(fsc), Path(dfr), human=NoHuman())
    if isinstance(function, str | Path):
        return check_script(FeatureScript(Path(function)), view, chosen_checks(quick), spark=spark)
    code = getattr(inspect.unwrap(function), "__code__", None)  # a decorator may stand in another file
    file, entry = code.co_filename if code else "", getattr(function, "__name__", repr(function))
    if Path(file).is_file() and Path(file).suffix == ".py":
        return check_script(FeatureScript(Path(file), entry), view, chosen_checks(quick), spark=spark)
    lines = linecache.getlines(file)
    if not lines:
        raise UserError(f"The source of {entry!r} is not known.", "Give the path of its script.", code="no-source")
    with temporary_folder() as folder:
        write_text(folder / f"{entry}.py", "".join(lines))
        return check_script(FeatureScript(folder / f"{entry}.py", entry), view, chosen_checks(quick), spark=spark)


def check_script(
    script: FeatureScript,
    view: View,
    checks: Sequence[Check] | None = None,
    *,
    spark: WarmSpark | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> CheckedScript:
    """Runs checks on a script, by default all. Without a running Spark, one is started.

    Raises:
        UserError: a file is missing, or the function cannot be determined.
    """
    from palmette.features.harness.connect import ConnectHarness

    if script.path.suffix.lower() == QUERY:
        return _check_query(script, view, checks, spark, progress)
    source = read_text(script.path)
    if script.tests:
        read_text(script.tests)  # report mistakes in it before Spark starts
    name = find_entry(source, view.tables, name=script.entry, file=script.path.name)
    root = repository_of(script.path) if script.root is None else _folder(script.root)
    running: AbstractContextManager[WarmSpark] = WarmSpark() if spark is None else nullcontext(spark)
    with running as warm:
        subject = ScriptUnderTest(
            view=view,
            script=script.path.resolve(),
            root=root,
            entry=name,
            harness=ConnectHarness(warm),
            tests=script.tests.resolve() if script.tests else None,
            python_path=(script.path.parent.resolve(), *(root / part for part in Checkout(root).python_roots)),
        )
        return CheckedScript(view, name, run_checks(subject, checks, progress=progress))


def _check_query(
    query: FeatureScript,
    view: View,
    checks: Sequence[Check] | None,
    spark: WarmSpark | None,
    progress: Callable[[str], None],
) -> CheckedScript:
    """Runs checks on a script that runs the query."""
    name = query.path.name
    if query.entry or query.tests:
        option = "--entry" if query.entry else "--tests"
        raise UserError(f"{name} is a query; {option} is for Python.", "Leave it out.", code="is-query")
    text = read_text(query.path)
    try:
        tree = parse_one(text, read=SparkDialect)
    except SqlglotError as error:
        message = f"{name} is not one SELECT of Spark: {str(error).splitlines()[0].rstrip('.')}."
        raise UserError(message, "Correct it first.", code="not-sql") from None
    if not isinstance(tree, exp.Query):
        raise UserError(f"{name} is not one SELECT of Spark.", "Give a file with one.", code="not-sql")
    given = sorted({f":{one.name}" for one in tree.find_all(exp.Placeholder)})
    if len(given) > 1:
        message = f"{name} has the parameters {', '.join(given)}; only one, the cut-off, has a known value."
        raise UserError(message, "Write the others as values.", code="not-sql")
    parameters = f'"{given[0][1:]}": as_of' if given else ""
    with temporary_folder() as folder:
        path = folder / f"{query.path.stem}.py"
        write_text(path, _RUNNER.format(query=literal(text), parameters=parameters, zone=repr(view.zone)))
        checked = check_script(FeatureScript(path, root=folder), view, checks, spark=spark, progress=progress)
    return replace(checked, entry="")


def view_of(fsc: Path, dfr: Path, model: str = "offline", human: Human | None = None) -> View:
    """The view of a specification and a registry.

    Raises:
        InputError: with all mistakes, and words that neither the rules nor the model can read.
    """
    from palmette.llm.opening import WORDS, ModelChoice, open_models

    with temporary_folder() as folder:
        reader = open_models(ModelChoice(model=model), folder).of(WORDS)
        return understood_view(fsc, dfr, reader, human or ConsoleHuman(), pay_unrecorded)


def repository_of(script: Path) -> Path:
    """The nearest parent folder from which the script's imports resolve and that looks like the top of a repository.

    If none looks like one, the nearest from which they resolve; if it imports no local modules, its own folder.
    """
    parents = script.resolve().parents
    imports = Module(script.name, script.stem, read_text(script)).imports
    wanted = {name.split(".")[0] for name in imports.values()} - {""}
    resolving = [one for one in parents if any(holds_module(up, name) for up in (one, one / "src") for name in wanted)]
    marked = [folder for folder in parents if any((folder / mark).exists() for mark in TOP)]
    both = [folder for folder in marked if folder in resolving or not resolving]
    return next(iter([*both, *resolving, *marked, *parents]))


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UserError(f"{str(path)!r} is not a folder.", "Give the folder of the package.", code="no-such-folder")
    return path.resolve()


def chosen_checks(quick: bool = False, only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[Check]:
    """Selects checks; UserError for an unknown name, or if no check is left.

    Args:
        quick: Only checks without Spark: static rules, and the author's tests on the oracle.
        only: Codes of checks to run; all by default.
        skip: Codes of checks to omit.
    """
    checks = registered()
    known = [check.code for check in checks]
    for name in (*only, *skip):
        if name not in known:
            raise UserError(
                f"There is no check {name!r}.{did_you_mean(name, known)}",
                f"The checks are {', '.join(known)}.",
                code="no-such-check",
            )
    wanted = [check for check in checks if check.cost <= QUICK or not quick]
    chosen = [check for check in wanted if (not only or check.code in only) and check.code not in skip]
    if not chosen:
        raise UserError("No check is left to run.", "Leave out --skip, or name others.", code="no-check")
    return chosen
