"""What a valid specification resolves to, and that no document breaks the resolution."""

import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette._yaml import parse_yaml
from palmette.documents import parse_document, read_document
from palmette.errors import InputError
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import Aggregate, FeatureSpec, Lookup
from palmette.features.spec.literals import to_python
from palmette.features.spec.resolve import load_view, resolve
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

CASES = Path(__file__).with_name("cases")
REGISTRY = read_document(CASES / "registry.yaml", Registry)
BASE = parse_yaml((CASES / "base.yaml").read_text("utf-8")).value
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def view() -> View:
    return load_view(CASES / "base.yaml", CASES / "registry.yaml")


def small(features: str, head: str = "") -> View:
    """A view of users over the registry of the cases."""
    text = f"fsc: 1\nfeature_view: v\n{head or 'entities: [{name: user, keys: [user_id]}]'}\nfeatures:\n{features}"
    return resolve(parse_document(text, FeatureSpec, "fsc"), REGISTRY)


def aggregate_of(view: View, name: str) -> Aggregate:
    computation = view.feature(name).computation
    assert isinstance(computation, Aggregate)
    return computation


def test_output(view: View) -> None:
    assert {name: str(kind) for name, kind in view.output.items()} == {
        "user_id": "bigint",
        "shop_id": "int",
        "as_of": "timestamp",
        "orders_30d": "bigint",
        "amount_sum": "decimal(22,2)",
        "last_channel": "string",
        "per_city_small": "bigint",
        "per_city_large": "bigint",
        "per_city_other": "bigint",
        "clicks_12h": "bigint",
        "spread": "double",
        "tier": "string",
        "ratio": "double",
    }
    assert view.table_name == "user_shop"
    assert set(view.tables) == {"orders", "shops", "clicks", "tiers"}


def test_source_is_split_where_steps_look_at_other_events(view: View) -> None:
    orders = view.source("orders")
    assert (len(orders.early), len(orders.late)) == (7, 1)
    assert orders.late_by == ("user_id", "shop_id")
    assert {name: str(orders.schema[name]) for name in ("net", "city", "hour", "note", "size", "days_between")} == {
        "net": "double",
        "city": "string",
        "hour": "int",
        "note": "int",
        "size": "string",
        "days_between": "double",
    }
    assert str(orders.table.column_types["note"]) == "string"
    assert [source.name for source in view.sources] == ["orders", "browsing"]


def test_defaults_are_filled_in(view: View) -> None:
    assert aggregate_of(view, "orders_30d").by == ("user_id", "shop_id")
    assert aggregate_of(view, "last_channel").order == ("ordered_at", "order_id")
    lookup = view.feature("tier").computation
    assert isinstance(lookup, Lookup)
    assert lookup.on == {"user_id": "user_id"}
    assert view.feature("orders_30d").default == 0


def test_categories_become_features(view: View) -> None:
    assert aggregate_of(view, "per_city_small").where == "size = 'small'"
    assert aggregate_of(view, "per_city_other").where == "size IS NULL OR size NOT IN ('small', 'large')"
    assert aggregate_of(view, "per_city_small").categories is None


def test_lineage_goes_through_steps_joins_and_derivations(view: View) -> None:
    rows = {"orders.amount", "orders.ordered_at", "orders.loaded_at"}
    assert set(view.lineage["orders_30d"]) == rows
    assert set(view.lineage["last_channel"]) == {*rows, "orders.channel", "orders.order_id"}
    assert set(view.lineage["tier"]) == {"tiers.tier", "tiers.valid_from", "tiers.valid_to"}
    assert set(view.lineage["ratio"]) == {*rows, "clicks.page", "clicks.clicked_ms"}


def test_derivations_come_after_their_inputs() -> None:
    view = small("""
  - {name: c, dtype: double, derive: a + b}
  - {name: b, dtype: double, derive: a * 2}
  - {name: a, dtype: bigint, internal: true, aggregate: {function: count, source: orders}}
""")
    order = view.derivation_order
    assert order.index("a") < order.index("b") < order.index("c")
    assert list(view.output) == ["user_id", "as_of", "c", "b"]


def test_tables_are_sources_without_being_declared() -> None:
    view = small("  - {name: a, dtype: bigint, aggregate: {function: count, source: clicks, window: 2d}}\n")
    assert view.source("clicks").table.name == "clicks"
    assert view.source("clicks").early == ()


def test_an_explicit_order_is_taken_as_it_is() -> None:
    view = small(
        "  - name: a\n    dtype: string\n"
        "    aggregate: {function: first, of: note, source: orders, order: [amount desc, order_id]}\n"
    )
    assert aggregate_of(view, "a").order == ("amount desc", "order_id")


def test_spine_and_partition() -> None:
    view = small(
        "  - {name: a, dtype: bigint, aggregate: {function: count, source: orders}}\n",
        "entities: [{name: user, keys: [user_id]}]\ntime: {cutoff: spine}\n"
        "spine: {table: decisions, cutoff: decided_at, keep: [decision_id, accepted]}\noutput: {partition: day}",
    )
    assert list(view.output) == ["user_id", "decision_id", "accepted", "as_of", "a", "day"]
    assert view.output["day"] == SparkType("date")
    assert "decisions" in view.tables


def test_decimals_have_up_to_38_digits() -> None:
    assert to_python("12345678901.5", SparkType.parse("decimal(38,18)")) == Decimal("12345678901.5")
    with pytest.raises(ValueError, match="does not fit"):
        to_python("1234567890123456789012345678.12345678901", SparkType.parse("decimal(38,10)"))


@pytest.mark.parametrize(
    ("dtype", "default", "value"),
    [
        ("bigint", "0", 0),
        ("double", "1", 1.0),
        ("boolean", "false", False),
        ("string", "none", "none"),
        ("array<double>", "[0, 0.5]", (0.0, 0.5)),
    ],
)
def test_defaults_are_values_of_the_dtype(dtype: str, default: str, value: object) -> None:
    function = {
        "bigint": "count",
        "double": "avg, of: discount",
        "boolean": "exists",
        "string": "last, of: channel",
        "array<double>": "vector_mean, of: embedding",
    }[dtype]
    view = small(
        f"  - {{name: a, dtype: {dtype}, nullable: false, default: {default}, "
        f"aggregate: {{function: {function}, source: orders}}}}\n"
    )
    assert view.feature("a").default == value
    assert type(view.feature("a").default) is type(value)


@pytest.mark.parametrize(
    "derive", ["coalesce(b, 0)", "a + 1", "if(b is null, 1, a)", "case when a > 1 then 1 else 0 end", "abs(-a)"]
)
def test_derivations_that_cannot_be_null(derive: str) -> None:
    view = small(f"""
  - {{name: c, dtype: double, nullable: false, derive: "{derive}"}}
  - {{name: a, dtype: bigint, aggregate: {{function: count, source: orders}}}}
  - {{name: b, dtype: double, aggregate: {{function: avg, of: discount, source: orders}}}}
""")
    assert not view.feature("c").nullable


@pytest.mark.parametrize("fsc", sorted(EXAMPLES.glob("*/specs/*.yaml")), ids=lambda path: path.stem)
def test_examples_resolve_and_keep_through_json(fsc: Path) -> None:
    dfr = fsc.parents[1] / "registry.yaml"
    spec, registry = read_document(fsc, FeatureSpec), read_document(dfr, Registry)
    assert FeatureSpec.model_validate(spec.model_dump(mode="json")) == spec
    assert Registry.model_validate_json(registry.model_dump_json()) == registry
    assert resolve(spec, registry).output == load_view(fsc, dfr).output


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, item in items for place in places(item, (*path, key))]


ODD = st.sampled_from(
    [
        None,
        0,
        -1,
        1.5,
        True,
        "",
        "x",
        "amount",
        "orders",
        "user_id",
        "as_of",
        "1d",
        "all",
        "string",
        "count",
        [],
        {},
        ["x"],
        {"x": 1},
        "a > 1",
        "sum(amount)",
        "number of orders",
        "'",
        "2025-01-01T00:00:00Z",
        "array<int>",
    ]
)


@given(st.lists(st.tuples(st.sampled_from(places(BASE)), ODD, st.booleans()), min_size=1, max_size=3))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_edit_breaks_the_resolution(edits: list[tuple[tuple[str | int, ...], Any, bool]]) -> None:
    document = copy.deepcopy(BASE)
    for path, value, remove in edits:
        holder = document
        for key in path[:-1]:
            try:
                holder = holder[key]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(holder, dict) and remove:
                holder.pop(path[-1], None)
            elif isinstance(holder, dict) or (isinstance(holder, list) and path[-1] in range(len(holder))):
                holder[path[-1]] = value
    try:
        spec = FeatureSpec.model_validate(document)
    except ValueError:
        return
    try:
        view = resolve(spec, REGISTRY)
    except InputError as error:
        assert error.problems
    else:
        assert set(view.lineage) == {feature.name for feature in view.features}
