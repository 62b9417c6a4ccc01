"""Scripts for repositories of unlike shapes: each has the team's, keeps its rules, and runs in its usual way."""

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.engine.actor import TextFile
from palmette.features.actors.code_template_generator.offline import write_template
from palmette.features.adoption.query import query_of, why_no_query
from palmette.features.artefacts import Config, Conventions, Template, Utilities, Utility
from palmette.features.checks.static.check import violations
from palmette.features.cutoffs import run_call
from palmette.features.formatting import format_file
from palmette.features.harness.connect import ConnectHarness
from palmette.features.import_policy import FeatureImportPolicy
from palmette.features.mutation.mutants import mutants
from palmette.features.pyspark.script import write_script
from palmette.features.repository import Checkout, find_neighbours, read_conventions
from palmette.features.repository.rules import DeliveredFiles, rule_reports
from palmette.features.script_tree import parse, with_query
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.features.team_document import document_text
from palmette.sandbox import Sandbox, WarmSpark

HERE = Path(__file__).parent
SHAPES = yaml.safe_load((HERE / "shapes.yaml").read_text(encoding="utf-8"))
DECORATED = [
    {
        "name": name,
        "dtype": "bigint",
        "aggregate": {"function": "count", "source": "redemptions", "window": window},
    }
    for name, window in (("redeemed_30d", "30d"), ("redeemed_90d", "90d"))
] + [{"name": "share", "dtype": "double", "derive": "redeemed_30d / redeemed_90d"}]
OF_VIEWS = {"decorated": {"features": DECORATED, "tests": []}}
"""Changes of the view for shapes that not every view fits."""
NO_CONFIG = Config(file=TextFile(path="view.yaml", text=""), class_name="", accessors={})


def parquet_view(**changes: Any) -> View:
    documents = yaml.safe_load((HERE.parent / "user_offers.yaml").read_text(encoding="utf-8"))
    del documents["dfr"]["tables"][1]["format"]
    spec = FeatureSpec.model_validate({**documents["fsc"], **changes})
    return resolve(spec, Registry.model_validate(documents["dfr"]))


def written(root: Path, run_spec: Run, view: View, *utilities: Utility) -> tuple[TextFile, Conventions]:
    """The script as the offline rules write and format it."""
    checkout = Checkout(root)
    conventions = read_conventions(root, run_spec, view, checkout, why_no_query)
    text = write_template(view, conventions, NO_CONFIG, None, find_neighbours(checkout))
    path = conventions.script_path.replace("{view}", view.name)
    template = Template(file=TextFile(path=path, text=text), conventions=conventions)
    is_query = conventions.is_query
    chosen = Utilities(chosen=utilities)
    source = text + query_of(view, conventions) if is_query else write_script(view, template, NO_CONFIG, chosen)
    return format_file(TextFile(path=path, text=source), conventions, Sandbox(), root), conventions


@pytest.mark.parametrize("name", SHAPES)
def test_a_script_has_the_shape_of_its_neighbours(name: str, repository: Callable[[str], Path], run_spec: Run) -> None:
    root, view, wanted = repository(name), parquet_view(**OF_VIEWS.get(name, {})), SHAPES[name]
    script, conventions = written(root, run_spec, view)
    assert (script.path, conventions.departures) == (wanted["path"], ())
    assert not [text for text in wanted["has"] if text not in script.text], script.text
    assert not [text for text in wanted["lacks"] if text in script.text], script.text
    files = DeliveredFiles(script.text, script.path, "", "", "", conventions, view.name)
    assert sorted(files.functions) == sorted(wanted["functions"])
    config, tests = (path.replace("{view}", view.name) for path in (conventions.config_path, conventions.test_path))
    call = run_call(conventions.entry, script.path, view, config, datetime(2025, 3, 31, tzinfo=UTC))
    assert list(call.command) == shlex.split(wanted["command"])
    assert [" ".join(command) for command in conventions.linters] == wanted["linters"]
    linted = dict.fromkeys((command[0] for command in conventions.linters), True)
    files = DeliveredFiles(script.text, script.path, "", tests, config, conventions, view.name, linted)
    reports = rule_reports(files)
    assert Counter(report.status for report in reports) == wanted["rules"], list(map(str, reports))
    (root / script.path).write_text(script.text, encoding="utf-8")
    if conventions.is_query:
        return
    rules = [] if "ruff check" in wanted["linters"] else ["--isolated", "--select", "E4,E7,F"]
    lint = [sys.executable, "-m", "ruff", "check", *rules, script.path]
    done = subprocess.run(lint, cwd=root, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


def test_a_cutoff_per_row_leaves_the_entry_point_as_it_is(repository: Callable[[str], Path], run_spec: Run) -> None:
    view = parquet_view(time={"cutoff": "spine"}, spine={"table": "redemptions", "cutoff": "redeemed_at"})
    script, _ = written(repository("scheduled"), run_spec, view)
    assert 'parser.add_argument("--cutoff", required=True' in script.text
    assert "result = build(redemptions, users, cutoff)" in script.text
    assert "del cutoff  # every row has a cut-off of its own" in script.text


def test_a_view_that_does_not_fit_the_shape_is_announced(repository: Callable[[str], Path], run_spec: Run) -> None:
    found = read_conventions(repository("decorated"), run_spec, parquet_view())
    assert found.feature_functions is None and not found.skeleton
    assert "has one decorated function per feature, but its functions take one table" in found.departures[0]


@pytest.mark.parametrize("name", ["baskets", "scheduled"])
def test_a_decorator_of_helpers_is_no_shape_of_features(
    name: str, repository: Callable[[str], Path], run_spec: Run
) -> None:
    root = repository(name)
    (root / "timing.py").write_text("def timed(function):\n    return function\n", encoding="utf-8")
    for script in [one.module for one in find_neighbours(Checkout(root))]:
        text = re.sub(r"(?m)^def ", "@timed\ndef ", script.text)
        text = (
            text.replace('"""\n', '"""\nfrom timing import timed\n', 1) + "\n\n@timed\ndef own(a) -> DataFrame: ...\n"
        )
        (root / script.path).write_text(text, encoding="utf-8")
    found = read_conventions(root, run_spec, parquet_view())
    assert found.skeleton and found.feature_functions is None


COLUMNS = """
from pyspark.sql import Column
from lab.framework import feature

@feature("bigint")
def uses(cutoff) -> Column: ...

@feature("timestamp")
def last_use(cutoff) -> Column: ...
"""


@pytest.mark.parametrize("marked", [True, False])
def test_functions_of_columns_are_announced(marked: bool, repository: Callable[[str], Path], run_spec: Run) -> None:
    root = repository("decorated")
    for script in (root / "src/lab/features").glob("*s.py"):
        script.write_text(COLUMNS if marked else re.sub("@.*", "", COLUMNS), encoding="utf-8")
    (departure,) = read_conventions(root, run_spec, parquet_view()).departures
    assert ("pattern that no rule fills" if marked else "`src/lab/features/samples.py`, is recognised") in departure


def test_a_query_without_a_build_function_is_announced(repository: Callable[[str], Path], run_spec: Run) -> None:
    root = repository("empty")
    (root / "views").mkdir()
    (root / "views/orders.sql").write_text("select 1", encoding="utf-8")
    (root / "views/orders.py").write_text("from pyspark.sql import SparkSession\n", encoding="utf-8")
    (departure,) = read_conventions(root, run_spec, parquet_view()).departures
    assert "`views/orders.sql` is run by no function that takes data frames" in departure


def beside(conventions: Conventions, view: View) -> tuple[TextFile, ...]:
    """The file of the query that a script runs, if it runs one."""
    path = conventions.query_path.replace("{view}", view.name)
    return (TextFile(path=path, text=query_of(view, conventions)),) if path else ()


def test_a_pair_of_script_and_query_is_checked_as_one(repository: Callable[[str], Path], run_spec: Run) -> None:
    root, view = repository("queries"), parquet_view()
    script, conventions = written(root, run_spec, view)
    (query,) = beside(conventions, view)
    assert query.path == "views/user_offers.sql" and "redeemed_at >= :cutoff - INTERVAL '30' DAYS" in query.text
    whole = TextFile(path=script.path, text=with_query(script.text, query.text))
    policy = FeatureImportPolicy.of(view, run_spec, Checkout(root), script.path)
    assert policy.objections(script) and not policy.objections(whole)
    tree = parse(whole.text, view, "build")
    assert not list(violations(tree, script.path))
    changed = {(one.before, one.after) for one in mutants(tree) if one.in_query}
    assert ("LEFT JOIN users_of_user", "INNER JOIN users_of_user") in changed
    assert ("user_id IS NOT NULL", "user_id IS  NULL") in changed and len(changed) > 10


def test_a_view_without_a_query_is_announced(repository: Callable[[str], Path], run_spec: Run) -> None:
    top = {"function": "vector_sum", "source": "redemptions", "of": "taste"}
    documents = yaml.safe_load((HERE.parent / "user_offers.yaml").read_text(encoding="utf-8"))
    documents["dfr"]["tables"][0]["columns"].append({"name": "taste", "type": "array<float>"})
    features = [{"name": "taste", "dtype": "array<double>", "aggregate": top}]
    spec = FeatureSpec.model_validate({**documents["fsc"], "features": features, "tests": []})
    view = resolve(spec, Registry.model_validate(documents["dfr"]))
    found = read_conventions(repository("queries"), run_spec, view, why_no_query=why_no_query)
    assert not found.query_path and not found.skeleton
    assert "`views/stock_levels.py` runs a query, but SQL lacks `.select(" in found.departures[0]


def test_tests_create_objects_as_a_neighbours_tests_do(repository: Callable[[str], Path], run_spec: Run) -> None:
    found = read_conventions(repository("job_classes"), run_spec, parquet_view())
    assert found.instance.startswith("UserOffersJob(JobSettings(view='user_offers', owner='rentals@team.example'")
    assert [line.rpartition(" ")[2] for line in found.instance_imports] == ["JobSettings", "TableSettings"]


def test_rules_that_are_not_kept_are_reported_with_the_reason(repository: Callable[[str], Path], run_spec: Run) -> None:
    script, conventions = written(repository("baskets"), run_spec, parquet_view())
    text = script.text.replace("import pyspark.sql.functions as sf", "from pyspark.sql import functions as sf")
    text = text.replace('sf.col("user_id").cast("bigint")', '"user_id"') + "\n\ndef more():\n    collect()\n"
    files = DeliveredFiles(text, script.path, "", "", "settings/user_offers.yaml", conventions, "user_offers")
    broken = [report.how for report in rule_reports(files) if report.status == "not followed"]
    assert any("import pyspark.sql.functions as sf" in how for how in broken)
    assert any("5 of 6 output columns" in how for how in broken)
    assert any("it has `read_inputs`, `transform`, `run`, `more`" in how for how in broken)
    assert any("`collect` is never called" in how for how in broken)


def test_rules_about_sizes_constants_and_helpers_are_looked_up(
    repository: Callable[[str], Path], run_spec: Run
) -> None:
    script, conventions = written(repository("nightly"), run_spec, parquet_view())
    text = script.text.replace("\n\n\ndef read", '\nZONE = "UTC"\n\n\ndef read')
    setting = '    users.sparkSession.conf.set("spark.sql.session.timeZone", ZONE)\n'
    text = text.replace("    last_day =", f"{setting * 40}    last_day =")
    files = DeliveredFiles(text, script.path, "", "", "", conventions, "user_offers")
    broken = [report.how for report in rule_reports(files) if report.status == "not followed"]
    assert any("`build_features` has `.conf.set`" in how for how in broken)
    assert any("`build_features`, the longest function, has" in how for how in broken)
    assert any("constants without `Final`: ZONE" in how for how in broken)


def test_constants_and_windows_are_written_as_the_team_does(repository: Callable[[str], Path], run_spec: Run) -> None:
    features = [
        {"name": "days_since", "dtype": "int", "aggregate": {"function": "days_since_last", "source": "redemptions"}},
        {"name": "many_7d", "dtype": "boolean", "derive": "0.5 * days_since < redeemed_7d"},
        {
            "name": "redeemed_7d",
            "dtype": "bigint",
            "aggregate": {"function": "count", "source": "redemptions", "window": "7d"},
        },
    ]
    between = Utility(
        need="in_window", name="between", module="parcels.windows", call="between({time}, {as_of}, {days})"
    )
    script, _ = written(repository("nightly"), run_spec, parquet_view(features=features, tests=[]), between)
    assert "from typing import Final\n" in script.text and "MICROS_PER_DAY: Final = 86_400_000_000\n" in script.text
    assert 'between("redeemed_at", as_of, 7)' in script.text
    assert "conf.set" not in script.text, "an expression of operators alone needs no zone"


def test_a_name_is_imported_also_beside_others(repository: Callable[[str], Path], run_spec: Run) -> None:
    root = repository("scheduled")
    with (root / "README.md").open("a", encoding="utf-8") as readme:
        readme.write(
            "\n- Import `from pyspark.sql import DataFrame`.\n- No user-defined functions, no pandas.\n"
            "- **Cut-offs.** `:now` is the cut-off of a job.\n- Jobs derive from `Base`.\n"
        )
    script, conventions = written(root, run_spec, parquet_view())
    assert "from pyspark.sql import DataFrame, SparkSession" in script.text
    files = DeliveredFiles(script.text, script.path, "", "", "", conventions, "user_offers")
    reports = rule_reports(files)[-4:]
    assert [one.status for one in reports] == ["followed", "followed", "not checkable", "not followed"]
    assert reports[2].rule.startswith("**Cut-offs.** `:now`") and reports[2].how == "`:now` is not found"


def test_what_reads_its_tables_itself_is_announced(repository: Callable[[str], Path], run_spec: Run) -> None:
    root = repository("driven")
    for path in (root / "src/shop").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("tables: dict[str, DataFrame], ", "spark: SparkSession, "), encoding="utf-8")
    (departure,) = read_conventions(root, run_spec, parquet_view()).departures
    assert "has `compute`, which reads its tables itself" in departure


def test_what_reads_its_tables_itself_hands_them_on(repository: Callable[[str], Path], run_spec: Run) -> None:
    root = repository("driven")
    for path in (root / "src/shop/views").glob("*s*.py"):
        text = path.read_text(encoding="utf-8").replace("tables: dict[str, DataFrame], ", "spark: SparkSession, ")
        text = text.replace('tables["', 'self.table(spark, "').replace('"]', '")')
        text = re.sub(r"tables = \(.*\)", "orders: str", text).replace("DataFrame\n", "DataFrame, SparkSession\n", 1)
        path.write_text(text, encoding="utf-8")
    script, found = written(root, run_spec, parquet_view())
    assert "    redemptions: str\n    users: str\n" in script.text and not found.departures
    assert 'self.table(spark, "redemptions"), self.table(spark, "users"), cutoff\n' in script.text
    assert "def _compute_from_tables(redemptions: DataFrame, users: DataFrame, cutoff: date)" in script.text
    assert found.entry.kind == "driver" and not found.owner and "orders" not in script.text


JOB = """
\"\"\"What a job is about.\"\"\"

from run import main

VIEW = "stock_levels"


def run(settings_file: str, until: str) -> None:
    main(VIEW, settings_file, until)
"""


@pytest.mark.parametrize("alike", [True, False])
def test_scripts_that_only_name_their_queries_are_imitated(
    alike: bool, repository: Callable[[str], Path], run_spec: Run
) -> None:
    root, view = repository("found_queries"), parquet_view()
    (root / "jobs").mkdir()
    for name in ("stock_levels", "dock_visits"):
        text = JOB.lstrip().replace("stock_levels", name) + "main\n" * (not alike and name == "dock_visits")
        (root / "jobs" / f"{name}.py").write_text(text, encoding="utf-8")
    script, found = written(root, run_spec, view)
    assert (found.names_query, bool(found.departures)) == (alike, not alike)
    if alike:
        assert script.path == "jobs/user_offers.py" and 'VIEW = "user_offers"' in script.text
        assert found.query_path == "sql/{view}.sql" and ":until AS as_of" in query_of(view, found)
        call = run_call(found.entry, script.path, view, "s.yaml", datetime(2025, 3, 31, tzinfo=UTC))
        assert call.command[-1] == (
            "from jobs.user_offers import run; run('s.yaml', '2025-03-31T00:00:00+00:00')"
        )


def test_a_day_whose_end_is_the_cut_off_is_passed_as_that_day(
    repository: Callable[[str], Path], run_spec: Run
) -> None:
    root, view = repository("job_classes"), parquet_view()
    for path in (root / "README.md", root / "rentlib/run.py"):
        text = path.read_text(encoding="utf-8").replace("--as-of", "--day")
        path.write_text(text.replace(".as_of", ".day + timedelta(days=1)"), encoding="utf-8")
    script, found = written(root, run_spec, view)
    call = run_call(found.entry, script.path, view, "", datetime(2025, 3, 31, tzinfo=UTC))
    assert call.command[-2:] == ("--day", "2025-03-30")


def test_docstrings_have_the_form_of_the_readme_without_neighbours_too(
    repository: Callable[[str], Path], run_spec: Run
) -> None:
    root = repository("empty")
    (root / "README.md").write_text("- All functions have Google docstrings.\n", encoding="utf-8")
    script, _ = written(root, run_spec, parquet_view())
    assert "    Args:\n        spark: The Spark session.\n        config: The configuration of" in script.text
    assert '    Args:\n        argv: The arguments of the command line.\n    """' in script.text


def test_rules_name_classes_and_arguments(repository: Callable[[str], Path], run_spec: Run) -> None:
    root, view = repository("scheduled"), parquet_view()
    with (root / "README.md").open("a", encoding="utf-8") as readme:
        readme.write(
            "\n- Every function has a one-line docstring.\n- Docstrings are imperative.\n- Import `Window as W`.\n"
            "- Import `functions as F`.\n"
            "- Docstrings are in numpy style.\n"
            "- Tests of a view are one class `Test<View>`.\n"
            '- Never `select("*")`, nor `count()` of a frame.\n- Common table expressions instead of subqueries.\n'
        )
    script, conventions = written(root, run_spec, view)
    assert conventions.style.imports["pyspark.sql.Window"] == "W"
    assert "    Returns\n    -------\n" in script.text and "F.count" in script.text
    files = DeliveredFiles(script.text, script.path, "", "", "", conventions, view.name)
    reports = rule_reports(files)
    statuses = {one.rule.strip("."): one.status for one in reports}
    assert statuses["Every function has a one-line docstring"] == "not followed"
    assert statuses["Docstrings are imperative"] == "not checkable"
    assert statuses["Import `Window as W`"] == statuses["Import `functions as F`"] == "followed"
    other = rule_reports(replace(files, script=script.text.replace("functions as F", "functions as f")))
    assert {one.rule: one.status for one in other}["Import `functions as F`."] == "not followed"
    (how, test), (_, calls), (_, prose) = [(one.how, one.status) for one in reports[-3:]]
    assert (test, calls, prose) == ("not followed", "followed", "not checkable")
    assert how == "not so: `TestUserOffers` is not found"


CONFIGS = {
    "baskets": {"inputs": {"redemptions": "redemptions", "users": "users"}, "output": "out"},
    "scheduled": {
        "tables": {name: {"path": name, "format": "parquet"} for name in ("redemptions", "users")},
        "target": "out",
    },
    "driven": {"target": "out", "inputs": {"redemptions": "redemptions", "users": "users"}},
    "queries": {"inputs": {"redemptions": "redemptions", "users": "users"}, "output": "out"},
    "decorated": {"view": "user_offers", "table": "redemptions", "key": "user_id", "target": "out"},
    "found_queries": {"inputs": {"redemptions": "redemptions", "users": "users"}, "output": "out"},
    "named": {"inputs": {"redemptions": "redemptions", "users": "users"}, "target": "out"},
    "job_classes": {
        "view": "user_offers",
        "owner": "growth",
        "tables": {name: {"path": name} for name in ("redemptions", "users")},
        "target": "out",
    },
}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_teams_usual_call_runs(
    name: str, repository: Callable[[str], Path], run_spec: Run, warm_spark: WarmSpark
) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    root, view = repository(name), parquet_view(**OF_VIEWS.get(name, {}))
    script, conventions = written(root, run_spec, view)
    for file in (script, *beside(conventions, view)):
        (root / file.path).write_text(file.text, encoding="utf-8")
    config = conventions.config_path.replace("{view}", view.name)
    (root / config).write_text(document_text(config, CONFIGS[name]), encoding="utf-8")
    at = datetime(2025, 3, 29, tzinfo=UTC)
    moment = pa.array([at, at], pa.timestamp("us", "UTC"))
    (root / "redemptions").mkdir()
    columns = {"id": [1, 2], "user_id": [7, 7], "amount": [1.5, 2.0], "redeemed_at": moment, "loaded_at": moment}
    pq.write_table(pa.table({**columns, "day": [at.date()] * 2}), root / "redemptions/part.parquet")
    (root / "users").mkdir()
    pq.write_table(pa.table({"user_id": [7], "country": ["PT"]}), root / "users/part.parquet")
    call = run_call(conventions.entry, script.path, view, config, datetime(2025, 3, 31, tzinfo=UTC))
    harness = ConnectHarness(warm_spark)
    done = harness.run_main(root / call.path, call.arguments, function=call.function, few_rows=True, root=root)
    assert done.ok, (done, script.text)
    (row,) = ds.dataset(root / "out", exclude_invalid_files=True).to_table().to_pylist()
    right = {"user_id": 7, "redemptions_30d": 2, "amount_7d": 3.5, "country": "PT", "redeemed_90d": 2, "share": 1.0}
    assert set(view.output) <= {*row} and {name: row[name] for name in right if name in row}.items() <= right.items()
