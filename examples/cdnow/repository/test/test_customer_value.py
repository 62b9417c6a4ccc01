from datetime import date, datetime, timezone
from decimal import Decimal

from pyspark.testing import assertDataFrameEqual

from jobs.customer_value import build

CUTOFF = datetime(1998, 1, 1, tzinfo=timezone.utc)
PURCHASES = "customer_id bigint, date date, cds int, dollars decimal(10,2)"
RESULT = (
    "customer_id bigint, as_of timestamp, purchases bigint, dollars decimal(18,2), "
    "dollars_per_record double"
)


def test_the_year_before_the_cutoff(spark):
    rows = [
        (1, date(1997, 1, 1), 2, Decimal("20.00")),
        (1, date(1997, 12, 31), 1, Decimal("10.00")),
        (1, date(1998, 1, 1), 1, Decimal("99.00")),
        (2, date(1996, 12, 31), 1, Decimal("10.00")),
        (3, date(1997, 6, 1), 0, Decimal("5.00")),
    ]
    result = build(spark.createDataFrame(rows, PURCHASES), CUTOFF)
    expected = [
        (1, CUTOFF, 2, Decimal("30.00"), 10.0),
        (3, CUTOFF, 1, Decimal("5.00"), None),
    ]
    assertDataFrameEqual(result, spark.createDataFrame(expected, RESULT))
