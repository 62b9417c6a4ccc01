"""`palmette check`: the checks alone, on any feature script."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import click

from palmette.cli.screen import json_option, print_checks, print_json, print_violation, say
from palmette.documents import read_text
from palmette.engine import Verdict
from palmette.errors import InputError

_FILE = click.Path(path_type=Path)
_SHOWN = 20  # maximum violations printed; `--json` has all


@click.command()
@click.argument("scripts", metavar="SCRIPT...", nargs=-1, required=True, type=_FILE)
@click.option("--fsc", required=True, type=_FILE, help="The specification, or a folder with one for each script.")
@click.option("--dfr", required=True, type=_FILE, help="The data frame registry.")
@click.option("--entry", help="The function or Class.method that builds the features; found if omitted.")
@click.option(
    "--model",
    default="offline",
    show_default=True,
    metavar="PROVIDER:NAME",
    help="Language model for words in the specification that the built-in rules cannot read.",
)
@click.option("--tests", type=_FILE, help="A pytest file for the script: must pass and kill mutants.")
@click.option(
    "--root", type=_FILE, help="The repository; if omitted, the folder above the script from which its imports resolve."
)
@click.option("--quick", is_flag=True, help="Only what needs no Spark: static rules and the author's tests.")
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check; may be repeated.")
@click.option("--skip", multiple=True, metavar="CHECK", help="Skip this check; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "sarif", "junit"]), default="text", show_default=True)
@json_option
def check(  # noqa: PLR0913 - one parameter per option
    scripts: tuple[Path, ...],
    fsc: Path,
    dfr: Path,
    entry: str | None,
    model: str,
    tests: Path | None,
    root: Path | None,
    quick: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    form: str,
    as_json: bool,
) -> None:
    """Check each feature SCRIPT, of Python or SQL, against its specification, by running it.

    Where --fsc is a folder, the specification of a script is the file in it that is named as the script; scripts
    without one are left out. Prints how words in the specification were read. SARIF and JUnit are for CI.
    Exit status 0 when every check that ran passed, 1 when one failed.
    """
    from palmette.features.script_check import FeatureScript, check_script, chosen_checks, view_of
    from palmette.sandbox import WarmSpark

    pairs = specifications(scripts, fsc)
    for script in pairs:
        read_text(script)  # report its mistakes first
    with _hint_of_models(model):
        views = {script: view_of(spec, dfr, model) for script, spec in pairs.items()}
    checks = chosen_checks(quick, only, skip)
    with WarmSpark() if views else nullcontext() as spark:
        checked = {}
        for script, view in views.items():
            subject = FeatureScript(script, entry, root, tests)
            checked[script] = check_script(subject, view, checks, spark=spark, progress=lambda text: say(text, as_json))
    if as_json:
        found = [
            {"script": str(script), "entry": one.entry, "words": one.words, **one.verdict.model_dump()}
            for script, one in checked.items()
        ]
        print_json(found[0] if len(scripts) == 1 and found else {"scripts": found})
    elif form != "text":
        click.echo(FORMS[form]({str(script): one.verdict for script, one in checked.items()}))
    for script, one in checked.items() if form == "text" and not as_json else ():
        for name, meaning in one.words.items():
            click.echo(f"{name} is read as: {meaning}")
        print_verdict(f"{script.name}: {one.builder} builds {one.view.name}", one.verdict)
    sys.exit(0 if all(one.verdict.ok for one in checked.values()) else 1)


def specifications(scripts: tuple[Path, ...], place: Path) -> dict[Path, Path]:
    """The specification of each script; of a folder, the file named as the script, if there is one."""
    if not place.is_dir():
        return dict.fromkeys(scripts, place)
    found = {path.stem: path for suffix in ("yml", "yaml") for path in sorted(place.rglob(f"*.{suffix}"))}
    for script in scripts:
        if script.stem not in found:
            click.echo(f"{script}: there is no specification {script.stem}.yaml in {place}; not checked", err=True)
    return {script: found[script.stem] for script in scripts if script.stem in found}


@contextmanager
def _hint_of_models(model: str) -> Iterator[None]:
    """Says that a model reads words, if only words are not understood and none was named."""
    from palmette.features.questions import only_questions

    try:
        yield
    except InputError as error:
        if model == "offline" and only_questions(error):
            click.echo("The rules cannot read all words; --model PROVIDER:NAME lets a model read them.", err=True)
        raise


def sarif(verdicts: Mapping[str, Verdict]) -> str:
    """Violations as SARIF 2.1.0, which code hosts show at the files."""
    results = [
        {
            "ruleId": one.code,
            "level": "warning" if verdict.ok else "error",
            "message": {"text": f"{one.message}\n{one.evidence}".strip()},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": Path(script).as_posix()}}}],
        }
        for script, verdict in verdicts.items()
        for one in verdict.violations
    ]
    rules = [{"id": code} for code in sorted({str(one["ruleId"]) for one in results})]
    driver = {"name": "palmette", "version": metadata.version("palmette"), "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps(
        {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=2
    )


def junit(verdicts: Mapping[str, Verdict]) -> str:
    """Checks as JUnit test cases, a suite for each script."""
    top = ElementTree.Element("testsuites")
    for script, verdict in verdicts.items():
        suite = ElementTree.SubElement(top, "testsuite", name=script, tests=str(len(verdict.measurements)))
        for one in verdict.measurements:
            case = ElementTree.SubElement(suite, "testcase", classname=script, name=one.name, time=f"{one.seconds:.3f}")
            if one.status == "failed":
                failure = ElementTree.SubElement(case, "failure", message=_xml(one.detail))
                failure.text = _xml("\n".join(f"{v.code}: {v.message}\n{v.evidence}" for v in verdict.violations))
            elif one.status == "skipped":
                ElementTree.SubElement(case, "skipped", message=_xml(one.detail))
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    """The text without control characters, which XML cannot hold."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text)


FORMS: Mapping[str, Callable[[Mapping[str, Verdict]], str]] = {"sarif": sarif, "junit": junit}


def print_verdict(title: str, verdict: Verdict) -> None:
    """Prints a line per check, the violations, and the outcome."""
    click.secho(f"\n{title}\n", bold=True)
    print_checks(verdict.measurements)
    for violation in verdict.violations[:_SHOWN]:
        print_violation(violation)
    if len(verdict.violations) > _SHOWN:
        click.echo(f"\n... and {len(verdict.violations) - _SHOWN} more; --json prints all.")
    skipped = [item.name for item in verdict.measurements if item.status == "skipped"]
    left = f" Not checked: {', '.join(skipped)}." if skipped else ""
    click.echo()
    if verdict.ok:
        click.echo(click.style("Every check that ran passed.", fg="green") + left)
    else:
        click.echo(click.style(f"{len(verdict.violations)} found.", fg="red") + left)
