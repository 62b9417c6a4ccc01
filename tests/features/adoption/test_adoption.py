"""Drafts of specifications: of scripts whose specification is known, and of one written by hand."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark_scripts import script

from palmette.cli.features import fsc
from palmette.errors import UserError
from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.oracle import differences, expected
from palmette.features.spec.resolve import load_view
from palmette.features.specification_draft import draft_of

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[3] / "examples"
UNREAD = {
    "user_card_transactions": {"merchant_by_amount_90d", "merchant_recent"},
    "user_category_interactions": {"favourite_partners_90d"},
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/specs/*.yaml")), ids=lambda path: path.stem)
def test_the_draft_of_a_generated_script_computes_the_same(path: Path, tmp_path: Path) -> None:
    registry = path.parents[1] / "registry.yaml"
    view = load_view(path, registry)
    (tmp_path / f"{view.name}.py").write_text(script(view), encoding="utf-8")
    made = draft_of(tmp_path / f"{view.name}.py", registry)
    (tmp_path / "drafted.yaml").write_text(made.text, encoding="utf-8")
    drafted = load_view(tmp_path / "drafted.yaml", registry)
    assert set(view.output) - set(drafted.output) == UNREAD.get(view.name, set())
    for scenario in scenarios(view)[:6]:
        wanted, got = (expected(one, scenario.frames, scenario.as_of) for one in (view, drafted))
        rows = tuple({name: row[name] for name in drafted.output} for row in wanted.rows)
        assert differences(Frame(drafted.output, rows), Frame(drafted.output, got.rows), drafted) == ()


def test_a_script_by_hand(tmp_path: Path) -> None:
    made = draft_of(HERE / "buyer_stats.py", HERE / "registry.yaml")
    features = {one["name"]: one for one in made.spec["features"]}
    paid = {"function": "count", "source": "orders", "where": "status <> 'test' AND status = 'paid'", "window": "30d"}
    assert features["paid_30d"]["aggregate"] == paid
    assert features["trend"]["derive"] == "spent_7d / spent_30d"
    assert features["last_amount"]["expression"]["sql"] == "max_by(amount, struct(ordered_at, order_id))"
    assert made.spec["spine"] == {"table": "buyers", "keep": ["country"]}
    edge, unordered, order = made.notes
    assert "at the cut-off itself" in edge.text
    assert unordered.text.startswith("any_status: ") and "in the order: keys" in order.text


def test_a_script_may_lie_in_a_folder_that_holds_no_code_of_people(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "build").mkdir()
    script, registry = tmp_path / "build" / "buyer_stats.py", HERE / "registry.yaml"
    script.write_text((HERE / "buyer_stats.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert draft_of(script, registry).spec == draft_of(HERE / "buyer_stats.py", registry).spec


STATEMENT = (
    """from functools import reduce
from pyspark.sql import functions as F

SQL = """
    + "'''"
    + """
WITH known AS (SELECT * FROM orders o WHERE o.ordered_at < TIMESTAMP '{cutoff}' AND buyer_id IS NOT NULL)
SELECT buyer_id, TIMESTAMP '{cutoff}' AS as_of, SUM(amount) AS spent, MAX(amount) AS most FROM known GROUP BY buyer_id
"""
    + "'''"
    + """

def build(spark, orders, as_of):
    orders.createOrReplaceTempView("orders")
    base = spark.sql(SQL.format(cutoff=as_of)).withColumn("share", F.col("most") / F.col("spent"))
    names = ["spent", "most"]
    return reduce(lambda frame, name: frame.na.fill({name: 0.0}), names, base)
"""
)


TWO_BOUNDS = """
from datetime import timedelta
from pyspark.sql import functions as F

def within(as_of, days):
    return (F.col("ordered_at") >= F.lit(as_of - timedelta(days=days))) & (F.col("ordered_at") < F.lit(as_of))

def build(orders, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    counted = known.groupBy("buyer_id").agg(F.count_if(within(as_of, 7)).alias("orders_7d"))
    return counted.select("buyer_id", F.lit(as_of).alias("as_of"), "orders_7d")
"""

TWICE = """
from pyspark.sql import Window
from pyspark.sql import functions as F

def build(orders, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    orders_of = Window.partitionBy("buyer_id").orderBy("ordered_at", "order_id")
    micros = F.unix_micros("ordered_at")
    paused = known.withColumn("pause", (micros - F.lag(micros).over(orders_of)) / 3_600_000_000)
    keys = known.select("buyer_id").distinct()
    spent = known.groupBy("buyer_id").agg(F.sum("amount").alias("spent"))
    most = paused.groupBy("buyer_id").agg(F.max("pause").alias("most"))
    return keys.join(spent, "buyer_id", "left").join(most, "buyer_id", "left")
"""


def test_a_source_with_more_columns_has_the_same_keys(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(TWICE, encoding="utf-8")
    made = draft_of(tmp_path / "twice.py", HERE / "registry.yaml")
    assert [one["table"] for one in made.spec["sources"]] == ["orders"]
    assert not [note.text for note in made.notes if "alone are missing" in note.text]


def test_an_upper_bound_that_every_row_keeps_is_no_condition(tmp_path: Path) -> None:
    """A helper for windows with two bounds, over rows that were known at the cut-off."""
    path = tmp_path / "twice.py"
    path.write_text(TWO_BOUNDS, encoding="utf-8")
    made = draft_of(path, HERE / "registry.yaml")
    (feature,) = made.spec["features"]
    assert feature["aggregate"] == {"function": "count", "source": "orders", "window": "7d"} and not made.notes


def test_a_query_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "spend.sql").write_text(
        "SELECT buyer_id, SUM(amount) AS spent_7d\nFROM orders WHERE ordered_at < :cutoff\n"
        "    AND ordered_at >= :cutoff - INTERVAL 7 DAYS GROUP BY buyer_id"
    )
    made = draft_of(tmp_path / "spend.sql", HERE / "registry.yaml")
    assert made.spec["features"][0]["aggregate"] == {
        "function": "sum", "of": "amount", "source": "orders", "window": "7d"
    }  # fmt: skip
    assert made.spec["output"] == {"as_of": False}
    (tmp_path / "spend.sql").write_text("DELETE FROM orders")
    with pytest.raises(UserError, match=r"spend.sql:1: a statement other than a SELECT"):
        draft_of(tmp_path / "spend.sql", HERE / "registry.yaml")


NEGATIVE = """
from pyspark.sql import functions as F

def build(orders, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    return known.groupBy("buyer_id").agg(F.max("amount").alias("most")).fillna({"most": -1})
"""


def test_a_default_may_be_negative(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(NEGATIVE, encoding="utf-8")
    made = draft_of(tmp_path / "job.py", HERE / "registry.yaml")
    assert made.spec["features"][0]["default"] == -1 and not made.notes


def test_a_statement_over_a_temporary_view(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(STATEMENT, encoding="utf-8")
    made = draft_of(tmp_path / "job.py", HERE / "registry.yaml")
    features = {one["name"]: one for one in made.spec["features"]}
    assert features["spent"]["aggregate"] == {"function": "sum", "of": "amount", "source": "orders"}
    assert features["spent"]["default"] == 0.0 and "default" not in features["spent_value"]
    assert features["share"]["derive"] == "most_value / spent_value"
    assert "sources" not in made.spec and made.notes == ()


UNUSUAL = """
from pyspark.sql import functions as F

def build(orders, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    found = known.groupBy("buyer_id").agg(
        F.max("status").alias("status"),
        F.nullif(F.sort_array(F.collect_list("amount")), F.array()).alias("amounts"),
        F.percentile_approx("amount", [0.5, 0.9]).alias("middle"),
        F.count("*").alias("n"),
    )
    return found.select("buyer_id", F.col("status").cast("varchar(10)").alias("status"), "amounts", "middle", "n")
"""


def test_unusual_columns_do_not_hinder_the_others(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(UNUSUAL, encoding="utf-8")
    made = draft_of(tmp_path / "job.py", HERE / "registry.yaml")
    features = {one["name"]: one for one in made.spec["features"]}
    assert "status: varchar(10) is not a type of a specification" in [note.text for note in made.notes]
    assert "status" not in features and features["n"]["aggregate"]["function"] == "count"
    assert not any(one.get("aggregate", {}).get("p", 1) is None for one in features.values())


def test_the_command_writes_a_draft_and_names_the_check(tmp_path: Path) -> None:
    job, registry = EXAMPLES / "cdnow/repository/jobs/customer_value.py", EXAMPLES / "cdnow/registry.yaml"
    arguments = ["from", str(job), "--dfr", str(registry), "--to", str(tmp_path / "made.yaml")]
    done = CliRunner().invoke(fsc, arguments, catch_exceptions=False)
    assert done.output.startswith("Read build() of customer_value.py: 3 features. Wrote ")
    assert "Next: palmette check " in done.output
    assert (
        load_view(tmp_path / "made.yaml", registry).features[-1].derive == "CASE WHEN cds <> 0 THEN dollars / cds END"
    )


TWO_TOTALS = """
def build(spark, orders, as_of):
    orders.createOrReplaceTempView("orders")
    return spark.sql(
        'WITH a AS (SELECT buyer_id, SUM(amount) AS total FROM orders GROUP BY buyer_id), '
        'b AS (SELECT buyer_id, COUNT(*) AS total FROM orders GROUP BY buyer_id) '
        'SELECT buyer_id, b.total AS n FROM a JOIN b USING (buyer_id)'
    )
"""


def test_a_column_of_both_sides_of_a_join_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(TWO_TOTALS, encoding="utf-8")
    with pytest.raises(UserError, match="'total' is a column of both sides of a join"):
        draft_of(tmp_path / "job.py", HERE / "registry.yaml")


def test_a_script_that_returns_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "def build(orders, as_of):\n    return orders.crosstab('a', 'b')\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match=r"job.py:2: the method crosstab of a data frame is not understood"):
        draft_of(tmp_path / "job.py", HERE / "registry.yaml")


ANTI = """
from pyspark.sql import functions as F

def build(orders, buyers, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    return known.join(buyers, "buyer_id", "left_anti").groupBy("buyer_id").agg(F.count("*").alias("orders"))
"""
ANTI_SQL = (
    "SELECT buyer_id, COUNT(*) AS n FROM orders LEFT ANTI JOIN buyers USING (buyer_id) "
    "WHERE ordered_at < :cutoff GROUP BY buyer_id"
)


@pytest.mark.parametrize(("name", "text"), [("job.py", ANTI), ("job.sql", ANTI_SQL)])
def test_a_join_that_drops_rows_with_a_partner_is_not_read_as_one_that_keeps_them(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="a join of kind 'leftanti' is not understood"):
        draft_of(tmp_path / name, HERE / "registry.yaml")


OLDEST_OF_THE_NEWEST = """
from pyspark.sql import Window, functions as F

def build(orders, buyers, as_of):
    known = orders.where((F.col("ordered_at") < F.lit(as_of)) & F.col("buyer_id").isNotNull())
    order = Window.partitionBy("buyer_id").orderBy(F.col("ordered_at").desc(), F.col("order_id"))
    newest = known.withColumn("rn", F.row_number().over(order)).where("rn = 1")
    return newest.select("buyer_id", "amount")
"""


def test_an_order_in_two_directions_is_not_read_as_the_newest_row(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(OLDEST_OF_THE_NEWEST, encoding="utf-8")
    with pytest.raises(UserError, match="a condition on a window function is not understood"):
        draft_of(tmp_path / "job.py", HERE / "registry.yaml")
