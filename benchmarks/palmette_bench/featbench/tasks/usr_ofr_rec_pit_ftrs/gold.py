from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from recsys_features.lib.columns import distinct_where, ratio

KEPT = ["recommendation_id", "redeemed"]


def compute(inputs: dict[str, DataFrame], cutoff: None) -> DataFrame:
    """A row for each recommendation, with the instant at which it was shown as its cut-off."""
    rows = inputs["recommendations"].withColumnRenamed("shown_at", "as_of")
    redemptions, actions = inputs["redemptions"], inputs["offer_interactions"]
    user, offer, pair = (["user_id", "as_of"], ["offer_id", "as_of"], [*GRAIN, "as_of"])
    features = (
        rows.join(tiers(rows, inputs["user_tiers"]), on=user, how="left")
        .join(states(rows, inputs["offer_states"]), on=offer, how="left")
        .join(inputs["offers"].select("offer_id", "starts_on"), on="offer_id", how="left")
        .join(of_user(rows, redemptions), on=user, how="left")
        .join(of_offer(rows, redemptions), on=offer, how="left")
        .join(of_pair(rows, redemptions), on=pair, how="left")
        .join(clicked(rows, actions), on=user, how="left")
        .join(viewed(rows, actions), on=pair, how="left")
        .fillna(0, subset=COUNTS)
        .fillna(False, subset=["has_redeemed_offer"])
        .withColumn("offer_age_days", F.date_diff("as_of", "starts_on"))
        .withColumn(
            "demand_30d", ratio(F.col("user_redemptions_30d"), F.col("offer_redemptions_30d"))
        )
    )
    typed = [F.col(name).cast(kind).alias(name) for name, kind in COLUMNS.items()]
    return features.select(*GRAIN, *KEPT, "as_of", *typed)


def before(rows: DataFrame, events: DataFrame, keys: list[str], time: str) -> DataFrame:
    """Each cut-off with the events of its keys that had happened and arrived before it."""
    cutoffs = rows.select(*keys, "as_of").distinct()
    is_known = (F.col(time) < F.col("as_of")) & (F.col("loaded_at") < F.col("as_of"))
    return cutoffs.join(events, on=keys, how="inner").where(is_known)


def within(time: str, days: int) -> Column:
    """Whether an event lies in the days before its row's cut-off."""
    return F.col(time) >= F.col("as_of") - F.make_dt_interval(days=F.lit(days))


def tiers(rows: DataFrame, table: DataFrame) -> DataFrame:
    """The tier of a user just before each cut-off."""
    at = F.col("as_of")
    held = (F.col("valid_from") < at) & (F.coalesce("valid_to", at) >= at)
    found = rows.select("user_id", "as_of").distinct().join(table, on="user_id", how="inner")
    return found.where(held).select("user_id", "as_of", "tier")


def states(rows: DataFrame, table: DataFrame) -> DataFrame:
    """The last status of an offer before each cut-off."""
    found = rows.select("offer_id", "as_of").distinct().join(table, on="offer_id", how="inner")
    status = F.max_by("status", "taken_at").alias("offer_status")
    is_known = F.col("taken_at") < F.col("as_of")
    return found.where(is_known).groupBy("offer_id", "as_of").agg(status)


def of_user(rows: DataFrame, redemptions: DataFrame) -> DataFrame:
    """Redemptions of a user on any offer."""
    is_recent = within("redeemed_at", 30)
    since = F.unix_micros("as_of") - F.unix_micros(F.max("redeemed_at"))
    return (
        before(rows, redemptions, ["user_id"], "redeemed_at")
        .withColumn("amount", F.col("amount").try_cast("decimal(12,2)"))
        .groupBy("user_id", "as_of")
        .agg(
            F.count_if(is_recent).alias("user_redemptions_30d"),
            F.sum(F.when(is_recent, F.col("amount"))).alias("user_amount_30d"),
            (since / 86_400_000_000).alias("days_since_redemption"),
        )
    )


def of_offer(rows: DataFrame, redemptions: DataFrame) -> DataFrame:
    """Redemptions of an offer by anybody."""
    found = before(rows, redemptions, ["offer_id"], "redeemed_at")
    recent = F.count_if(within("redeemed_at", 30)).alias("offer_redemptions_30d")
    return found.groupBy("offer_id", "as_of").agg(recent)


def of_pair(rows: DataFrame, redemptions: DataFrame) -> DataFrame:
    """The pairs whose user has redeemed the offer before."""
    found = before(rows, redemptions, GRAIN, "redeemed_at")
    return found.groupBy(*GRAIN, "as_of").agg(F.lit(True).alias("has_redeemed_offer"))


def clicked(rows: DataFrame, actions: DataFrame) -> DataFrame:
    """Clicks of a user on any offer; a repeated delivery counts once."""
    counts = (F.col("kind") == "click") & within("occurred_at", 7)
    found = before(rows, actions, ["user_id"], "occurred_at")
    clicks = distinct_where("interaction_id", counts).alias("user_clicks_7d")
    return found.groupBy("user_id", "as_of").agg(clicks)


def viewed(rows: DataFrame, actions: DataFrame) -> DataFrame:
    """Views of the offer by the user; a repeated delivery counts once."""
    counts = (F.col("kind") == "view") & within("occurred_at", 14)
    found = before(rows, actions, GRAIN, "occurred_at")
    views = distinct_where("interaction_id", counts).alias("pair_views_14d")
    return found.groupBy(*GRAIN, "as_of").agg(views)
