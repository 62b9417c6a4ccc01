"""`palmette doctor`: what is installed, what is missing, and how to get it."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal, NamedTuple

import click
from packaging.requirements import Requirement

from palmette.cli.screen import json_option, print_json
from palmette.errors import MachineError, ModelError
from palmette.sandbox import Sandbox, WarmSpark, find_java
from palmette.sandbox.isolation import ENGINES

Status = Literal["ok", "missing"]


class InstallationFinding(NamedTuple):
    """Result for one requirement."""

    name: str
    status: Status
    found: str  # version and location, or what is missing
    use: str
    remedy: str = ""


_EXTRAS = {
    "spark": "feature views",
    "automl": "models of tables",
    "text": "models of texts",
    "image": "models of images",
    "audio": "models of sounds",
    "series": "forecasts",
    "graph": "models of graphs",
    "gpu": "pretrained networks",
    "onnx": "models as ONNX",
    "mlflow": "runs and models in MLflow",
    "llm": "language models",
    "anthropic": "models of Anthropic",
    "google": "models of Google",
    "bedrock": "models on Amazon Bedrock",
    "tune": "adapters of language models",
    "documents": "knowledge from PDF files",
    "web": "runs in the browser",
    "mcp": "coding agents",
    "github": "pull requests on GitHub",
    "gitlab": "merge requests on GitLab",
    "telemetry": "spans of runs, for a collector",
    "java": "a Java where the machine has none",
}
_NEEDED = {"Feature views": ("git", "Java", "isolation", "spark"), "Models": ("isolation", "automl")}
WARM = "warm Spark"


@click.command()
@click.option("--spark", "start_spark", is_flag=True, help="Start Spark once, which makes later starts quicker.")
@click.option("--model", metavar="PROVIDER:NAME", help="Send this language model a cheap request, and show what works.")
@json_option
def doctor(start_spark: bool, model: str | None, as_json: bool) -> None:
    """Show what is installed, what is missing, and how to get it.

    Exit status 3 when neither feature views nor models can be made here; 4 when the language model cannot be used.
    """
    if model:
        _examine(model, as_json)
        return
    findings = [*_findings(), *(_warm_spark() if start_spark else [])]
    missing = [finding.name for finding in findings if finding.status == "missing"]
    lacking = {job: [name for name in needed if name in missing] for job, needed in _NEEDED.items()}
    if as_json:
        print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        for finding in findings:
            click.echo(_line(finding))
        click.echo()
        for job, names in lacking.items():
            state = f"cannot be made here; missing: {', '.join(names)}" if names else "can be made here"
            click.echo(f"{job} {state}.")
    if all(lacking.values()) or WARM in missing:
        sys.exit(MachineError.exit_code)


def _examine(model: str, as_json: bool) -> None:
    from palmette.cli.screen import money
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
    for extra, use in _EXTRAS.items():
        lacking = dict.fromkeys(_lacking("palmette", extra))
        remedy = f"Run `{Path(sys.executable).name} -m pip install 'palmette[{extra}]'`." if lacking else ""
        found = f"{', '.join(lacking)} missing." if lacking else "installed"
        yield InstallationFinding(extra, "missing" if lacking else "ok", found, use, remedy)


def _containers() -> InstallationFinding:
    use, places = "isolation that is asked for", [place for place in map(shutil.which, ENGINES) if place]
    if not places:
        return InstallationFinding("containers", "missing", "", use, f"Install {' or '.join(ENGINES)}.")
    found = f"{', '.join(places)}; for --isolation {Path(places[0]).name}:IMAGE"
    return InstallationFinding("containers", "ok", found, use)


def _lacking(package: str, extra: str) -> Iterator[str]:
    """Yields the requirements of an extra that are not installed, or not in the version that it needs."""
    for one in map(Requirement, requires(package) or ()):
        if one.marker is None or one.marker.evaluate() or not one.marker.evaluate({"extra": extra}):
            continue
        try:
            found = version(one.name)
        except PackageNotFoundError:
            yield one.name
            continue
        if not one.specifier.contains(found, prereleases=True):
            yield f"{one.name}{one.specifier} (here is {found})"
        for inner in one.extras:
            yield from _lacking(one.name, inner)


def _warm_spark() -> Iterator[InstallationFinding]:
    with WarmSpark() as spark:
        start = time.monotonic()

        def answer() -> str:
            return f"{spark.remote} answered after {time.monotonic() - start:.1f} s"

        found = _guarded(WARM, "checks and runs", answer)
        yield found
        if found.status == "ok":
            use = "starts of Spark in half the time"
            yield _guarded("Spark's classes", use, lambda: f"kept in {spark.keep_classes()}")


def _guarded(name: str, use: str, look: Callable[[], str]) -> InstallationFinding:
    try:
        return InstallationFinding(name, "ok", look(), use)
    except MachineError as error:
        return InstallationFinding(name, "missing", error.message, use, error.remedy)


def _line(finding: InstallationFinding) -> str:
    mark = "ok" if finding.status == "ok" else "-"
    text = finding.found if finding.status == "ok" else f"{finding.found} {finding.remedy}".strip()
    return f"{mark:>4}  {finding.name:<16} {finding.use}: {text}"
