"""A small repository of a team: a utility, a script with main, a config class, tests with their own session."""

import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from palmette.features.frame import Frame
from palmette.features.harness.connect import ScriptCase
from palmette.features.spec.values import SparkType

AS_OF = datetime(2024, 2, 1, tzinfo=UTC)

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/features/__init__.py": "",
    "src/shop/util.py": """
        from pyspark.sql import Column, SparkSession
        from pyspark.sql import functions as F


        def ratio(a: Column, b: Column) -> Column:
            return F.try_divide(a, b)


        def session(name: str) -> SparkSession:
            return (
                SparkSession.builder.appName(name)
                .master("local[4]")
                .config("spark.driver.memory", "4g")
                .config("spark.sql.session.timeZone", "UTC")
                .getOrCreate()
            )
        """,
    "src/shop/config.py": """
        from pydantic import BaseModel


        class SpendConfig(BaseModel):
            days: int
        """,
    "conf/spend.yaml": "days: 10\n",
    "src/shop/features/spend.py": """
        import argparse
        from datetime import datetime

        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        from shop.util import ratio, session


        def build(orders: DataFrame, users: DataFrame, as_of: datetime) -> DataFrame:
            seen = orders.where(F.col("ts") < F.lit(as_of))
            spent = seen.groupBy("user_id").agg(F.count(F.lit(1)).alias("n"), F.sum("amount").alias("total"))
            return users.join(spent, "user_id", "left").select(
                "user_id",
                F.coalesce("n", F.lit(0)).alias("n"),
                ratio(F.col("total"), F.col("n")).alias("average"),
            )


        def main() -> None:
            parser = argparse.ArgumentParser()
            parser.add_argument("--as-of", required=True)
            parser.add_argument("--out", required=True)
            options = parser.parse_args()
            spark = session("spend")
            spark.sparkContext.setLogLevel("ERROR")
            users = spark.read.parquet("data/users")
            orders = spark.createDataFrame([], "user_id string, ts timestamp, amount double")
            build(orders, users, datetime.fromisoformat(options.as_of)).write.parquet(options.out)
            print("score: 100 %")
            spark.stop()


        if __name__ == "__main__":
            main()
        """,
    "tests/conftest.py": """
        import pytest
        from pyspark.sql import SparkSession


        @pytest.fixture(scope="session")
        def spark():
            session = SparkSession.builder.master("local[1]").appName("tests").getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
            yield session
            session.stop()
        """,
    "tests/test_spend.py": """
        from datetime import datetime, timezone

        import pytest
        from pyspark.testing import assertDataFrameEqual

        from shop.features.spend import build

        AS_OF = datetime(2024, 2, 1, tzinfo=timezone.utc)
        ORDERS = "user_id string, ts timestamp, amount double"


        def built(spark, orders):
            users = spark.createDataFrame([("a",)], "user_id string")
            return build(spark.createDataFrame(orders, ORDERS), users, AS_OF).select("user_id", "n")


        @pytest.mark.parametrize("day, n", [(31, 1), (1, 1)])
        def test_counts(spark, day, n):
            orders = [("a", datetime(2024, 1, day, tzinfo=timezone.utc), 2.0)]
            expected = spark.createDataFrame([("a", n)], "user_id string, n bigint")
            assertDataFrameEqual(built(spark, orders), expected)


        def test_nothing(spark):
            assert built(spark, []).collect()[0].n == 0
        """,
}


def frame(schema: dict[str, str], *rows: tuple[object, ...]) -> Frame:
    types = {name: SparkType.parse(text) for name, text in schema.items()}
    return Frame.of(types, [dict(zip(schema, row, strict=True)) for row in rows])


ORDERS = frame(
    {"user_id": "string", "ts": "timestamp", "amount": "double"},
    ("a", datetime(2024, 1, 20, tzinfo=UTC), 3.0),
    ("a", datetime(2024, 1, 21, tzinfo=UTC), 5.0),
    ("a", AS_OF, 100.0),
)
USERS = frame({"user_id": "string"}, ("a",), ("b",))


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """The repository's folder."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def script(team: Path) -> Path:
    return team / "src" / "shop" / "features" / "spend.py"


@pytest.fixture
def orders() -> Frame:
    return ORDERS


@pytest.fixture
def users() -> Frame:
    return USERS


@pytest.fixture
def case() -> Callable[..., ScriptCase]:
    """Makes a case on the orders and users."""

    def make(name: str = "case", **changes: object) -> ScriptCase:
        fields: dict[str, object] = {"frames": {"orders": ORDERS, "users": USERS}, "as_of": AS_OF, **changes}
        return ScriptCase(name, **fields)

    return make
