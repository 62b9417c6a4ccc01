"""The tables of FeatBench's registry, of any size: the same rows and seed give the same tables.

`rows` is the number of offer interactions; everything else scales with it. Tables are written in chunks, so that tens
of millions of rows need little memory. They have the traits of such data: a few users, offers and merchants have most
of the events; evenings, weekends and the days before Christmas are busier; some rows arrive late, some are delivered
twice, some values are missing or unreadable; some events lie exactly at midnight, at the cut-off, or at the first
instant of a window before it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from palmette_bench.featbench.world import draws
from palmette_bench.featbench.world.draws import (
    AFTER,
    CUTOFF,
    DAY,
    INSTANT,
    INTERACTION_DAYS,
    NAMES,
    SECOND,
    Chunk,
    Sizes,
)

DIMENSION, CHUNK = 8, 1_000_000
CATEGORIES = ("groceries", "dining", "travel", "fashion", "electronics", "home")
DEPARTMENTS = ("food", "food", "leisure", "goods", "goods", "goods")
MCC = (5411, 5812, 4511, 5651, 5732, 5712)


def write_tables(folder: Path, rows: int, seed: int) -> None:
    """Writes every table of the registry below `folder`: a Parquet file each, and a folder a day of interactions."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = Sizes.of(rows)
    for number, (name, (count, make)) in enumerate(_TABLES.items()):
        writer: pq.ParquetWriter | None = None
        for chunk, first in enumerate(range(0, max(1, count(sizes)), CHUNK)):
            random = np.random.default_rng([seed, number, chunk])
            table = pa.table(make(Chunk(random, sizes, first, min(CHUNK, count(sizes) - first))))
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", table.schema, compression="zstd")
            writer.write_table(table)
        if writer is not None:
            writer.close()
    for day, table in _interaction_days(sizes, seed):
        place = folder / "offer_interactions" / f"day={day}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place / "part-0.parquet", compression="zstd")


def _users(part: Chunk) -> dict[str, Any]:
    number = draws.numbers(part)
    born = part.random.integers(1940, 2007, part.rows)
    return {
        "user_id": number,
        "email": pc.binary_join_element_wise("user", pa.array(number).cast(pa.string()), "@example.com", ""),
        "birth_year": pa.array(born, pa.int32(), mask=part.random.random(part.rows) < 0.1),
        "region": draws.picked(part, ("north", "south", "east", "west"), 0.02),
        "joined_on": draws.dates(-part.random.integers(0, 1500, part.rows)),
    }


def _user_tiers(part: Chunk) -> dict[str, Any]:
    """Up to three tiers one after the other for each user; a change lies on a midnight."""
    starts = np.sort(part.random.integers(-120, AFTER, (part.rows, 3)), axis=1) + np.arange(3)
    starts[:, 0] = -300
    user, turn = np.meshgrid(draws.numbers(part), np.arange(3), indexing="ij")
    kept = turn < part.random.integers(1, 4, part.rows)[:, None]
    ends = np.where(np.roll(kept, -1, axis=1) & (turn < 2), np.roll(starts, -1, axis=1), 9999)[kept]
    rows = part._replace(rows=int(kept.sum()))
    until = pa.array(np.where(ends == 9999, 0, INSTANT + ends * DAY), pa.int64(), mask=ends == 9999)
    return {
        "user_id": user[kept],
        "tier": draws.picked(rows, ("basic", "silver", "gold")),
        "valid_from": draws.times(INSTANT + starts[kept] * DAY),
        "valid_to": until.cast(pa.timestamp("us", "UTC")),
    }


def _offers(part: Chunk) -> dict[str, Any]:
    opened = part.random.integers(-150, AFTER, part.rows)
    return {
        "offer_id": draws.numbers(part),
        "merchant_key": draws.keys(draws.ids(part, part.sizes.merchants)),
        "category": draws.picked(part, CATEGORIES, 0.03),
        "reward": draws.picked(part, ("5 %", "10 %", "3 EUR", "10 EUR", "double points"), 0.02),
        "min_spend": draws.money(part, 20),
        "starts_on": draws.dates(opened),
        "ends_on": draws.dates(opened + 60),
    }


def _offer_states(part: Chunk) -> dict[str, Any]:
    """The state of every offer each week, at midnight."""
    number = draws.numbers(part) - 1
    return {
        "offer_id": number % part.sizes.offers + 1,
        "taken_at": draws.times(INSTANT + (number // part.sizes.offers - 20) * 7 * DAY),
        "status": draws.picked(part, ("live", "paused", "exhausted")),
        "budget_left": draws.money(part, 900),
    }


def _merchants(part: Chunk) -> dict[str, Any]:
    number = draws.numbers(part)
    return {
        "merchant_key": draws.keys(number),
        "name": draws.text(NAMES, number % len(NAMES), part),
        "mcc": pa.array(MCC, pa.int32()).take(pa.array(number % len(MCC))),
        "category": draws.text(CATEGORIES, number % len(CATEGORIES), part, 0.03),
        "country": draws.picked(part, ("FR", "PT", "BE", "IT")),
    }


def _merchant_embeddings(part: Chunk) -> dict[str, Any]:
    """A vector near that of its category for each merchant, as a text model gives; some have none."""
    centres = np.random.default_rng(7).normal(size=(len(CATEGORIES), DIMENSION))
    number = draws.numbers(part)
    vectors = centres[number % len(CATEGORIES)] + part.random.normal(scale=0.2, size=(part.rows, DIMENSION))
    gone = part.random.random(part.rows) < 0.05
    rows = [None if lost else row for lost, row in zip(gone, vectors.round(3).tolist(), strict=True)]
    return {"merchant_key": draws.keys(number), "vector": pa.array(rows, pa.list_(pa.float32()))}


def _offer_merchants(part: Chunk) -> dict[str, Any]:
    """Where an offer is good: at three merchants."""
    number = draws.numbers(part) - 1
    offer, place = number // 3, number % 3
    return {"offer_id": offer + 1, "merchant_key": draws.keys((offer * 31 + place) % part.sizes.merchants + 1)}


def _categories(part: Chunk) -> dict[str, Any]:
    place = draws.numbers(part) - 1
    return {"category": draws.text(CATEGORIES, place, part), "department": draws.text(DEPARTMENTS, place, part)}


def _category_interactions(part: Chunk) -> dict[str, Any]:
    at = draws.instants(part)
    index = (len(CATEGORIES) * part.random.random(part.rows) ** 1.5).astype(np.int64)
    seconds = pa.array((part.random.lognormal(2.5, 1.0, part.rows)).astype(np.int64))
    return {
        "event_id": draws.numbers(part),
        "user_id": pa.array(draws.ids(part, part.sizes.users), mask=part.random.random(part.rows) < 0.01),
        "category": draws.text(CATEGORIES, index, part, 0.02),
        "page": draws.picked(part, ("list", "list/spring", "item", "item/spring", "list/sale", "item/easter/2"), 0.02),
        "kind": draws.picked(part, ("browse", "search", "click")),
        "device": draws.picked(part, ("ios", "android", "web"), 0.05),
        "seconds": draws.unreadable(seconds, part),
        "price_seen": draws.unreadable(draws.money(part, 25, 0.3), part, 0.01),
        "at_ms": at // 1000,
        "loaded_at": draws.times(draws.arrivals(part, at)),
    }


def _redemptions(part: Chunk) -> dict[str, Any]:
    at = draws.instants(part)
    store = pa.array(part.random.integers(1, 40, part.rows)).cast(pa.string())
    till = pa.array(part.random.integers(1, 6, part.rows)).cast(pa.string())
    place = pc.binary_join_element_wise("store-", store, "/", till, "")
    return {
        "redemption_id": draws.numbers(part),
        "user_id": draws.ids(part, part.sizes.users),
        "offer_id": draws.ids(part, part.sizes.offers),
        "amount": draws.unreadable(draws.money(part, 35), part),
        "cashback": draws.unreadable(draws.money(part, 2, 0.1), part, 0.01),
        "till": pc.if_else(pa.array(part.random.random(part.rows) < 0.3), pa.scalar(None, pa.string()), place),
        "channel": draws.picked(part, ("store", "online", "app"), 0.03),
        "redeemed_at": draws.times(at),
        "loaded_at": draws.times(draws.arrivals(part, at)),
    }


def _card_transactions(part: Chunk) -> dict[str, Any]:
    at = draws.instants(part)
    merchant = draws.ids(part, part.sizes.merchants)
    return {
        "transaction_id": draws.numbers(part),
        "user_id": draws.ids(part, part.sizes.users),
        "descriptor": draws.descriptors(part, merchant),
        "mcc": pa.array(MCC, pa.int32()).take(pa.array(merchant % len(MCC), mask=part.random.random(part.rows) < 0.02)),
        "amount": draws.money(part, 30),
        "currency": draws.picked(part, ("EUR", "GBP", "USD")),
        "status": draws.picked(part, ("settled", "pending", "reversed")),
        "entry": draws.picked(part, ("chip", "tap", "online"), 0.03),
        "authorised_at": draws.times(at),
        "posted_at": draws.times(draws.arrivals(part, at)),
    }


def _account_transactions(part: Chunk) -> dict[str, Any]:
    """Bookings by whole days; debits are negative."""
    amount = draws.money(part, 60).cast(pa.string())
    debit = pa.array(part.random.random(part.rows) < 0.75)
    signed = pc.if_else(debit, pc.binary_join_element_wise("-", amount, ""), amount)
    return {
        "booking_id": draws.numbers(part),
        "user_id": draws.ids(part, part.sizes.users),
        "booked_on": draws.dates((draws.instants(part) - INSTANT) // DAY),
        "amount": draws.unreadable(signed, part),
        "kind": draws.picked(part, ("card", "transfer", "direct_debit", "fee"), 0.02),
        "counterparty": draws.descriptors(part, draws.ids(part, part.sizes.merchants)),
    }


def _recommendations(part: Chunk) -> dict[str, Any]:
    """The moments at which an offer was shown, and whether it was redeemed within two weeks."""
    return {
        "recommendation_id": draws.numbers(part),
        "user_id": draws.ids(part, part.sizes.users),
        "offer_id": draws.ids(part, part.sizes.offers),
        "shown_at": draws.times(np.maximum(draws.instants(part), INSTANT - 90 * DAY)),
        "redeemed": part.random.random(part.rows) < 0.2,
    }


def _interaction_days(sizes: Sizes, seed: int) -> Iterator[tuple[dt.date, pa.Table]]:
    """The interactions of each day; one in fifty is delivered twice. Identifiers do not repeat otherwise."""
    days = [CUTOFF + dt.timedelta(days=n) for n in range(AFTER - INTERACTION_DAYS, AFTER)]
    weights = np.array([draws.weight(day) for day in days])
    counts = np.random.default_rng([seed, 100]).multinomial(sizes.interactions, weights / weights.sum())
    first = 0
    for place, (day, rows) in enumerate(zip(days, counts.tolist(), strict=True)):
        part = Chunk(np.random.default_rng([seed, 100, place]), sizes, first, rows)
        table = pa.table(_interactions(part, int(day.timestamp()) * SECOND))
        twice = np.flatnonzero(part.random.random(rows) < 0.02)
        yield day.date(), pa.concat_tables([table, table.take(pa.array(twice))])
        first += rows


def _interactions(part: Chunk, midnight: int) -> dict[str, Any]:
    at = midnight + draws.clock(part) * (part.random.random(part.rows) > 0.03)
    slot = pa.array(part.random.integers(1, 12, part.rows)).cast(pa.string())
    surface, box = draws.picked(part, ("home", "search", "mail")), draws.picked(part, ("carousel", "list", "banner"))
    place = pc.binary_join_element_wise(surface, box, slot, "/")
    place = pc.if_else(pa.array(part.random.random(part.rows) < 0.02), surface, place)
    dwell = pa.array(part.random.lognormal(8, 1.1, part.rows).astype(np.int64))
    merchant = draws.ids(part, part.sizes.merchants)
    return {
        "interaction_id": draws.numbers(part),
        "user_id": pa.array(draws.ids(part, part.sizes.users), mask=part.random.random(part.rows) < 0.01),
        "offer_id": draws.ids(part, part.sizes.offers),
        "kind": draws.picked(part, ("view", "click", "save", "dismiss")),
        "placement": place,
        "device": draws.picked(part, ("ios", "android", "web"), 0.05),
        "merchant_key": draws.text(draws.keys(merchant), np.arange(part.rows), part, 0.25),
        "dwell_ms": draws.unreadable(dwell, part),
        "occurred_at": draws.times(at),
        "loaded_at": draws.times(draws.arrivals(part, at)),
    }


_TABLES: Mapping[str, tuple[Callable[[Sizes], int], Callable[[Chunk], dict[str, Any]]]] = {
    "users": (lambda sizes: sizes.users, _users),
    "user_tiers": (lambda sizes: sizes.users, _user_tiers),
    "offers": (lambda sizes: sizes.offers, _offers),
    "offer_states": (lambda sizes: sizes.offers * 22, _offer_states),
    "merchants": (lambda sizes: sizes.merchants, _merchants),
    "merchant_embeddings": (lambda sizes: sizes.merchants, _merchant_embeddings),
    "offer_merchants": (lambda sizes: sizes.offers * 3, _offer_merchants),
    "categories": (lambda _: len(CATEGORIES), _categories),
    "category_interactions": (lambda sizes: sizes.interactions // 2, _category_interactions),
    "redemptions": (lambda sizes: sizes.interactions // 3, _redemptions),
    "card_transactions": (lambda sizes: sizes.interactions // 2, _card_transactions),
    "account_transactions": (lambda sizes: sizes.interactions // 3, _account_transactions),
    "recommendations": (lambda sizes: max(20, sizes.interactions // 12), _recommendations),
}
"""How many rows a table has, and how a chunk of them is made."""
