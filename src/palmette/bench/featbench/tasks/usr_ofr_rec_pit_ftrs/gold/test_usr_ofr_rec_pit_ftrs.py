"""Recommendations: each row has a cut-off of its own, and sees nothing from it on."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import SparkSession

from recsys_features.views.usr_ofr_rec_pit_ftrs import COLUMNS, compute

SHOWN = datetime(2025, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
SCHEMAS = {
    "recommendations": "recommendation_id bigint, user_id bigint, offer_id bigint, "
    "shown_at timestamp, redeemed boolean",
    "user_tiers": "user_id bigint, tier string, valid_from timestamp, valid_to timestamp",
    "offer_states": "offer_id bigint, taken_at timestamp, status string",
    "offers": "offer_id bigint, starts_on date",
    "redemptions": "user_id bigint, offer_id bigint, amount string, "
    "redeemed_at timestamp, loaded_at timestamp",
    "offer_interactions": "interaction_id bigint, user_id bigint, offer_id bigint, kind string, "
    "occurred_at timestamp, loaded_at timestamp",
}
NOTHING = dict.fromkeys(COLUMNS) | {
    "user_redemptions_30d": 0,
    "offer_redemptions_30d": 0,
    "has_redeemed_offer": False,
    "user_clicks_7d": 0,
    "pair_views_14d": 0,
}


def features(spark: SparkSession, shown: list[datetime], **tables: list[tuple]) -> list[dict]:
    """The features of user 1 and offer 7 at these instants, in their order."""
    rows = [(n, 1, 7, at, n % 2 == 0) for n, at in enumerate(shown)]
    given = {**dict.fromkeys(SCHEMAS, []), "recommendations": rows, **tables}
    frames = {name: spark.createDataFrame(given[name], SCHEMAS[name]) for name in SCHEMAS}
    found = compute(frames).orderBy("recommendation_id").collect()
    return [{name: one[name] for name in COLUMNS} for one in found]


def redeemed(at: datetime, amount: str = "5.00", late: timedelta = SECOND, **keys: int) -> tuple:
    return (keys.get("user", 1), keys.get("offer", 7), amount, at, at + late)


def test_rows_of_the_same_pair_and_instant_stay(spark: SparkSession) -> None:
    assert features(spark, [SHOWN, SHOWN]) == [NOTHING, NOTHING]


def test_each_row_has_its_own_past(spark: SparkSession) -> None:
    redemptions = [
        redeemed(SHOWN - 30 * DAY),
        redeemed(SHOWN - DAY, "n/a", offer=8),
        redeemed(SHOWN - DAY, user=2),
        redeemed(SHOWN, "3.00"),
        redeemed(SHOWN - 2 * DAY, "2.00", late=2 * DAY),
    ]
    first, second = features(spark, [SHOWN, SHOWN + DAY], redemptions=redemptions)
    assert (first["user_redemptions_30d"], first["offer_redemptions_30d"]) == (2, 2)
    assert (first["user_amount_30d"], first["demand_30d"]) == (Decimal("5.00"), 1.0)
    assert (first["has_redeemed_offer"], first["days_since_redemption"]) == (True, 1.0)
    assert (second["user_redemptions_30d"], second["offer_redemptions_30d"]) == (3, 3)
    assert (second["user_amount_30d"], second["days_since_redemption"]) == (Decimal("5.00"), 1.0)


def test_states_are_those_of_the_instant(spark: SparkSession) -> None:
    tiers = [(1, "basic", SHOWN - 9 * DAY, SHOWN), (1, "gold", SHOWN, None)]
    states = [(7, SHOWN - 7 * DAY, "live"), (7, SHOWN, "paused")]
    offers = [(7, date(2025, 3, 2))]
    instants = [SHOWN - 30 * DAY, SHOWN, SHOWN + SECOND, SHOWN + 12 * timedelta(hours=1)]
    found = features(spark, instants, user_tiers=tiers, offer_states=states, offers=offers)
    assert [one["tier"] for one in found] == [None, "basic", "gold", "gold"]
    assert [one["offer_status"] for one in found] == [None, "live", "paused", "paused"]
    assert [one["offer_age_days"] for one in found] == [-31, -1, -1, 0]


def test_clicks_and_views_have_windows_of_their_own(spark: SparkSession) -> None:
    kinds = [("view", 14 * DAY, 7), ("view", 14 * DAY + SECOND, 7), ("view", DAY, 8)]
    kinds += [("click", 7 * DAY, 7), ("click", 7 * DAY + SECOND, 8), ("click", DAY, 8)]
    rows = [
        (number, 1, offer, kind, SHOWN - age, SHOWN - DAY / 2)
        for number, (kind, age, offer) in enumerate(kinds)
    ]
    late = [(9, 1, 7, "view", SHOWN - DAY, SHOWN), (9, 1, 7, "view", SHOWN, SHOWN)]
    [found] = features(spark, [SHOWN], offer_interactions=[*rows, *rows, *late])
    assert (found["user_clicks_7d"], found["pair_views_14d"]) == (2, 1)
