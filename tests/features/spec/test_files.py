"""Run files, sample files and the published schemas."""

import json
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from palmette._yaml import parse_yaml
from palmette.cli.formats import schema
from palmette.documents import parse_located, read_located
from palmette.errors import InputError, Mistake
from palmette.features.samples import check_samples
from palmette.features.spec.dfr import Registry
from palmette.features.spec.resolve import check_run
from palmette.features.spec.run import FORMATS, Run, schema_of

CASES = Path(__file__).with_name("cases")
EXAMPLES = Path(__file__).parents[3] / "examples"
RUN = """run: 1
fsc: base.yaml
dfr: registry.yaml
repository: {path: ., readme: README.md}
interval: {as_of: "2025-03-31T00:00:00Z"}
output: {path: out}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("base.yaml", "registry.yaml"):
        (tmp_path / name).write_text((CASES / name).read_text("utf-8"), encoding="utf-8")
    (tmp_path / "README.md").write_text("# Conventions\n", encoding="utf-8")
    return tmp_path


def mistakes(path: Path) -> Sequence[Mistake]:
    try:
        return check_run(read_located(path, Run), path.parent)
    except InputError as error:
        return error.problems


@pytest.mark.parametrize(
    ("was", "now", "code", "nearest"),
    [
        ("fsc: base.yaml", "fsc: bsae.yaml", "no-such-file", "base.yaml"),
        ("readme: README.md", "readme: READ.md", "no-such-file", "README.md"),
        ("path: .,", "path: nowhere,", "no-such-folder", None),
        ('as_of: "2025-03-31T00:00:00Z"', 'as_of: "2025-03-31T00:00:00"', "missing-offset", None),
        ('{as_of: "2025-03-31T00:00:00Z"}', "{}", "interval-form", None),
        ("{as_of:", '{start: "2025-03-30T00:00:00Z", as_of:', "interval-form", None),
        ("{as_of:", "{start:", "interval-form", None),
        (
            '{as_of: "2025-03-31T00:00:00Z"}',
            '{start: "2025-03-31T00:00:00Z", end: "2025-03-31T00:00:00Z"}',
            "empty-interval",
            None,
        ),
        ("output: {path: out}", "output: {}", "output-form", None),
        ("output: {path: out}", "output: {path: out, table: t}", "output-form", None),
        ("path: .,", "path: ., config_class: offers.config,", "bad-class-name", None),
        ("output: {path: out}", "output: {path: out}\nplaner: offline", "unknown-key", "planner"),
    ],
)
def test_run_file_mistakes(was: str, now: str, code: str, nearest: str | None, folder: Path) -> None:
    assert was in RUN
    (folder / "run.yaml").write_text(RUN.replace(was, now), encoding="utf-8")
    problem = next(problem for problem in mistakes(folder / "run.yaml") if problem.code == code)
    assert problem.line
    assert problem.nearest == nearest


def test_partitions_end_at_midnight(folder: Path) -> None:
    text = (CASES / "base.yaml").read_text("utf-8")
    text = (
        text.replace("cutoff: run, zone: UTC", "cutoff: partition, zone: Europe/Paris")
        + "output: {partition: on_day}\n"
    )
    (folder / "base.yaml").write_text(text, encoding="utf-8")
    for as_of, codes in (("2025-03-31T00:00:00Z", ["not-midnight"]), ("2025-03-31T00:00:00+02:00", [])):
        (folder / "run.yaml").write_text(RUN.replace("2025-03-31T00:00:00Z", as_of), encoding="utf-8")
        assert [problem.code for problem in mistakes(folder / "run.yaml")] == codes


def test_an_unknown_zone_is_left_to_the_specification(folder: Path) -> None:
    text = (CASES / "base.yaml").read_text("utf-8").replace("cutoff: run, zone: UTC", "cutoff: partition, zone: Berlin")
    (folder / "base.yaml").write_text(f"{text}output: {{partition: on_day}}\n", encoding="utf-8")
    (folder / "run.yaml").write_text(RUN, encoding="utf-8")
    assert not mistakes(folder / "run.yaml")


def test_run_file(folder: Path) -> None:
    (folder / "run.yaml").write_text(RUN, encoding="utf-8")
    assert not mistakes(folder / "run.yaml")


REGISTRY = """dfr: 1
tables:
  - name: t
    kind: event
    path: t.parquet
    keys: [key]
    event_time: at
    columns:
      - {name: key, type: bigint}
      - {name: at, type: timestamp}
      - {name: amount, type: double}
"""


def samples(registry: str, folder: Path) -> list[tuple[str, str | None]]:
    problems = check_samples(parse_located(registry, Registry, "dfr"), folder)
    return [(problem.code, problem.nearest) for problem in problems]


def test_samples(tmp_path: Path) -> None:
    at = pa.array([0], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"key": pa.array([1], pa.int64()), "at": at, "amount": [1.0]}), tmp_path / "t.parquet")
    assert samples(REGISTRY, tmp_path) == []
    assert samples(REGISTRY.replace("t.parquet", "tt.parquet"), tmp_path) == [("no-such-file", "t.parquet")]
    assert samples(REGISTRY.replace("amount", "amout"), tmp_path) == [("column-not-in-sample", "amount")]
    assert samples(REGISTRY.replace("type: double", "type: float"), tmp_path) == [("type-differs-in-sample", "double")]
    pq.write_table(
        pa.table({"key": pa.array([1], pa.int64()), "at": at.cast(pa.timestamp("us")), "amount": [1.0]}),
        tmp_path / "t.parquet",
    )
    assert samples(REGISTRY, tmp_path) == [("type-differs-in-sample", "timestamp_ntz")]
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    assert samples(REGISTRY, tmp_path) == [("unreadable-sample", None)]


def test_text_samples(tmp_path: Path) -> None:
    csv = REGISTRY.replace("    path: t.parquet", "    path: t.csv\n    format: csv")
    (tmp_path / "t.csv").write_text("key,at,amont\n1,2025-01-01,2\n", encoding="utf-8")
    assert samples(csv, tmp_path) == [("column-not-in-sample", "amont")]
    lines = csv.replace("csv", "json")
    (tmp_path / "t.json").write_text('{"key": 1}\n{"at": "2025-01-01", "amount": 2}\n', encoding="utf-8")
    assert samples(lines, tmp_path) == []


TEXT = """dfr: 1
tables:
  - {name: t, kind: dimension, path: t, format: FORM, keys: [id], columns: [{name: id, type: bigint},
     {name: note, type: string}, {name: tags, type: "TYPE"}]}
"""


@pytest.mark.parametrize(("form", "kind", "text", "says"), [
    ("csv", "int", 'id,note,tags\n1,x,2\n2,"two\nlines",3\n', "line 3: a line break inside a value of 'note'"),
    ("csv", "int", "note,id,tags\nx,1,2\n", "the columns of CSV by their places, and they are note, id, tags"),
    ("csv", "int", "id,note,tags\n1,x,2.0\n", "line 2: 'tags' is int, and '2.0' is not a whole number"),
    ("csv", "int", 'id,note,tags\n1,"x,2\n', "line 2: unexpected end of data"),
    ("csv", "array<int>", "id,note,tags\n1,x,[2]\n", "'tags' is array<int>, and CSV has no such values"),
    ("json", "map<string,int>", '{"id": 1, "note": "x", "tags": {"a": 1, "b": "2"}}\n', "'2' is not a whole number"),
    ("json", "date", '{"id": 1, "note": "x"}\n\n{"tags": "20240229"}\n', "line 3: 'tags' is date, and '20240229'"),
    ("json", "double", '[{"id": 1}]\n', "line 1 is not an object"),
    ("json", "double", '{"id": 1, "note": "x", "tags": {"a": "1.5"}}\n', "{'a': '1.5'} is not a number"),
    ("json", "double", '{"id": 1, "note": "x", "tags": "1.5"}\n', "and '1.5' is not a number"),
    ("json", "decimal(9,2)", '{"id": 1, "note": "x", "tags": 1e9999999}\n', "line 1: 'tags' is decimal(9,2), and"),
    ("json", "int", '{"id": 1, "note": "x", "tags": 1e99999999999999999999}\n', "line 1 is not JSON"),
    ("json", "array<int>", "[" * 100_000, "line 1 is not JSON"),
    ("json", "int", '{"id": 1, "note": "\\ud800"}\n', "line 1: 'note' is string, and '\\ud800' has half a character"),
    ("json", "map<string,int>", '{"id": 1, "tags": {"\\udc00": 1}}\n', "'\\udc00' has half a character"),
])  # fmt: skip
def test_a_text_that_spark_would_read_otherwise_is_refused_with_its_place(
    tmp_path: Path, form: str, kind: str, text: str, says: str
) -> None:
    (tmp_path / "t").write_text(text, encoding="utf-8", newline="")
    registry = TEXT.replace("FORM", form).replace("TYPE", kind)
    (problem,) = check_samples(parse_located(registry, Registry, "dfr"), tmp_path)
    assert problem.code == "unreadable-sample" and says in problem.message
    assert problem.field == "tables[0].path" and "format" not in problem.remedy


def test_decimals_have_up_to_38_digits(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("id,note,tags\n1,x,12345678901234567890.1234567890\n", encoding="utf-8")
    registry = TEXT.replace("FORM", "csv").replace("TYPE", "decimal(38,10)")
    assert check_samples(parse_located(registry, Registry, "dfr"), tmp_path) == []


@pytest.mark.parametrize("name", FORMATS)
def test_schemas_describe_every_field(name: str) -> None:
    published = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(published)
    assert published["description"]
    assert set(published["properties"]) == set(FORMATS[name].model_fields)


@pytest.mark.parametrize(
    ("name", "pattern"), [("fsc", "*/specs/*.yaml"), ("dfr", "*/registry.yaml"), ("run", "*/runs/*.yaml")]
)
def test_examples_fit_their_schema(name: str, pattern: str) -> None:
    files = sorted(EXAMPLES.glob(pattern))
    assert files
    validator = jsonschema.Draft202012Validator(schema_of(name))
    for file in files:
        validator.validate(parse_yaml(file.read_text("utf-8")).value)


def test_schema_command(tmp_path: Path) -> None:
    shown = CliRunner().invoke(schema, ["fsc"])
    assert json.loads(shown.output) == schema_of("fsc")
    target = tmp_path / "dfr.json"
    assert CliRunner().invoke(schema, ["dfr", "--output", str(target)]).exit_code == 0
    assert json.loads(target.read_text("utf-8")) == schema_of("dfr")
    assert CliRunner().invoke(schema, ["fcs"]).exit_code == 2


@pytest.mark.parametrize(
    ("lines", "planner"),
    [
        ("", "offline"),
        ("model: relay\n", "model"),
        ("model: relay\nmodels: {planner: offline}\n", "offline"),
        ("models: {planner: relay}\n", "model"),
        ("model: relay\nplanner: sequential\n", "sequential"),
        ("planner: model\n", "model"),
    ],
)
def test_a_model_plans_where_one_answers_in_that_role_unless_another_planner_is_named(lines: str, planner: str) -> None:
    assert parse_located(RUN + lines, Run, "run.yaml").value.decider == planner
