"""Mutants of a script: valid, different, only in its transforms, and the ones that matter."""

import ast
from pathlib import Path

import pytest

from palmette.features.mutation.mutants import Mutant, mutants, sample
from palmette.features.script_tree import parse
from palmette.features.spec.view import View

GOOD = sorted((Path(__file__).parent / "cases").glob("good_*.py"))


def changes(text: str, view: View) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants(parse(text, view, "build"))}


def script(expression: str) -> str:
    return (
        "from pyspark.sql import functions as F\n\n\ndef build(tables, as_of):\n"
        f'    orders = tables["orders"]\n    return {expression}\n'
    )


@pytest.mark.parametrize(
    ("expression", "change"),
    [
        ('orders.where(F.col("ordered_at") < as_of)', ('F.col("ordered_at") < as_of', "F.col('ordered_at') <= as_of")),
        ('orders.where(F.col("ordered_at") >= as_of)', ('F.col("ordered_at") >= as_of', "F.col('ordered_at') > as_of")),
        ('orders.where("amount > 0")', ('orders.where("amount > 0")', "orders")),
        (
            'orders.join(tables["customers"], "customer_id", "left")',
            (
                'orders.join(tables["customers"], "customer_id", "left")',
                "orders.join(tables['customers'], 'customer_id', 'inner')",
            ),
        ),
        ('orders.agg(F.sum("amount"))', ('F.sum("amount")', "F.avg('amount')")),
        ('orders.agg(F.sum("amount"))', ('F.sum("amount")', "F.sum('gross')")),
        ('orders.agg(F.count("amount"))', ('F.count("amount")', "F.countDistinct('amount')")),
        ('orders.select(F.coalesce("amount", F.lit(0)))', ('F.coalesce("amount", F.lit(0))', "'amount'")),
        ("orders.select(F.lit(0))", ("0", "1")),
        (
            'orders.where(F.expr("ordered_at > x - INTERVAL 30 DAYS"))',
            ('"ordered_at > x - INTERVAL 30 DAYS"', "'ordered_at > x - INTERVAL 31 DAYS'"),
        ),
        (
            'orders.agg(F.expr("count(DISTINCT amount) FILTER (WHERE returned)"))',
            ('"count(DISTINCT amount) FILTER (WHERE returned)"', "'count(amount) FILTER (WHERE returned)'"),
        ),
        (
            'orders.agg(F.expr("count(DISTINCT amount) FILTER (WHERE returned)"))',
            ('"count(DISTINCT amount) FILTER (WHERE returned)"', "'count(DISTINCT amount)'"),
        ),
        ('orders.where(~F.col("returned"))', ('~F.col("returned")', "F.col('returned')")),
        (
            'orders.groupBy("customer_id", "shop_id").count()',
            ('orders.groupBy("customer_id", "shop_id")', "orders.groupBy('customer_id')"),
        ),
        ('orders.select("amount").distinct()', ('orders.select("amount").distinct()', "orders.select('amount')")),
        ('orders.orderBy(F.col("amount").desc())', ('F.col("amount").desc()', "F.col('amount').asc()")),
        ('orders.select(F.when(F.col("amount") > 0, 1))', ('F.when(F.col("amount") > 0, 1)', "F.when(F.lit(True), 1)")),
        ('orders.select(F.col("amount").cast("int"))', ('F.col("amount").cast("int")', "F.col('amount')")),
    ],
)
def test_an_operator_makes_the_change(expression: str, change: tuple[str, str], view: View) -> None:
    assert change in changes(script(expression), view)


@pytest.mark.parametrize("case", GOOD, ids=lambda path: path.stem)
def test_mutants_are_python_and_all_different(case: Path, view: View) -> None:
    found = mutants(parse(case.read_text(encoding="utf-8"), view, "build"))
    assert len(found) > 10
    dumps = {ast.dump(ast.parse(mutant.text)) for mutant in found}
    assert len(dumps) == len(found)
    assert len({mutant.name for mutant in found}) == len(found)


def test_only_the_entry_and_what_it_uses_is_mutated(view: View) -> None:
    case = next(path for path in GOOD if path.stem == "good_chain")
    assert {mutant.function for mutant in mutants(parse(case.read_text(encoding="utf-8"), view, "build"))} == {"build"}


@pytest.mark.parametrize("doc", ["Select the user's orders.", "With all orders and their amounts."])
def test_a_docstring_is_no_query(doc: str, view: View) -> None:
    text = script('orders.where("amount > 0")').replace("as_of):\n", f'as_of):\n    """{doc}"""\n')
    assert not [change for change in changes(text, view) if '"""' in change[0]]


def test_text_behind_letters_beyond_ascii_stays_whole(view: View) -> None:
    text = script('orders.where((F.col("city") == "Zürich") & (F.col("amount") > 1))')
    boundary = next(m for m in mutants(parse(text, view, "build")) if m.after == "F.col('amount') >= 1")
    assert "\"Zürich\") & ((F.col('amount') >= 1))" in boundary.text


def test_a_sample_treats_functions_and_operators_alike(view: View) -> None:
    def mutant(function: str, operator: str, line: int) -> Mutant:
        return Mutant(f"{line}:0 {operator}", operator, function, line, "a", "b", "")

    found = [mutant("big", "constants", line) for line in range(100)] + [mutant("small", "joins", 200)]
    chosen = sample(found, 10, seed=3)
    assert len(chosen) == 10
    assert chosen[-1].function == "small"
    assert chosen == sample(found, 10, seed=3)


def test_most_mutants_are_chosen_again_after_a_change_of_one_feature(view: View) -> None:
    text = next(path for path in GOOD if path.stem == "good_chain").read_text(encoding="utf-8")
    before, after = (
        {one.change for one in sample(mutants(parse(each, view, "build")), 20, seed=1)}
        for each in (text, text.replace('F.sum("amount")', 'F.avg("amount")'))
    )
    assert before != after and len(before & after) >= 17
