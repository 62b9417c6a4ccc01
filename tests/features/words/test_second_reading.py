"""Words are read twice, by two prompts; where the oracle tells the two readings apart, the author decides."""

import re
from typing import Any

import pytest
import yaml

from palmette.documents import Located
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.phrases import read_statement, sentence_forms
from palmette.features.words import OpenWords
from palmette.features.words.reader import FeatureReading
from palmette.features.words.second_reading import SecondAnswer, SecondVerdict, compare

DFR = """
dfr: 1
tables:
  - name: orders
    kind: event
    path: orders
    format: csv
    keys: [order_id]
    event_time: ordered_at
    columns:
      - {name: order_id, type: bigint}
      - {name: user_id, type: bigint}
      - {name: shop_id, type: bigint}
      - {name: amount, type: double}
      - {name: channel, type: string, values: [web, app]}
      - {name: ordered_at, type: timestamp}
"""
FSC = """
fsc: 1
feature_view: user_orders
entities: [{name: user, keys: [user_id]}]
features:
  - {name: orders_30d, dtype: bigint, words: number of orders in the last 30 days}
  - {name: spent, dtype: %s, words: as the author wrote it}
"""
MEANT = "sum of amount over orders where amount >= 20 in the 30 days before the cut-off"


def aggregate(function: str = "sum", where: str | None = "amount >= 20", window: str = "30d", **more: Any) -> Any:
    fixed = {"source": "orders", "of": "amount"}
    return {"aggregate": {**fixed, "function": function, "where": where, "window": window, **more}}


def verdict(first: Any, dtype: str = "double", **second: str) -> SecondVerdict | None:
    """The verdict on `spent`, for a first reading and the definitions of a second."""
    spec = FeatureSpec.model_validate(yaml.safe_load(FSC % dtype))
    words = OpenWords(Located(spec, "", {}), FSC, Registry.model_validate(yaml.safe_load(DFR)), lambda _: ())
    reading = FeatureReading.model_validate({"name": "spent", **first}).reading()
    return compare(words, {"spent": reading}, SecondAnswer(definitions=second), "spent")


@pytest.mark.parametrize(("first", "second"), [
    (aggregate(), MEANT),
    (aggregate(window="1d"), "sum of amount over orders where NOT amount < 20 in the 24 hours before the cut-off"),
    (aggregate("stddev", None), "sample deviation of amount over orders in the 30 days before the cut-off"),
    ({"derive": "orders_30d * 2"}, "2 * orders_30d"),
])  # fmt: skip
def test_equal_readings_ask_nothing(first: Any, second: str) -> None:
    assert verdict(first, spent=second) is None


@pytest.mark.parametrize(("first", "second", "shown"), [
    (aggregate(where="amount > 20"), MEANT, r'\(2\) gives .*{"user_id": (\d+), "amount": 20.0, "ord'),
    (aggregate(window="31d"), MEANT, "orders (exactly|just more than|a day before)"),
    (aggregate(window="all"), MEANT, "long ago|more than 30d before"),
    (aggregate("avg"), MEANT, r"(\{.*){2}"),
    (aggregate(where=None), MEANT, r"\(1\) gives -?[\d.]+ and \(2\) gives null"),
    (aggregate(of="amount + 0 * shop_id"), MEANT, "shop_id"),
    ({"expression": {"sql": "stddev_pop(amount)", "source": "orders", "window": "30d"}},
     "sample deviation of amount over orders in the 30 days before the cut-off", r"\(2\) gives null"),
    (aggregate("percentile", None, p=0.5, approximate=True),
     "50 % percentile of amount over orders in the 30 days before the cut-off", "gives"),
])  # fmt: skip
def test_a_wrong_reading_is_a_question_with_the_rows_that_show_it(first: Any, second: str, shown: str) -> None:
    found = verdict(first, spent=second)
    assert found is not None and found.question.endswith("Which is meant: 1, 2, or what in other words?")
    assert f"(2) {second}. In the row {{" in found.question and found.doubt.startswith("A second reading differs. (1) ")
    assert re.search(shown, found.question), found.question


def test_a_definition_may_use_new_names() -> None:
    helpers = {"recent": aggregate(), "usual": aggregate(window="all")}
    made = [{"name": name, "dtype": "double", **computed} for name, computed in helpers.items()]
    first = {"derive": "recent / usual", "helpers": made}
    usual = "sum of amount over orders where amount >= 20 in all history"
    assert verdict(first, spent="recent / amount", recent=MEANT, amount=usual) is None
    found = verdict(first, spent="recent / usual", recent=MEANT, usual=usual.replace(">=", ">"))
    assert found and "(1) recent / usual, where recent is sum of amount" in found.doubt


@pytest.mark.parametrize(("second", "reason"), [
    ({}, "it gives no definition"),
    ({"spent": "what they spent"}, "not understood"),
    ({"spent": MEANT.replace("amount >=", "amuont >=")}, "amuont"),
    ({"spent": "recent / 2", "recent": "sum of amuont over orders in all history"}, "amuont"),
])  # fmt: skip
def test_an_invalid_second_reading_gives_no_verdict(second: dict[str, str], reason: str) -> None:
    found = verdict(aggregate(), **second)
    assert found is not None and not found.question
    assert found.doubt.startswith("A second reading was skipped: ") and reason in found.doubt


def test_every_form_that_the_prompt_shows_is_read() -> None:
    for form in sentence_forms().replace("X", "amount").replace("K ", "3 ").replace("P %", "50 %").split("; "):
        text = form.replace("AGGREGATE", "sum(amount)").replace("WEIGHT", "amount").removesuffix(" S") + " orders"
        assert read_statement(f"{text} in all history", ["orders"], []), text
