"""A view that is put together by hand: no document, no resolver."""

import pytest

from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Entity, Feature, FeatureSpec
from palmette.features.spec.values import SparkType, TypeName, Window
from palmette.features.spec.view import View, ViewFeature, ViewSource


def column(name: str, kind: str) -> dict[str, str]:
    return {"name": name, "type": kind}


ORDERS = Table.model_validate(
    {
        "name": "orders",
        "kind": "event",
        "keys": ["order_id"],
        "event_time": "ordered_at",
        "available_time": "loaded_at",
        "path": "orders",
        "partitions": [{"column": "order_day", "of": "event_time"}],
        "columns": [
            column("order_id", "bigint"),
            column("customer_id", "bigint"),
            column("shop_id", "string"),
            column("ordered_at", "timestamp"),
            column("loaded_at", "timestamp"),
            column("amount", "double"),
            column("gross", "double"),
            column("channel", "string"),
            column("order_day", "date"),
        ],
    }
)
CUSTOMERS = Table.model_validate(
    {
        "name": "customers",
        "kind": "dimension",
        "keys": ["customer_id"],
        "path": "customers",
        "columns": [column("customer_id", "bigint"), column("country", "string"), column("churned", "boolean")],
    }
)


def schema(table: Table) -> dict[str, SparkType]:
    return {item.name: item.type.parsed for item in table.columns}


@pytest.fixture(scope="session")
def view() -> View:
    """Orders and amount of a customer in 30 days; partitioned by day; `customers.churned` is forbidden."""
    bigint, double = SparkType("bigint"), SparkType("double")
    count = Aggregate(function="count", source="orders", window=Window.parse("30d"), by=("customer_id",))
    total = count.model_copy(update={"function": "sum", "of": "amount"})
    features = (
        ViewFeature("orders_30d", bigint, False, 0, count, None, False, "", None),
        ViewFeature("amount_30d", double, True, None, total, None, False, "", None),
    )
    output = {
        "customer_id": bigint,
        "as_of": SparkType("timestamp"),
        "orders_30d": bigint,
        "amount_30d": double,
        "day": SparkType("date"),
    }
    spec = FeatureSpec(
        fsc=1,
        feature_view="activity",
        entities=(Entity(name="customer", keys=("customer_id",)),),
        features=tuple(Feature(name=f.name, dtype=TypeName(f.dtype), aggregate=f.computation) for f in features),
    )
    source = ViewSource("orders", ORDERS, (), (), schema(ORDERS))
    return View(
        name="activity",
        description="",
        owner="",
        grain={"customer_id": bigint},
        cutoff="run",
        zone="UTC",
        spine=None,
        kept={},
        sources=(source,),
        features=features,
        derivation_order=("orders_30d", "amount_30d"),
        partition="day",
        table_name="activity",
        forbidden=("customers.churned",),
        tests=(),
        tables={"orders": ORDERS, "customers": CUSTOMERS},
        output=output,
        lineage={"orders_30d": ("orders.customer_id", "orders.ordered_at"), "amount_30d": ("orders.amount",)},
        spec=spec,
    )
