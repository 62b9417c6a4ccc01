"""Tables of an invented offer recommender, of any size: `python generate.py --rows N --seed S --out DIR`.

`--rows` is the number of interactions; everything else scales with it. The tables are as unpleasant as real
ones: a few users and offers have most of the events, evenings and weekends are busier, some rows arrive late,
some are delivered twice, some values are missing. The same arguments give the same tables.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
DAYS = 90
FIRST = int(START.timestamp()) * 1_000_000
DAY = 86_400_000_000
"""`START` and the length of a day, in microseconds."""
EMBEDDING = 8
CATEGORIES = ("groceries", "travel", "fashion", "electronics", "dining", "home")
MERCHANTS = (
    ("FRESHMART", "5411"), ("GREEN GROCER", "5411"), ("SKYWAYS", "4511"),
    ("CITY HOTEL", "7011"), ("NORTH&SON", "5651"), ("VOLTA", "5732"),
    ("TRATTORIA 12", "5812"), ("CAFE SOL", "5814"), ("HEARTH", "5712"),
)
CITIES = ("LYON", "PORTO", "GHENT", "TURIN", "")
SEGMENTS = ("new", "regular", "loyal", "dormant")

TIMESTAMP = pa.timestamp("us", "UTC")
MONEY = pa.decimal128(12, 2)


class Sizes(NamedTuple):
    """How many of each there are."""

    users: int
    offers: int
    interactions: int
    redemptions: int
    card_transactions: int
    account_transactions: int
    decisions: int

    @classmethod
    def of(cls, interactions: int) -> Sizes:
        return cls(
            users=max(20, interactions // 25),
            offers=max(12, min(5000, interactions // 60)),
            interactions=interactions,
            redemptions=interactions // 4,
            card_transactions=interactions // 3,
            account_transactions=interactions // 8,
            decisions=max(20, interactions // 12),
        )


def ids(rng: np.random.Generator, highest: int, size: int) -> np.ndarray:
    """Identifiers 1 to `highest`, a few of them far more often than the others."""
    return rng.permutation(highest)[(highest * rng.random(size) ** 2.5).astype(np.int64)] + 1


def instants(rng: np.random.Generator, size: int) -> np.ndarray:
    """Microseconds since the epoch: weekends and evenings are busier; some fall exactly on a midnight."""
    weekend = [(START + dt.timedelta(days=day)).weekday() >= 5 for day in range(DAYS)]
    weights = np.where(weekend, 1.6, 1.0)
    day = rng.choice(DAYS, size, p=weights / weights.sum())
    hour = np.clip(rng.normal(17, 4.5, size), 0, 23.999)
    second = (hour * 3600).astype(np.int64) * (rng.random(size) > 0.01)
    return FIRST + day * DAY + second * 1_000_000


def delays(rng: np.random.Generator, size: int) -> np.ndarray:
    """Microseconds until a row can be read: seconds mostly, up to six days for one row in fifteen."""
    late = rng.random(size) < 1 / 15
    seconds = np.where(late, rng.integers(3600, 6 * 86400, size), rng.integers(1, 90, size))
    return seconds.astype(np.int64) * 1_000_000


def amounts(rng: np.random.Generator, size: int, mean: float) -> pa.Array:
    """Money with a heavy tail; one in forty is missing."""
    values = rng.lognormal(np.log(mean), 0.9, size).round(2)
    return pa.array(values, mask=rng.random(size) < 0.025).cast(MONEY)


def choices(rng: np.random.Generator, values: tuple[str, ...], size: int, missing: float = 0.0) -> pa.Array:
    """Values, the first ones oftenest, some missing."""
    weights = 1 / np.arange(1, len(values) + 1)
    picked = rng.choice(len(values), size, p=weights / weights.sum())
    return pa.array([values[i] for i in picked], pa.string(), mask=rng.random(size) < missing)


def merchants(rng: np.random.Generator, size: int) -> tuple[pa.Array, pa.Array]:
    """Merchant texts `NAME|CITY|CODE` and an embedding for each; one text in fifty is malformed."""
    centres = np.random.default_rng(7).normal(size=(len(MERCHANTS), EMBEDDING))
    picked = rng.integers(0, len(MERCHANTS), size)
    city = rng.integers(0, len(CITIES), size)
    malformed = rng.random(size) < 0.02
    texts = [MERCHANTS[m][0] if bad else f"{MERCHANTS[m][0]}|{CITIES[c]}|{MERCHANTS[m][1]}"
             for m, c, bad in zip(picked, city, malformed, strict=True)]
    vectors = (centres[picked] + rng.normal(scale=0.1, size=(size, EMBEDDING))).round(3).astype(np.float32)
    missing = rng.random(size) < 0.03
    rows = [None if gone else row for gone, row in zip(missing, vectors.tolist(), strict=True)]
    return pa.array(texts), pa.array(rows, pa.list_(pa.float32()))


def timestamps(micros: np.ndarray) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(TIMESTAMP)


def users(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    n = sizes.users
    birth = pa.array(rng.integers(1940, 2007, n), pa.int32(), mask=rng.random(n) < 0.1)
    joined = pa.array((START - dt.timedelta(days=int(d))).date() for d in rng.integers(1, 1500, n))
    return pa.table({
        "user_id": pa.array(np.arange(1, n + 1)),
        "email": pa.array([f"user{i}@example.com" for i in range(1, n + 1)]),
        "birth_year": birth,
        "country": choices(rng, ("FR", "PT", "BE", "IT"), n, missing=0.02),
        "signup_date": joined,
    })


def user_segments(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    """One to four consecutive states of each user; the last has no end."""
    rows: list[tuple[int, str, dt.datetime, dt.datetime | None]] = []
    for user in range(1, sizes.users + 1):
        days = sorted(rng.choice(DAYS, rng.integers(0, 4), replace=False))
        starts = [START - dt.timedelta(days=30), *(START + dt.timedelta(days=int(day)) for day in days)]
        states = rng.choice(len(SEGMENTS), len(starts))
        rows += [(user, SEGMENTS[state], start, end)
                 for state, start, end in zip(states, starts, [*starts[1:], None], strict=True)]
    columns = list(zip(*rows, strict=True))
    return pa.table({
        "user_id": pa.array(columns[0], pa.int64()),
        "segment": pa.array(columns[1]),
        "valid_from": pa.array(columns[2], TIMESTAMP),
        "valid_to": pa.array(columns[3], TIMESTAMP),
    })


def offers(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    n = sizes.offers
    opened = rng.integers(-60, DAYS - 10, n)
    return pa.table({
        "offer_id": pa.array(np.arange(1, n + 1)),
        "category": choices(rng, CATEGORIES, n, missing=0.03),
        "partner": choices(rng, tuple(name.title() for name, _ in MERCHANTS), n),
        "min_spend": amounts(rng, n, 20),
        "reward_rate": pa.array(rng.choice([0.01, 0.02, 0.05, 0.1, 0.2], n)),
        "valid_from": pa.array((START + dt.timedelta(days=int(d))).date() for d in opened),
        "valid_to": pa.array((START + dt.timedelta(days=int(d + 60))).date() for d in opened),
    })


def offer_snapshots(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    """The state of every offer each Monday at 00:00."""
    days = [day for day in range(DAYS) if (START + dt.timedelta(days=day)).weekday() == 0]
    at, offer = np.meshgrid(np.array(days), np.arange(1, sizes.offers + 1))
    n = at.size
    return pa.table({
        "offer_id": pa.array(offer.ravel()),
        "snapshot_at": timestamps(FIRST + at.ravel().astype(np.int64) * DAY),
        "status": choices(rng, ("live", "paused", "exhausted"), n),
        "budget_left": amounts(rng, n, 900),
        "position": pa.array(rng.integers(1, 40, n), pa.int32()),
    })


def interactions(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    """Impressions, clicks and activations, partitioned by day; one in fifty is delivered twice."""
    n = sizes.interactions
    at = np.sort(instants(rng, n))
    devices = (*(f'{{"device": {{"os": "{name}"}}}}' for name in ("android", "ios", "web")), "{}")
    table = pa.table({
        "interaction_id": pa.array(np.arange(1, n + 1)),
        "user_id": pa.array(ids(rng, sizes.users, n), mask=rng.random(n) < 0.01),
        "offer_id": pa.array(ids(rng, sizes.offers, n)),
        "action": choices(rng, ("impression", "click", "activation"), n),
        "surface": choices(rng, ("home", "search", "email"), n, missing=0.05),
        "context": choices(rng, devices, n, missing=0.05),
        "event_time": timestamps(at),
        "available_time": timestamps(at + delays(rng, n)),
    })
    twice = np.flatnonzero(rng.random(n) < 0.02)
    table = pa.concat_tables([table, table.take(pa.array(twice))])
    days = table["event_time"].cast(pa.date32())
    return table.append_column("day", days).sort_by([("event_time", "ascending")])


def redemptions(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    n = sizes.redemptions
    at = np.sort(instants(rng, n))
    return pa.table({
        "redemption_id": pa.array(np.arange(1, n + 1)),
        "user_id": pa.array(ids(rng, sizes.users, n)),
        "offer_id": pa.array(ids(rng, sizes.offers, n)),
        "amount": amounts(rng, n, 35),
        "channel": choices(rng, ("online", "store", "app"), n, missing=0.03),
        "redeemed_at": timestamps(at),
        "available_at": timestamps(at + delays(rng, n)),
    })


def card_transactions(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    n = sizes.card_transactions
    at = np.sort(instants(rng, n))
    text, embedding = merchants(rng, n)
    return pa.table({
        "transaction_id": pa.array(np.arange(1, n + 1)),
        "user_id": pa.array(ids(rng, sizes.users, n)),
        "merchant": text,
        "amount": amounts(rng, n, 28),
        "currency": choices(rng, ("EUR", "eur", "GBP"), n),
        "merchant_embedding": embedding,
        "purchased_at": timestamps(at),
        "posted_at": timestamps(at + delays(rng, n)),
    })


def account_transactions(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    """Bookings of whole days; the amount is text, as the bank sends it, and negative when money leaves."""
    n = sizes.account_transactions
    booked = np.sort(instants(rng, n))
    text, embedding = merchants(rng, n)
    euros = rng.integers(100, 90_000, n) / 100 * rng.choice([-1, -1, -1, 1], n)
    written = np.where(rng.random(n) < 0.01, "n/a", [f"{value:.2f}" for value in euros])
    return pa.table({
        "booking_id": pa.array(np.arange(1, n + 1)),
        "user_id": pa.array(ids(rng, sizes.users, n)),
        "booked_on": timestamps(booked).cast(pa.date32()),
        "counterparty": text,
        "amount_text": pa.array(written, mask=rng.random(n) < 0.02),
        "counterparty_embedding": embedding,
    })


def decisions(rng: np.random.Generator, sizes: Sizes) -> pa.Table:
    """The moments at which the recommender had to choose, and whether the offer was redeemed afterwards."""
    n = sizes.decisions
    at = instants(rng, n)
    return pa.table({
        "decision_id": pa.array(np.arange(1, n + 1)),
        "user_id": pa.array(ids(rng, sizes.users, n)),
        "offer_id": pa.array(ids(rng, sizes.offers, n)),
        "decided_at": timestamps(np.maximum(at, FIRST + 30 * DAY)),
        "redeemed": pa.array(rng.random(n) < 0.2),
    })


TABLES = (users, user_segments, offers, offer_snapshots, interactions, redemptions, card_transactions,
          account_transactions, decisions)


def generate(rows: int, seed: int, out: Path) -> None:
    """Writes all tables below `out`: a file each, and a folder with a file a day for the interactions."""
    sizes = Sizes.of(rows)
    for number, make in enumerate(TABLES):
        table = make(np.random.default_rng([seed, number]), sizes)
        if "day" in table.column_names:
            write_days(table, out / make.__name__)
        else:
            out.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, out / f"{make.__name__}.parquet", compression="zstd")


def write_days(table: pa.Table, folder: Path) -> None:
    """One file a day: `day=2025-01-31/part-0.parquet`."""
    for day in table["day"].unique().to_pylist():
        part = folder / f"day={day}"
        part.mkdir(parents=True, exist_ok=True)
        rows = table.filter(pc.equal(table["day"], pa.scalar(day, pa.date32()))).drop_columns(["day"])
        pq.write_table(rows, part / "part-0.parquet", compression="zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000, help="number of interactions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "tables")
    args = parser.parse_args()
    generate(args.rows, args.seed, args.out)


if __name__ == "__main__":
    main()
