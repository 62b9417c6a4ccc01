"""The tasks are what the published tables say; their files say the same in expressions and in words."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from palmette.documents import read_document
from palmette.errors import UserError
from palmette.features.harness.connect import ConnectHarness, MainResult
from palmette.features.harness.jobs import TOO_LATE
from palmette.features.samples import read_sample, sample_of
from palmette.features.spec.dfr import Registry
from palmette.sandbox import ExecutionResult, Sandbox, WarmSpark
from palmette_bench.featbench.audit import audit, meant, static
from palmette_bench.featbench.differences import differences
from palmette_bench.featbench.hidden import HiddenTables, outcome
from palmette_bench.featbench.operations import count
from palmette_bench.featbench.suite import WORLD, BenchTask, prepare, task, tasks
from palmette_bench.featbench.world.tables import write_tables

KINDS = ("filter", "compute", "replace", "aggregate", "convert", "categorize", "extract")
PUBLISHED = {
    "tp_ofr_ftrs": (5, 9, 2, 2, 3, 2, 2),
    "usr_ofr_intr_ftrs_agg": (2, 5, 0, 2, 1, 1, 1),
    "usr_ofr_intr_ftrs": (3, 8, 1, 1, 4, 1, 1),
    "usr_ofr_rdm_agg_ftrs": (1, 5, 0, 2, 4, 0, 1),
    "usr_ofr_rdm_ftrs": (0, 3, 0, 1, 3, 0, 0),
    "card_txn": (3, 10, 0, 3, 0, 7, 0),
    "dda_txn": (1, 7, 0, 3, 2, 3, 0),
    "ofr_intr_mrch_fasttext_emb_ftrs_agg": (3, 6, 0, 3, 1, 0, 0),
    "usr_card_txn_fasttext_ftrs_agg": (0, 5, 0, 3, 0, 0, 1),
    "usr_dda_txn_fasttext_ftrs_agg": (2, 5, 0, 3, 0, 0, 1),
}
"""Table 5 of the paper, under its names there."""
NUMBERS = {"usr_ofr_catg_intr": 2, "card_txn_features": 6, "dda_txn_features": 7}
"""Of table 3, where the names differ."""
PAPER, OPEN = ([one for one in tasks() if one.description.origin == origin] for origin in ("paper", "open"))


@pytest.mark.parametrize("name", PUBLISHED)
def test_gold_has_the_published_operations(name: str) -> None:
    one = task(name)
    assert count(one.gold()[one.script]) == Counter(dict(zip(KINDS, PUBLISHED[name], strict=True)))


def test_the_published_names_are_known() -> None:
    assert sorted(one.description.number for one in PAPER) == [*range(1, 11)]
    assert {task(name).name for name in PUBLISHED} == {one.name for one in PAPER}
    assert {name: task(name).description.number for name in NUMBERS} == NUMBERS
    with pytest.raises(UserError, match="Did you mean 'card_txn'"):
        task("card_tx")


def test_open_tasks_have_numbers_of_their_own_and_three_difficulties() -> None:
    assert [one.description.number for one in OPEN] == [*range(11, 11 + len(OPEN))]
    assert {one.description.difficulty for one in OPEN} == {"easy", "medium", "hard"}


@pytest.mark.parametrize("one", tasks(), ids=lambda one: one.name)
def test_words_and_expressions_mean_the_same(one: BenchTask) -> None:
    assert list(static(one)) == []
    assert len(one.description.words) >= 5


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all tables."""
    folder = tmp_path_factory.mktemp("small")
    write_tables(folder / "tables", rows=500, seed=1)
    return folder


@pytest.mark.parametrize("one", tasks(), ids=lambda one: one.name)
def test_the_specification_means_what_the_sql_says(one: BenchTask, small: Path) -> None:
    assert list(meant(one, small)) == []


@pytest.mark.parametrize("one", tasks(), ids=lambda one: one.name)
def test_the_reference_page_lists_the_task_by_difficulty(one: BenchTask) -> None:
    page = (Path(__file__).parents[3] / "docs/reference/featbench.md").read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith(f"- {one.description.difficulty}: "))
    link = f"[{one.name}](../../benchmarks/palmette_bench/featbench/tasks/{one.name}/card.md)"
    assert f"{one.description.number} {link}" in line


@pytest.mark.parametrize(("script", "kind", "number"), [
    ("d.filter('a').where(F.col('b') > 1)", "filter", 2),
    ("d.select(F.filter('xs', f))", "filter", 0),
    ("d.withColumn('a', x).withColumns({'b': x, 'c': y})", "compute", 3),
    ("d.select('d', F.sum(x).alias('e'), F.col('f').alias('g'))", "compute", 1),
    ("d.replace({'a': 'b'}).na.fill(0).fillna(1).select(F.regexp_replace('a', 'b', 'c'))", "replace", 4),
    ("at = at.replace(tzinfo=UTC)", "replace", 0),
    ("d.groupBy('a').agg(F.sum('b'), F.avg('c')).groupBy().count()", "aggregate", 2),
    ("d.select(F.col('a').cast('int'), F.to_date('b'), F.col('c').try_cast('date'))", "convert", 3),
    ("F.when(a, 1).when(b, 2).otherwise(3)", "categorize", 2),
    ("F.split('a', '/')[0] + F.split_part('a', x, y) + F.hour('t')", "extract", 3),
    ("from pyspark.sql.functions import to_date as day, when\nday('a'), when(b, 1)", "convert", 1),
])  # fmt: skip
def test_operations(script: str, kind: str, number: int) -> None:
    counted = count(f"from pyspark.sql import functions as F\n{script}")
    assert counted[kind] == number


def test_tables_are_those_of_the_registry(tmp_path: Path) -> None:
    one = task("usr_tier_rdm_ftrs")
    prepare(one, tmp_path, rows=300, seed=3)
    for table in read_document(WORLD / "registry.yaml", Registry).tables:
        sample = sample_of(table, tmp_path)
        assert sample is not None, table.name
        frame = read_sample(sample)
        for column in table.columns:
            found = [row[column.name] for row in frame.rows]
            assert column.nullable or None not in found, column.name
            assert not column.values or {*found} <= {*column.values, None}, column.name
    names = [file.name for file in tmp_path.rglob("*") if file.is_file()]
    assert not {"expected.sql", "gold.py", f"{one.name}.yml"} & {*names}, "the gold stays away"


def test_the_same_seed_gives_the_same_task(tmp_path: Path) -> None:
    runs = [prepare(task("dda_txn"), tmp_path / name, 200, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    a, b, c = (pq.read_table(run.parent / "tables" / "account_transactions.parquet") for run in runs)
    assert a.equals(b) and not a.equals(c)
    first, second, _ = ((run.parent / "repository/.git/refs/heads/main").read_text(encoding="utf-8") for run in runs)
    assert first == second


def test_the_gold_is_right_and_a_late_row_too_many_is_seen(warm_spark: WarmSpark) -> None:
    one = task("usr_ofr_rdm_ftrs")
    assert audit(one, warm_spark, seeds=(1,), rows=300) == ()
    wrong = {path: text.replace('"loaded_at", days=90', "days=90") for path, text in one.gold().items()}
    assert "redemptions_90d" in " ".join(outcome(one, wrong, warm_spark, rows=800).differences)


def test_code_that_reaches_outside_is_not_run(warm_spark: WarmSpark) -> None:
    one = task("usr_ofr_rdm_ftrs")
    wrong = {path: text.replace("import argparse\n", "import argparse\nimport subprocess\n")
             for path, text in one.gold().items()}  # fmt: skip
    assert "subprocess" in " ".join(outcome(one, wrong, warm_spark, rows=100).differences)


@pytest.mark.parametrize(("ended", "code"), [("timeout", -9), ("exited", TOO_LATE)])
def test_a_script_that_does_not_end_is_not_measured(
    ended: str, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    late = {"exit_code": code, "stdout": "", "stderr": "", "seconds": 1, "ended": ended, "isolation": "none"}
    result = MainResult("TimeoutError: it ran longer than 600 s", "", ExecutionResult.model_validate(late))
    monkeypatch.setattr(ConnectHarness, "run_main", lambda *_, **__: result)
    one = task("usr_ofr_rdm_ftrs")
    found = HiddenTables(one, tmp_path, rows=50).outcome(
        one.gold(), cast(WarmSpark, SimpleNamespace(sandbox=Sandbox()))
    )
    assert found.differences == () and "longer than 600 s" in found.unmeasured


def test_differences_are_told() -> None:
    wanted = pa.table({"id": [1, 2, 3], "share": [0.5, 0.1 + 0.2, None], "vector": [[1.0], None, [2.0]]})
    same = wanted.set_column(1, "share", pa.array([0.5, 0.3, None]))
    assert differences(wanted, same, ["id"]) == ()
    other = same.set_column(2, "vector", pa.array([[1.0], [0.0], [2.1]])).slice(0, 2)
    assert differences(wanted, other, ["id"]) == ("rows of one side: 1 differ", "vector: 1 differ")
    (told,) = differences(wanted, same.drop_columns(["share"]), ["id"])
    assert told == "columns: expected ['share DOUBLE'], found no such column"
