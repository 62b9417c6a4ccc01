"""What goes wrong in a task, as its card says, is seen on its hidden tables."""

from pathlib import Path

import pytest

from palmette.features.cutoffs import cutoffs
from palmette_bench.featbench.differences import differences
from palmette_bench.featbench.hidden import HIDDEN_ROWS, query
from palmette_bench.featbench.suite import task, tasks
from palmette_bench.featbench.world.tables import write_tables

TRAPS = {
    "ofr_state_ftrs": {
        "the state of the last midnight": ("taken_at < $as_of", "taken_at <= $as_of"),
        "the newest state of all": ("    WHERE taken_at < $as_of\n", ""),
        "the newest that is not missing": ("WHERE taken_at < ", "WHERE budget_left > 0 AND taken_at < "),
    },
    "usr_tier_hist_ftrs": {
        "the current tier": ("valid_from < $as_of AND (valid_to IS NULL OR valid_to >= $as_of)", "valid_to IS NULL"),
        "rows as moves": ("tier <> tier_before AND ", ""),
    },
    "usr_dda_ends_ftrs": {
        "the higher number first": ("booking_id DESC", "booking_id"),
        "missing with the last booking's": (
            "arg_min(euros, place) FILTER (euros IS NOT NULL)",
            "list(euros ORDER BY place)[1]",
        ),
        "the booking before within the window": (
            "SELECT * FROM numbered",
            "SELECT * REPLACE (lead(euros) OVER (PARTITION BY user_id ORDER BY place) AS euros_before) FROM numbered",
        ),
    },
    "usr_dda_day_ftrs": {
        "today as the future": ("happened < $as_of", "booked_on < CAST($as_of AS DATE)"),
        "a day too many": ("happened >= $as_of - INTERVAL 7 DAY", "booked_on >= CAST($as_of AS DATE) - 7"),
    },
    "ofr_rdm_late_ftrs": {
        "what arrived since": (" AND loaded_at < $as_of", ""),
        "loaded exactly at the end": ("loaded_at < $as_of", "loaded_at <= $as_of"),
        "lateness by the day": (
            "epoch(loaded_at - redeemed_at) / 3600",
            "CAST(24 * (CAST(loaded_at AS DATE) - CAST(redeemed_at AS DATE)) AS DOUBLE)",
        ),
    },
    "usr_intr_hour_ftrs": {
        "hours of UTC": ("timezone('Europe/Lisbon', occurred_at)", "timezone('UTC', occurred_at)"),
        "a fixed offset": (
            "timezone('Europe/Lisbon', occurred_at)",
            "timezone('UTC', occurred_at) + INTERVAL 1 HOUR",
        ),
        "days of 24 hours": (
            "timezone('Europe/Lisbon', timezone('Europe/Lisbon', $as_of) - INTERVAL 28 DAY)",
            "$as_of - INTERVAL 28 DAY",
        ),
        "deliveries as actions": ("SELECT DISTINCT\n", "SELECT\n"),
    },
    "ofr_wow_ftrs": {
        "14 days for the week before": ("occurred_at < $as_of - INTERVAL 7 DAY AND ", ""),
        "a missing amount as 0": (
            "TRY_CAST(amount AS DECIMAL(12, 2))",
            "coalesce(TRY_CAST(amount AS DECIMAL(12, 2)), 0)",
        ),
        "offers of both tables only": ("FULL JOIN", "JOIN"),
    },
    "usr_recency_ftrs": {
        "a cap that leaves missing what never was": ("ELSE 90 END AS", "WHEN redeemed.days >= 90 THEN 90 END AS"),
        "one kind of days": (
            "CAST($as_of AS DATE) - CAST(redeemed.first_at AS DATE)",
            "floor((epoch_us($as_of) - epoch_us(redeemed.first_at)) / 86400e6)",
        ),
    },
    "usr_rec_label_ftrs": {
        "open ones as not redeemed": ("FILTER (state = 'closed') AS redeemed_share_90d", "AS redeemed_share_90d"),
        "labels known too soon": ("INTERVAL 14 DAY < $as_of", "INTERVAL 7 DAY < $as_of"),
    },
    "usr_ofr_rec_pit_ftrs": {
        "the current tier": (
            "(state.valid_to IS NULL OR state.valid_to >= shown.shown_at)",
            "state.valid_to IS NULL",
        ),
        "events that arrived later": (" AND event.loaded_at < shown.shown_at", ""),
    },
    "usr_rdm_tier_ftrs": {
        "today's tier": ("past.tier AS past_tier", "present.tier AS past_tier"),
        "both tiers at a change": (
            "CAST(booking.booked_on AS TIMESTAMPTZ) > tiers.valid_from",
            "CAST(booking.booked_on AS TIMESTAMPTZ) >= tiers.valid_from",
        ),
    },
    "usr_visit_ftrs": {
        "visits numbered within the window": (
            "WHERE at_ms < epoch_ms($as_of)",
            "WHERE at_ms >= epoch_ms($as_of - INTERVAL 60 DAY) AND at_ms < epoch_ms($as_of)",
        ),
        "late events": (" AND loaded_at < $as_of", ""),
    },
}
"""By task and mistake: what of the right SQL is replaced by what."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hidden") / "tables"
    write_tables(folder, HIDDEN_ROWS, seed=1)
    return folder


@pytest.mark.parametrize("name", [one.name for one in tasks() if one.description.origin == "open"])
def test_hidden_tables_tell(name: str, tables: Path) -> None:
    one = task(name)
    view = one.view
    instants = cutoffs(view, one.description.interval)
    wanted = [query(tables, one.expected, instant) for instant in instants]
    for mistake, (right, instead) in TRAPS[name].items():
        assert right in one.expected, mistake
        given = [query(tables, one.expected.replace(right, instead), instant) for instant in instants]
        assert wanted[0].schema == given[0].schema, f"{mistake}: the columns are others"
        pairs = zip(wanted, given, strict=True)
        assert any(differences(*pair, [*view.grain, "as_of"]) for pair in pairs), mistake
