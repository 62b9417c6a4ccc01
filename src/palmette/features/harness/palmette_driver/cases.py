"""Calls on frames: the entry function once per case, or probes of the team's functions."""

import json
from collections.abc import Callable
from datetime import datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from .answers import Answers
from .script import failure, import_script
from .session import WarmSession


def run_cases(job: dict[str, Any], folder: Path, session: WarmSession, answers: Answers) -> None:
    """Calls the script's entry function once per case."""

    @cache
    def entry_of(script: str) -> Any:
        owner, _, name = job["entry"].rpartition(".")
        module = import_script(Path(script), job["path"])
        return getattr(instance(getattr(module, owner)) if owner else module, name)

    def call(case: dict[str, Any], frames: dict[str, Any]) -> Any:
        entry = entry_of(case["script"] or job["script"])
        arguments = {binding["name"]: _argument(binding, case, frames, session) for binding in job["bindings"]}
        result = entry(**arguments)
        if not hasattr(result, "toArrow"):
            raise TypeError(f"{job['entry']} gave {type(result).__name__} instead of a DataFrame")
        return result

    _run(job, folder, session, answers, call)


def instance(owner: Any) -> Any:
    """Creates an object of the class that defines a method; without `__init__` if that requires arguments."""
    try:
        return owner()
    except TypeError:
        return object.__new__(owner)


def run_probes(job: dict[str, Any], folder: Path, session: WarmSession, answers: Answers) -> None:
    """Executes each probe's code, which assigns its answer to `result`."""

    def call(probe: dict[str, Any], frames: dict[str, Any]) -> Any:
        names = {"spark": session.spark, "frames": frames}
        exec(compile(probe["code"], "<probe>", "exec"), names)
        return names.get("result")

    _run(job, folder, session, answers, call)


def _run(
    job: dict[str, Any],
    folder: Path,
    session: WarmSession,
    answers: Answers,
    call: Callable[[dict[str, Any], dict[str, Any]], Any],
) -> None:
    for index, item in job["items"]:
        with answers.timed(index):
            try:
                session.reset(item["session_zone"], item["partitions"])
                frames = {name: _frame(folder / file, session) for name, file in item["frames"].items()}
                answer = _answer(call(item, frames), plan=item.get("plan", False))
            except BaseException as error:  # noqa: BLE001 - process boundary: it is the answer
                answer = failure(error, Path(job["root"]))
        answers.write(index, answer)


def _frame(file: Path, session: WarmSession) -> Any:
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as reader:
        table = reader.read_all()
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return session.spark.createDataFrame(table, schema)


def _answer(result: Any, *, plan: bool) -> dict[str, Any]:
    if not hasattr(result, "toArrow"):
        return {"value": json.loads(json.dumps(result, default=str))}
    from pyspark.sql.pandas.types import to_arrow_schema

    explained = result._explain_string(extended=True) if plan else ""
    table, schema = result._to_table()  # the schema comes with the rows, which saves a request
    table = table.cast(to_arrow_schema(schema, timezone="UTC"))
    kinds = [field.dataType.simpleString() for field in schema.fields]
    values = [
        [dict(value) if value is not None and kind.startswith("map") else value for value in column.to_pylist()]
        for kind, column in zip(kinds, table.columns, strict=True)
    ]
    return {
        "plan": explained,
        "columns": [(field.name, kind) for field, kind in zip(schema.fields, kinds, strict=True)],
        "rows": list(zip(*values, strict=True)),
    }


def _argument(binding: dict[str, str], case: dict[str, Any], frames: dict[str, Any], session: WarmSession) -> Any:
    match binding["meaning"]:
        case "spark":
            return session.spark
        case "tables":
            return dict(frames)
        case "table":
            return frames[binding["table"]]
        case _:
            return _as_of(case["as_of"], binding["form"])


def _as_of(text: str | None, kind: str) -> Any:
    if text is None or kind == "str":
        return text
    timestamp = datetime.fromisoformat(text)
    midnight = timestamp.utcoffset() == timedelta(0) and timestamp.time() == time()
    return timestamp.date() if kind == "date" and midnight else timestamp  # a datetime is also a date
