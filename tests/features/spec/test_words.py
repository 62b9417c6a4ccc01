"""Common phrasings are understood as exactly one computation; everything else is asked back."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.documents import Located, ProblemCollector, parse_document, read_document
from palmette.errors import InputError, Mistake
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import Feature, FeatureSpec
from palmette.features.spec.grain import resolve_grain
from palmette.features.spec.resolve import resolve
from palmette.features.spec.scope import ResolutionScope
from palmette.features.spec.sources import Sources
from palmette.features.spec.words import WordsContext, WordsReading, read_words
from palmette.features.spec.words_names import singular, tokens

CASES = Path(__file__).with_name("cases")
WORDS: list[dict[str, Any]] = yaml.safe_load((CASES / "words.yaml").read_text("utf-8"))
REGISTRY = read_document(CASES / "registry.yaml", Registry)
SPEC = """
fsc: 1
feature_view: view
entities:
  - {name: user, keys: [user_id]}
  - {name: shop, keys: [shop_id]}
sources: [{name: orders}]
features:
  - {name: orders_7d, dtype: bigint, aggregate: {function: count, source: orders, window: 7d}}
  - {name: orders_30d, dtype: bigint, aggregate: {function: count, source: orders, window: 30d}}
"""


@pytest.fixture(scope="module")
def context() -> WordsContext:
    return context_of(SPEC)


def context_of(text: str, registry: Registry = REGISTRY) -> WordsContext:
    spec = parse_document(text, FeatureSpec, "fsc")
    findings = ProblemCollector(Located(spec, "fsc", {}))
    scope = ResolutionScope(spec, registry, findings, resolve_grain(spec, registry, findings), "UTC")
    return WordsContext(scope, Sources(scope))


def plain(reading: WordsReading) -> dict[str, Any]:
    """The computation, without what was left out."""
    return {
        name: value if isinstance(value, str) else value.model_dump(mode="json", exclude_defaults=True)
        for name, value in reading.computation.items()
    }


def test_what_a_question_says_to_write_is_understood(context: WordsContext) -> None:
    words = "number of orders between 30 and 60 days ago"
    asked = read_words(Feature(name="wanted", dtype="bigint", words=words), context)
    assert isinstance(asked, Mistake)
    step, rows, _ = re.findall(r"`(.+?)`", asked.remedy)
    source = f"{{name: orders, steps: [{{{step.replace(' at)', ' ordered_at)')}}}]}}"
    mended = context_of(SPEC.replace("{name: orders}", source))
    reading = read_words(Feature(name="wanted", dtype="bigint", words=f"number of orders {rows}"), mended)
    assert isinstance(reading, WordsReading), reading
    where = "age_days BETWEEN 30 AND 60"
    assert plain(reading) == {"aggregate": {"function": "count", "source": "orders", "where": where}}


def test_keys_of_several_tables_are_not_offered_as_quantities() -> None:
    context = context_of(SPEC.replace("sources: [{name: orders}]\n", ""))
    asked = read_words(Feature(name="wanted", dtype="double", words="average shops per week"), context)
    assert isinstance(asked, Mistake) and "which quantity does 'shops' mean" in asked.message


@pytest.mark.parametrize("case", WORDS, ids=lambda case: case["words"])
def test_words(case: dict[str, Any], context: WordsContext) -> None:
    reading = read_words(Feature(name="wanted", dtype="double", words=case["words"]), context)
    if "reads" in case:
        assert isinstance(reading, WordsReading), reading
        assert plain(reading) == case["reads"]
        return
    assert isinstance(reading, Mistake), plain(reading)
    assert case["asks"] in reading.message
    assert reading.code in ("ambiguous-words", "unknown-words")
    if readings := case.get("readings"):
        assert reading.remedy.startswith(f"Write it as {' or as '.join(map(repr, readings))}, or write")


@pytest.mark.parametrize("case", [case for case in WORDS if "readings" in case], ids=lambda case: case["words"])
def test_every_offered_reading_is_understood(case: dict[str, Any], context: WordsContext) -> None:
    for words in case["readings"]:
        assert isinstance(read_words(Feature(name="wanted", dtype="double", words=words), context), WordsReading), words


def with_words(words: str, dtype: str = "bigint") -> FeatureSpec:
    return parse_document(f"{SPEC}  - {{name: wanted, dtype: {dtype}, words: {words!r}}}\n", FeatureSpec, "fsc")


def test_an_answer_takes_the_place_of_the_words() -> None:
    spec = with_words("number of orders in the last month")
    with pytest.raises(InputError) as raised:
        resolve(spec, REGISTRY)
    assert [problem.code for problem in raised.value.problems] == ["ambiguous-words"]
    view = resolve(spec, REGISTRY, answers={"wanted": "number of orders in the last 30 days"})
    assert str(view.feature("wanted").window) == "30d"
    assert view.feature("wanted").words == "number of orders in the last month"


def test_rows_of_another_source_are_a_step() -> None:
    view = resolve(with_words("number of orders whose user id is not in clicks before it"), REGISTRY)
    (step,) = view.source("orders_in_clicks_at_event").steps
    assert (step.member.table, step.member.on, step.member.at) == ("clicks", ("user_id",), "event")
    assert "clicks.user_id" in view.lineage["wanted"]


def test_helpers_are_internal_features() -> None:
    view = resolve(with_words("days since signup date", "int"), REGISTRY)
    helper = view.feature("wanted_signup_date")
    assert helper.internal
    assert "wanted_signup_date" not in view.output
    assert view.lineage["wanted"] == ("users.signup_date",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("the merchant_categories", ("merchant", "category")),
        ("Orders", ("order",)),
        ("orderIds", ("order", "id")),
        ("the", ("the",)),
    ],
)
def test_tokens(name: str, words: tuple[str, ...]) -> None:
    assert tokens(name) == words


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("purchases", "purchase"),
        ("categories", "category"),
        ("boxes", "box"),
        ("glass", "glass"),
        ("status", "status"),
        ("bus", "bus"),
        ("classes", "class"),
    ],
)
def test_singular(plural: str, one: str) -> None:
    assert singular(plural) == one


SALES = """
dfr: 1
tables:
  - name: transactions
    description: What households bought, a row for each product of a basket in a store, with its sales value.
    kind: event
    path: transactions.parquet
    keys: [line_id]
    event_time: sold_at
    columns:
      - {name: line_id, type: bigint}
      - {name: household_id, type: bigint}
      - {name: basket_id, type: bigint, description: The visit to a checkout.}
      - {name: store_id, type: bigint}
      - {name: product_id, type: bigint}
      - {name: sales_value, type: double, description: Price at the store.}
      - {name: sold_at, type: timestamp}
  - name: stores
    kind: dimension
    path: stores.parquet
    keys: [store_id]
    columns: [{name: store_id, type: bigint}, {name: city, type: string}]
"""
HOUSEHOLDS = """
fsc: 1
feature_view: view
entities: [{name: household, keys: [household_id]}]
features: [{name: other, dtype: int}]
"""
COUNTED = """
number of transactions: {aggregate: {function: count, source: transactions}}
number of baskets: {aggregate: {function: count_distinct, source: transactions, of: basket_id}}
number of stores: {aggregate: {function: count_distinct, source: transactions, of: store_id}}
number of stores of transactions in the last 30 days:
  {aggregate: {function: count_distinct, source: transactions, of: store_id, window: 30d}}
how many baskets with sales value over 10:
  {aggregate: {function: count_distinct, source: transactions, of: basket_id, where: sales_value > 10}}
average sales value per transaction: {aggregate: {function: avg, source: transactions, of: sales_value}}
average sales value per basket:
  expression:
    sql: sum(sales_value) / count(DISTINCT basket_id)
    source: transactions
    where: basket_id IS NOT NULL
"""


def read_sales(words: str) -> WordsReading | Mistake:
    feature = Feature(name="wanted", dtype="double", words=words)
    return read_words(feature, context_of(HOUSEHOLDS, parse_document(SALES, Registry, "dfr")))


@pytest.mark.parametrize(("words", "reading"), yaml.safe_load(COUNTED).items())
def test_things_are_counted_by_the_column_that_is_named_for_them(words: str, reading: dict[str, Any]) -> None:
    found = read_sales(words)
    assert isinstance(found, WordsReading), found
    assert plain(found) == reading


@pytest.mark.parametrize(
    "words",
    [
        "number of checkouts",
        "number of prices",
        "number of visits",
        "number of sales values",
        "average price",
        "average sales value per checkout",
        "average sales value per sales value",
        "largest sales value per basket",
        "total sales value per basket",
        "total sales value per transaction",
        "number of transactions per week",
    ],
)
def test_nouns_of_descriptions_are_asked(words: str) -> None:
    found = read_sales(words)
    assert isinstance(found, Mistake), plain(found)
