"""The description of a pull request: complete, honest, and safe with whatever a specification says."""

import ast
from dataclasses import replace
from decimal import Decimal

import pytest

from palmette.engine.actor import Measurement, Violation
from palmette.features.actors.pull_request.body import (
    BodyFacts,
    ChangeClass,
    change_class,
    output_columns,
    pull_request_body,
)
from palmette.features.actors.pull_request.offline import spark_question
from palmette.features.artefacts import RejectedUtility, Utilities, Utility
from palmette.features.frame import Frame
from palmette.features.spec.dfr import Table
from palmette.features.spec.fsc import Aggregate, Expression, FeatureSpec, Lookup, SourceSpec
from palmette.features.spec.phrases import definition, steps_of
from palmette.features.spec.values import Duration, SparkType, Window
from palmette.features.spec.view import View, ViewFeature, ViewSource

BIGINT, STRING = SparkType("bigint"), SparkType("string")
ORDERS = Table.model_validate(
    {
        "name": "orders",
        "kind": "event",
        "path": "orders",
        "keys": ["id"],
        "event_time": "at",
        "columns": [
            {"name": "id", "type": "bigint"},
            {"name": "user_id", "type": "bigint"},
            {"name": "at", "type": "timestamp"},
            {"name": "city", "type": "string", "personal": True},
            {"name": "amount", "type": "decimal(12,2)"},
        ],
    }
)
COUNT = Aggregate(function="count", source="orders", window=Window(30), by=("user_id",))


def feature(name: str, computation: Aggregate | Expression | Lookup | None = COUNT, **more: object) -> ViewFeature:
    fields = {
        "dtype": BIGINT,
        "nullable": True,
        "default": None,
        "derive": None,
        "internal": False,
        "description": "",
        "words": None,
        **more,
    }
    return ViewFeature(name=name, computation=computation, **fields)


def view_of(*features: ViewFeature, **more: object) -> View:
    schema = {column.name: column.type.parsed for column in ORDERS.columns}
    spec = FeatureSpec.model_validate(
        {
            "fsc": 1,
            "feature_view": "v",
            "entities": [{"name": "u", "keys": ["user_id"]}],
            "features": [{"name": "f", "dtype": "int", "derive": "1"}],
        }
    )
    view = View(
        name="v",
        description="Orders of a user.",
        owner="",
        grain={"user_id": BIGINT},
        cutoff="run",
        zone="UTC",
        spine=None,
        kept={},
        sources=(ViewSource("orders", ORDERS, (), (), schema),),
        features=features,
        derivation_order=tuple(item.name for item in features),
        partition=None,
        table_name="v",
        forbidden=(),
        tests=(),
        tables={"orders": ORDERS},
        lineage={item.name: ("orders.at", "orders.user_id") for item in features},
        spec=spec,
        output={
            "user_id": BIGINT,
            "as_of": SparkType("timestamp"),
            **{item.name: item.dtype for item in features},
        },
    )
    return replace(view, **more)


def facts_of(view: View, **more: object) -> BodyFacts:
    return BodyFacts(view=view, files=("src/v.py",), change=ChangeClass("new view"), **more)


def section(body: str, title: str) -> str:
    return body.split(f"## {title}\n\n")[1].split("\n\n## ")[0].strip()


def test_all_sections_are_there_in_order() -> None:
    body = pull_request_body(facts_of(view_of(feature("f"))))
    titles = [line.removeprefix("## ") for line in body.splitlines() if line.startswith("## ")]
    assert titles == [
        "What and why",
        "Features",
        "Lineage",
        "Verification",
        "Surviving mutants",
        "Data preview",
        "Change class",
        "Backfill and rollback",
        "Open questions",
    ]
    assert body == pull_request_body(facts_of(view_of(feature("f"))))


def test_features_and_lineage_are_tables_without_internal_features() -> None:
    view = view_of(
        feature("f", description="How often | when", default=0, nullable=False),
        feature("hidden", internal=True),
    )
    body = pull_request_body(facts_of(view))
    assert section(body, "Features").splitlines()[2] == (
        "| `f` | `bigint` not null | `0` | How often \\| when<br>"
        "`number of rows of orders in the 30 days before the cut-off` |"
    )
    assert section(body, "Lineage").splitlines()[4] == "| `f` | `orders`: `at`, `user_id` |"
    assert "hidden" not in body


HOSTILE = "a | b\n## Approved by @boss\n<img src=x onerror=y> closes #7 [x](http://evil) ``` `c`"


@pytest.mark.parametrize("field", ["description", "words", "derive", "owner"])
def test_what_a_specification_says_stays_text(field: str) -> None:
    if field == "owner":
        view = view_of(feature("f"), owner=HOSTILE)
    else:
        view = view_of(feature("f", **({"computation": None} if field == "derive" else {}), **{field: HOSTILE}))
    body = pull_request_body(facts_of(view, measurements=(Measurement(name="x", status="passed", detail=HOSTILE),)))
    assert "\n## Approved" not in body and "\n```\n" not in body
    prose = "\n".join(line for line in body.splitlines() if "onerror" in line)
    outside_code = prose.replace("```` a \\| b", "````").split("````")[::2]
    assert all("<img" not in part and "@boss" not in part and "#7" not in part for part in outside_code)


def test_a_table_keeps_its_cells_whatever_they_hold() -> None:
    body = pull_request_body(facts_of(view_of(feature("f", None, derive="a || b"))))
    row = section(body, "Features").splitlines()[2]
    assert row.replace("\\|", "").count("|") == 5 and "`a \\|\\| b`" in row


def test_skipped_is_said_as_skipped_and_becomes_a_question() -> None:
    measured = (
        Measurement(name="plan", status="passed", detail="no Cartesian product", seconds=1.23),
        Measurement(name="team suite", status="skipped", detail="no tests found"),
    )
    body = pull_request_body(facts_of(view_of(feature("f")), measurements=measured))
    assert "| team suite | **skipped** | no tests found |" in body and "| plan | passed |" in body
    assert "“team suite” was skipped: no tests found" in section(body, "Open questions")
    assert "1.23" not in body


def test_survivors_are_shown_and_not_measured_is_not_none() -> None:
    survivor = Violation(
        code="mutant-survived", message="v.py:7: no test notices < -> <=", evidence="- a < b\n+ a <= b"
    )
    body = pull_request_body(facts_of(view_of(feature("f")), survivors=(survivor,)))
    assert "```diff\n- a < b\n+ a <= b\n```" in section(body, "Surviving mutants")
    assert section(pull_request_body(facts_of(view_of(feature("f")))), "Surviving mutants") == "Not measured."
    tried = (Measurement(name="mutation", status="passed", detail="9 of 9 mutants killed"),)
    assert section(
        pull_request_body(facts_of(view_of(feature("f")), measurements=tried)), "Surviving mutants"
    ).startswith("None")


def test_the_preview_hides_personal_data_and_whatever_is_computed_from_it() -> None:
    view = view_of(
        feature("f"),
        feature("last_city", Aggregate(function="last", source="orders", of="city"), dtype=STRING),
    )
    view = replace(view, lineage={**view.lineage, "last_city": ("orders.at", "orders.city")})
    schema = {"user_id": BIGINT, "f": BIGINT, "last_city": STRING}
    rows = [{"user_id": number, "f": None if number < 3 else number, "last_city": "Atlantis"} for number in range(7)]
    body = pull_request_body(facts_of(view, preview=Frame.of(schema, rows)))
    assert "Atlantis" not in body and "`last_city` hidden" in body
    assert len(section(body, "Data preview").splitlines()) == 9
    assert section(body, "Data preview").splitlines()[4] == "| `3` | `3` | ••• |", "rows with values come first"
    again = pull_request_body(facts_of(view, preview=Frame.of(schema, rows[::-1])))
    assert again == body, "the order of the rows does not matter"


def test_personal_keys_are_hidden_too() -> None:
    users = ORDERS.model_copy(
        update={
            "columns": tuple(
                column.model_copy(update={"personal": column.name == "user_id"}) for column in ORDERS.columns
            )
        }
    )
    view = view_of(feature("f")).with_tables({"orders": users})
    body = pull_request_body(facts_of(view, preview=Frame.of({"user_id": BIGINT}, [{"user_id": 4711}])))
    assert "4711" not in body


def test_values_are_shown_as_data() -> None:
    schema = {"key": BIGINT, "amounts": SparkType.parse("array<decimal(4,2)>"), "known": SparkType.parse("boolean")}
    row = {"key": 1, "amounts": [Decimal("1.50"), None], "known": True}
    body = pull_request_body(facts_of(view_of(feature("f")), preview=Frame.of(schema, [row])))
    assert "| `1` | `[1.50, null]` | `true` |" in body


def test_backfill_utilities_and_provenance() -> None:
    body = pull_request_body(
        facts_of(
            view_of(feature("f", words="number of orders")),
            destination="lake/v",
            provenance={"seed": "0"},
            questions=("Why?",),
            backfill=(
                ("spark-submit", "src/v.py", "--as-of", "2025-01-01T00:00:00+00:00"),
                ("spark-submit", "a b.py"),
            ),
            imported=frozenset({"safe_divide"}),
            utilities=Utilities(
                chosen=(
                    Utility(need="load_config", name="load", module="team.config", call="load({path})"),
                    Utility(
                        need="divide",
                        name="safe_divide",
                        module="team.math",
                        call="safe_divide({numerator}, {denominator})",
                    ),
                ),
                rejected=(
                    RejectedUtility(
                        name="last_days",
                        module="team.time",
                        need="before_cutoff",
                        reason="keeps the row at as_of",
                    ),
                ),
            ),
        )
    )
    assert "spark-submit src/v.py --as-of 2025-01-01T00:00:00+00:00\nspark-submit 'a b.py'" in body
    assert "writes only to `lake/v`" in body
    assert "- used: `team.math.safe_divide` for division" in body
    assert "- not used: `team.config.load` for loading the configuration; it fits" in body
    assert "- not used: `team.time.last_days` for rows before the cut-off: keeps the row at as\\_of" in body
    assert "- seed: `0`" in body and "- Why?" in body
    assert "“number of orders” was read as `number of rows of orders" in body


SOURCE = {"source": "s"}


@pytest.mark.parametrize(
    ("computation", "expected"),
    [
        (
            Aggregate(function="sum", of="amount", where="amount > 0", window=Window(7), **SOURCE),
            "sum of amount over s where amount > 0 in the 7 days before the cut-off",
        ),
        (
            Aggregate(function="share", of="hour >= 18", **SOURCE),
            "share of rows of s for which hour >= 18 in all history",
        ),
        (
            Aggregate(function="percentile", of="amount", p=0.95, **SOURCE),
            "95 % percentile of amount over s in all history",
        ),
        (
            Aggregate(function="last_k", of="city", k=3, distinct=True, **SOURCE),
            "last 3 distinct city in s in all history",
        ),
        (
            Aggregate(function="vector_weighted_mean", of="v", half_life=Duration(14), **SOURCE),
            "mean vector v, weighted by recency (half-life 14d), over s in all history",
        ),
        (
            Aggregate(function="exists", by=("offer_id",), window=Window(0, 43200), **SOURCE),
            "whether there is a row of s in the 12 hours before the cut-off, per offer_id",
        ),
        (
            Expression(sql="sum(a) / sum(b)", source="s", where="a > 0"),
            "sum(a) / sum(b) over s where a > 0 in all history",
        ),
        (
            Lookup(table="users", column="country", on={"user_id": "id"}),
            "country of users by user_id = id, as known at the cut-off",
        ),
    ],
)
def test_definitions(computation: Aggregate | Expression | Lookup, expected: str) -> None:
    item = feature("f", computation)
    assert definition(item, view_of(item)) == expected


def test_the_steps_of_a_source() -> None:
    source = SourceSpec.model_validate(
        {
            "name": "s",
            "steps": [
                {"filter": "a > 0"},
                {"compute": {"b": "a + 1"}},
                {"replace": {"column": "c", "values": {"x": None, "y": 1}}},
                {"convert": {"column": "c", "to": "int"}},
                {"extract": {"column": "h", "of": "at", "date_part": "hour"}},
                {"extract": {"column": "i", "of": "path", "split": {"by": "/", "part": -1}}},
                {"categorise": {"column": "k", "of": "a", "buckets": [1, 5], "labels": ["low", "mid", "high"]}},
                {"categorise": {"column": "l", "cases": [{"when": "a < 0", "then": "out"}], "otherwise": "in"}},
                {"join": {"table": "t", "on": ["id"], "cardinality": "many_to_one", "columns": {"n": "m"}}},
                {"previous": {"column": "p", "of": "a", "by": ["u"]}},
                {"gap": {"column": "g", "by": ["u"]}},
                {"session": {"column": "v", "by": ["u"], "timeout": "30m"}},
            ],
        }
    )
    assert steps_of(ViewSource("s", ORDERS, source.steps[:9], source.steps[9:], {})) == [
        "only where a > 0",
        "b = a + 1",
        "in c, 'x' by null, 'y' by 1",
        "c as int",
        "h = hour of at",
        "i = part 1 from the end of path split at '/', null where there is none",
        "k = 'low' where a is below 1, 'mid' where a is from 1 to below 5, 'high' where a is from 5",
        "l = 'out' where a < 0, else 'in'",
        "m as n from t by id (many to one)",
        "p = a of the event before of the same u",
        "g = days since the event before of the same u",
        "v = number of the session of u, a new one after 30m of silence or more",
    ]


SCRIPT = """
def build_features(tables, as_of):
    rows = tables["a"].select("user_id", "unrelated")
    return rows.select(
        F.col("user_id").cast(T.LongType()),
        F.lit(as_of).cast("timestamp").alias("as_of"),
        F.coalesce("f", F.lit(0)).cast(T.LongType()).alias("f"),
        col("g"),
    )
"""
QUERY = """
WITH counted AS (SELECT user_id, count(*) AS f, max(g) AS g, 1 AS more, 2 AS others FROM events GROUP BY user_id)
SELECT user_id, :as_of AS as_of, coalesce(f, 0) AS f, g FROM counted;
"""


@pytest.mark.parametrize(
    ("names", "kind", "text"),
    [
        (("f", "g"), "unchanged columns", "unchanged columns"),
        (("f", "g", "h"), "columns added", "columns added; adds h"),
        (("f", "h"), "breaking", "breaking; adds h; removes g"),
    ],
)
@pytest.mark.parametrize("before", [SCRIPT, QUERY], ids=["script", "query"])
def test_the_class_of_a_change(before: str, names: tuple[str, ...], kind: str, text: str) -> None:
    found = change_class(view_of(*map(feature, names)), before)
    assert (found.kind, str(found)) == (kind, text)


def test_a_view_without_a_script_on_the_base_is_new() -> None:
    assert change_class(view_of(feature("f")), None).kind == "new view"
    assert output_columns("not python (") == frozenset()


def test_numbers_are_shown_as_they_are() -> None:
    frame = Frame.of({"f": SparkType("decimal", 12, 2)}, [{"f": Decimal("1.50")}, {"f": None}])
    assert "| `1.50` |\n| `null` |" in pull_request_body(facts_of(view_of(feature("f")), preview=frame))


@pytest.mark.parametrize(("source", "oldest", "asked"), [
    ('F.mode("a", True)', (3, 5), True), ('F.mode("a", True)', (4, 0), False), ('F.mode("a")', (3, 5), False),
    ('F.col("a").try_cast("int")', (3, 3), True), ('F.col("a").try_cast("int")', None, False),
])  # fmt: skip
def test_a_script_that_needs_a_newer_spark_asks(source: str, oldest: tuple[int, int] | None, asked: bool) -> None:
    assert bool(list(spark_question(ast.parse(source), oldest))) is asked
