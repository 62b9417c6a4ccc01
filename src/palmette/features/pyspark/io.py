"""Writes the functions around the transforms: signatures, and bodies that read, write and parse the command line."""

import re
import textwrap
from collections.abc import Collection
from pathlib import Path

from palmette.documents import Model
from palmette.features.artefacts import Config, Conventions, Role
from palmette.features.pyspark.code import function, name_arguments, quoted, rendered
from palmette.features.pyspark.scope import ScriptScope
from palmette.features.signature import declared, form_of, shape_of, signature
from palmette.features.spec import Table, View
from palmette.features.team_document import format_of

_PARSERS = {"json": "json.loads", "toml": "tomllib.loads", "yaml": "yaml.safe_load"}


def parsed_text(config: Config, text: str) -> str:
    """Code that parses the document, whose text the code `text` gives."""
    return f"{_PARSERS[format_of(config.file.path)]}({text})"


def config_object(config: Config, text: str, name: str) -> str:
    """Code of the configuration object; `name` is the name of the team's class where the code runs."""
    parsed = parsed_text(config, text)
    if not config.class_name:
        return parsed
    match config.built_by:
        case "model_validate":
            return f"{name}.model_validate({parsed})"
        case "keywords":
            return f"{name}(**{parsed})"
        case "type_adapter":
            return f"TypeAdapter({name}).validate_python({parsed})"


_MAIN, _WRITE = (Path(__file__).with_name(f"{name}.py.j2") for name in ("main", "write"))
_MICROS = {"SECOND": "1_000_000", "MINUTE": "60_000_000", "HOUR": "3_600_000_000", "DAY": "86_400_000_000"}
MOST_OF_A_LINE = 60  # characters of a schema in one line of a script


def load_body(scope: ScriptScope, conventions: Conventions, config: Config) -> list[str]:
    """Reads the tables of the view, restricted to the columns it uses."""
    config = _as_named(config, scope.view, conventions, "load")
    readers = {
        name: f"{_reader(scope, table, config)}.select({name_arguments(needed_columns(scope.view, table))})"
        for name, table in sorted(scope.view.tables.items())
    }
    returns = shape_of(conventions, "load").returns.lower()
    if returns.startswith("tuple"):
        return ["return (", *(f"    {reader}," for reader in readers.values()), ")"]
    if returns == "dataframe" and len(readers) == 1:
        return [f"return {next(iter(readers.values()))}"]
    return ["return {", *(f"    {quoted(name)}: {reader}," for name, reader in readers.items()), "}"]


def _reader(scope: ScriptScope, table: Table, config: Config) -> str:
    place = config.accessors.get(f"source:{table.name}") or constant_name(table)
    if table.table is not None:
        return f"spark.table({place})"
    if table.format in ("csv", "json"):
        schema = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        header = ", header=True, escape='\"'" if table.format == "csv" else ""
        zoned = any(column.type == "timestamp" for column in table.columns)
        reader = 'spark.read.option("timeZone", "UTC")' if zoned else "spark.read"
        *pieces, last = textwrap.wrap(schema, MOST_OF_A_LINE, break_long_words=False)
        text = " ".join([*(quoted(f"{piece} ") for piece in pieces), quoted(last)])
        return f"{reader}.{table.format}({place}, schema={f'({text})' if pieces else text}{header})"
    given = {"spark": "spark", "format": quoted(table.format), **dict.fromkeys(("path", "name", "table"), place)}
    if (call := scope.utility_call("read_table", **given)) is not None:
        return call
    if table.format == "delta":
        return f'spark.read.format("delta").load({place})'
    return f"spark.read.{table.format}({place})"


def _as_named(config: Config, view: View, conventions: Conventions, role: Role) -> Config:
    """The configuration, with its accessors on the parameter name that the function with this role uses."""
    name = next((bound.name for bound in signature(view, conventions, role) if bound.meaning == "config"), "config")
    accessors = {fact: re.sub(r"(?<![\w.'\"])config\b", name, code) for fact, code in config.accessors.items()}
    return config.model_copy(update={"accessors": accessors})


def constant_name(table: Table) -> str:
    return f"{table.name.upper()}_{'TABLE' if table.table else 'PATH'}"


def constants(scope: ScriptScope, accessors: Collection[str], code: str) -> list[str]:
    """The module's constants that code mentions; `accessors` are the facts that the configuration gives."""
    lines = [f"VIEW = {quoted(scope.view.name)}", f"ZONE = {quoted(scope.view.zone)}"]
    lines += [f"{name} = {value}" for name, value in scope.constants.items()]
    lines += [f"MICROS_PER_{unit} = {value}" for unit, value in _MICROS.items()]
    for name, table in sorted(scope.view.tables.items()):
        if f"source:{name}" not in accessors:
            lines.append(f"{constant_name(table)} = {quoted(table.table or table.path or name)}")
    lines.append(f"OUTPUT_TABLE = {quoted(scope.view.table_name)}")
    return [line for line in lines if re.search(rf"\b{line.split(' =')[0]}\b", code)]


def needed_columns(view: View, table: Table) -> list[str]:
    """Registered columns that the view's expressions mention, plus keys, times and partitions.

    Matches by name only: a column of the same name in another table may be read without need.
    """
    parts: list[Model] = [step for source in view.sources for step in source.early + source.late]
    parts += [feature.computation for feature in view.features if feature.computation is not None]
    parts += [view.spine] if view.spine is not None else []
    words = (word for part in parts for word in re.findall(r"\w+", part.model_dump_json()))
    mentioned = {word.lower() for word in (*view.grain, *words)}
    fixed = {*table.keys, *table.times, *(item.column for item in table.partitions if item.of)}
    return [column.name for column in table.columns if column.name in fixed or column.name.lower() in mentioned]


def write_body(scope: ScriptScope, conventions: Conventions, config: Config) -> list[str]:
    """Writes the frame; with a partition, overwrites only the partitions it contains."""
    config = _as_named(config, scope.view, conventions, "write")
    bound = signature(scope.view, conventions, "write")
    frame = next((one.name for one in bound if one.meaning in ("frame", "table")), "features")
    place = config.accessors.get("output") or "OUTPUT_TABLE"
    partition = quoted(scope.view.partition) if scope.view.partition else None
    is_table = "output" not in config.accessors or config.storage == "table"
    if not is_table:
        given = {"df": frame, **dict.fromkeys(("destination", "path", "name", "table"), place)}
        given |= dict.fromkeys(("partition", "partition_by"), partition or "None")
        if (call := scope.utility_call("write_table", **given)) is not None:
            return [call]
    files = 'format("delta").save' if config.storage == "delta" else config.storage
    found = rendered(_WRITE, frame=frame, place=place, partition=partition, is_table=is_table, files=files)
    return found.split("\n")


def main_body(scope: ScriptScope, conventions: Conventions, config: Config) -> list[str]:
    """Parses the options, creates the session, and calls the other functions."""
    view, option = scope.view, conventions.config_option
    session = scope.utility_call("build_session", app_name="VIEW", name="VIEW", app="VIEW")
    loaded = shape_of(conventions, "load").returns.lower()
    tables = sorted(view.tables)
    each = {name: f"tables[{quoted(name)}]" for name in tables}
    target = "tables"
    if loaded.startswith("tuple") or (loaded == "dataframe" and len(tables) == 1):
        each = {name: name for name in tables}
        target = ", ".join(tables) + ("," if loaded.startswith("tuple") and len(tables) == 1 else "")
    roles: tuple[Role, ...] = ("load", "build", "write")
    text = rendered(
        _MAIN,
        option=option,
        as_of=conventions.as_of_option,
        has_cutoff=view.cutoff != "spine",
        form=format_of(config.file.path).upper(),
        argv=next((bound.name for bound in signature(view, conventions, "main") if bound.meaning == "argv"), ""),
        config=_config(scope, config, f"args.{option.lstrip('-').replace('-', '_')}"),
        session=session or "SparkSession.builder.appName(VIEW).getOrCreate()",
        target=target,
        **{role: _call(view, conventions, role, each) for role in roles},
    )
    return text.split("\n")


def _config(scope: ScriptScope, config: Config, path: str) -> str:
    text = f'Path({path}).read_text(encoding="utf-8")'
    call = scope.utility_call("load_config", path=path, document=parsed_text(config, text))
    if call is not None:
        return call
    return config_object(config, text, scope.team_class(config.class_name) if config.class_name else "")


def _call(view: View, conventions: Conventions, role: Role, each: dict[str, str]) -> str:
    """A call of a predefined function; each parameter gets the value for its meaning."""
    values = {name: name for name in ("spark", "config", "tables", "as_of")} | {"frame": "features"}
    shape = shape_of(conventions, role)
    optional = {parameter.name for parameter in shape.parameters if parameter.default is not None}
    arguments = []
    for bound in signature(view, conventions, role):
        value = each[bound.table] if bound.table else values.get(bound.meaning)
        if role == "write" and bound.meaning == "table":
            value = "features"
        if bound.meaning == "as_of" and form_of(bound) == "str":
            value = "as_of.isoformat()"
        if value is None and bound.name in optional:
            continue
        arguments.append(bound.passed(value or bound.name))
    return f"{shape.name}({', '.join(arguments)})"


def function_source(view: View, conventions: Conventions, role: Role, body: list[str]) -> str:
    """A predefined function with the team's name and parameters, a docstring, and this body (unindented lines)."""
    shape = shape_of(conventions, role)
    parameters = declared(view, conventions, shape)
    returns = shape.returns or {"load": "dict[str, DataFrame]", "build": "DataFrame"}.get(role, "None")
    return function(shape.name, parameters, returns, _purpose(view, conventions, role), body)


def _purpose(view: View, conventions: Conventions, role: Role) -> str:
    grain = " and ".join(key.removesuffix("_id") for key in view.grain)
    rows = f"One row for every row of `{view.spine.table}`" if view.spine else f"One row per {grain}"
    bounds = signature(view, conventions, "build")
    cutoff = next((f"`{bound.name}`" for bound in bounds if bound.meaning == "as_of"), "the cut-off")
    when = "its cut-off" if view.cutoff == "spine" else cutoff
    return {
        "load": "The tables that the view reads, with the columns that it needs.",
        "build": f"{rows}, with what was known before {when}.",
        "write": "Writes the view, and of partitions only those that it has rows for."
        if view.partition
        else "Writes the view.",
        "main": "Entry point for `spark-submit`.",
    }[role]
