import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark():
    builder = SparkSession.builder.master("local[1]").appName("test")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.shuffle.partitions", 1)
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()
