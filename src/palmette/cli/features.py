"""Commands for feature views: `init` and `fsc from` draft their files, `features` builds one up to its pull request."""

import os
from pathlib import Path
from typing import Any

import click

from palmette.cli.progress import watching
from palmette.cli.screen import FILE, human_option, json_option, near, print_json, print_table
from palmette.cli.summary import present
from palmette.documents import write_text
from palmette.errors import InputError, UserError


@click.command()
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option(
    "--tables",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file or folder with tables: Parquet, CSV, JSON lines, ORC; may be repeated.",
)
@click.option(
    "--to",
    "folder",
    default="palmette",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the drafts.",
)
@json_option
def init(repository: Path, tables: tuple[Path, ...], folder: Path, as_json: bool) -> None:
    """Draft what `palmette features` needs for the team's REPOSITORY.

    Writes a registry of the tables (types, keys, times, references, each with its evidence), a first specification and
    a run file. The repository and the tables are only read.
    """
    from palmette.features.inputs import read_inputs
    from palmette.features.onboarding import RUN, draft, find_tables

    made = draft(find_tables(tables), repository, folder)
    if there := [name for name in made.files if (folder / name).exists()]:
        raise UserError(f"{near(folder / there[0])!r} exists.", "Name another folder: --to FOLDER", code="file-exists")
    (folder / "schemas").mkdir(parents=True, exist_ok=True)
    for name, text in made.files.items():
        write_text(folder / name, text)
    problems = []
    if RUN in made.files:
        try:
            read_inputs((folder / RUN).resolve())
        except InputError as error:
            problems = list(error.problems)
    if as_json:
        print_json(
            {
                "files": [str(folder / name) for name in made.files],
                "tables": [one.table(str(one.data.files.path)).model_dump(mode="json") for one in made.tables],
                "findings": [vars(finding) for one in made.tables for finding in one.findings],
                "scripts": made.repository.scripts,
                "config_class": made.repository.config_class,
                "problems": [vars(problem) for problem in problems],
            }
        )
        return
    rows = []
    for one in made.tables:
        time = one.times.get("event_time", one.times.get("valid_from", ""))
        rows.append((one.data.name, one.kind, ", ".join(one.keys), time, one.rows))
    print_table(("table", "kind", "keys", "time", "rows"), rows)
    scripts, config = made.repository.scripts, made.repository.config_class
    click.echo(
        f"\nRepository: {len(scripts)} feature scripts{f', such as {scripts[0]}' if scripts else ''}"
        f"{f'; their configuration class is {config}' if config else ''}."
    )
    drafted = [near(folder / name) for name in made.files if not name.startswith("schemas/")]
    click.echo(f"Wrote {', '.join(drafted)}, and schemas for editors.")
    for finding in (one for table in made.tables for one in table.findings if one.confidence == "guess"):
        click.echo(f"! Confirm {finding.subject} of {finding.table}: {finding.evidence}.")
    for problem in problems:
        click.echo(f"! Correct {problem}")
    if RUN in made.files:
        click.echo(f"\nNext: palmette features {near(folder / RUN)}")
    else:
        click.echo("\nNo event table refers to something that features can describe; write a specification by hand.")


@click.group()
def fsc() -> None:
    """Work with feature specifications (FSC)."""


@fsc.command("from")
@click.argument("script", type=FILE)
@click.option("--dfr", required=True, type=FILE, help="The data frame registry; `palmette init` drafts one.")
@click.option("--entry", help="The function or Class.method that builds the features; found if omitted.")
@click.option("--to", "file", type=FILE, help="File for the specification.  [default: SCRIPT's name with .yaml]")
@json_option
def from_script(script: Path, dfr: Path, entry: str | None, file: Path | None, as_json: bool) -> None:
    """Draft the specification that a PySpark feature SCRIPT follows, by reading it; nothing is run.

    SCRIPT may also be an .sql file with one SELECT, whose cut-off is the parameter `:cutoff` or `:as_of`. What cannot
    be read is listed, never guessed. `palmette check` then holds script and specification to each other.
    """
    from palmette.features.spec.resolve import load_view
    from palmette.features.specification_draft import draft_of

    made = draft_of(script, dfr, entry)
    file = file or Path(f"{script.stem}.yaml")
    if file.exists():
        raise UserError(f"{near(file)!r} exists.", "Name another file: --to FILE", code="file-exists")
    write_text(file, made.text)
    problems = []
    try:
        load_view(file.resolve(), dfr.resolve())
    except InputError as error:
        problems = list(error.problems)
    if as_json:
        found = {"file": str(file), "entry": made.entry, "features": made.features}
        notes = [vars(note) for note in made.notes]
        print_json({**found, "not_read": notes, "problems": [vars(problem) for problem in problems]})
        return
    what = f"{made.entry}() of {script.name}" if made.entry else script.name
    click.echo(f"Read {what}: {len(made.features)} features. Wrote {near(file)}.")
    for note in made.notes:
        click.echo(f"! Not read: {script.name}:{note.line}: {note.text}")
    for problem in problems:
        click.echo(f"! Correct {problem}")
    click.echo(f"\nNext: palmette check {script} --fsc {near(file)} --dfr {dfr}")


_MARKS = {"new": "+", "changed": "~", "unchanged": "", "removed": "-", "unknown": "?"}


@click.command()
@click.argument("run_file", type=click.Path(path_type=Path))
@click.option("--planner", metavar="NAME", help="Name of a planner, or module:Class; overrides the run file.")
@human_option(None, " Overrides the run file.")
@click.option("--model", metavar="PROVIDER:NAME", help="Language model for the agents; overrides the run file.")
@click.option("--plan", "only_plan", is_flag=True, help="Only show what would be built, read and written.")
@click.option("--seed", type=int, help="Random seed; overrides the run file.")
@json_option
def features(run_file: Path, only_plan: bool, as_json: bool, **options: Any) -> None:
    """Build a feature view: RUN_FILE names its specification, the registry and the team's repository.

    Ends with a pull request on a branch of the repository and a screen that lists what was checked.
    """
    from palmette.engine import ConsoleHuman, NoHuman, new_run_folder, run_environment
    from palmette.features.questions import answered

    run_file = Path(os.path.realpath(run_file))
    silent = only_plan or options["human"] in ("none", "web")
    answers = answered(run_file, NoHuman() if silent else ConsoleHuman(), options["model"])
    if only_plan:
        _show_plan(run_file, answers, as_json)
        return
    arguments = {"run_file": str(run_file), "answers": dict(answers), **options}
    present(run_environment("features", arguments, new_run_folder(run_file.stem), watching(as_json)), as_json)


def _show_plan(run_file: Path, answers: dict[str, str], as_json: bool) -> None:
    from palmette.features.build_plan import build_plan

    plan = build_plan(run_file, answers)
    if as_json:
        print_json({**plan.model_dump(mode="json"), "backfill": plan.backfill})
        return
    click.secho(f"{plan.view}: a row per {', '.join(plan.grain)}; cut-off: {plan.cutoff}\n", bold=True)
    print_table(("", "feature", "type", "definition"), [
        (_MARKS[one.state], one.name, one.dtype, one.definition) for one in plan.features
    ])  # fmt: skip
    click.echo()
    print_table(("reads", "columns"), [(name, ", ".join(columns)) for name, columns in plan.reads.items()])
    click.echo()
    print_table(("writes", ""), [*plan.files.items(), (plan.output, "data")])
    for departure in plan.departures:
        click.echo(f"! {departure}")
    if any(one.state == "unknown" for one in plan.features):
        click.echo("? The specification that was merged is not in git, so changes of features are not known.")
    if plan.backfill:
        click.echo("Backfill needed: earlier output lacks features or has others under their names.")
