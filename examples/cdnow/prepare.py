"""Sets the example up where it can be run: `python prepare.py [DESTINATION] [--data FILE]`.

The destination is `build/cdnow` unless another is named. The data is not part of palmette, because its
licence does not clearly permit a copy. `--data` is either `cdnow_transactions.csv.gz` (customer_id, date,
cds, dollars; looked for in `../shared/datasets/cdnow_transactions`) or the original `CDNOW_master.txt` (four
columns, dates as 19970101), e.g. from the repository CamDavidsonPilon/lifetimes.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import gzip
import io
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from checkout import announce, set_up  # noqa: E402 - the examples' shared module lies beside them

DESTINATION = HERE.parents[1] / "build" / "cdnow"
DATA = HERE.parents[2] / "shared" / "datasets" / "cdnow_transactions" / "cdnow_transactions.csv.gz"

SCORED = tuple(dt.datetime(year, month, 1, tzinfo=dt.UTC) for year, month in ((1997, 7), (1997, 10), (1998, 1)))
HORIZON = dt.timedelta(days=90)
SAMPLE = 20
"""One customer in so many is in the samples."""

Row = dict[str, Any]


def prepare(destination: Path = DESTINATION, data: Path = DATA) -> Path:
    """Makes or refreshes the example at `destination`, and returns it; harmless to repeat."""
    if not data.is_file():
        raise SystemExit(
            f"There is no {data}. The purchases are not part of palmette: download CDNOW_master.txt "
            "(github.com/CamDavidsonPilon/lifetimes, lifetimes/datasets) and give it with --data."
        )
    set_up(HERE, destination, ("specs", "runs", "registry.yaml"))
    rows = list(purchases(data))
    for name, table in {"purchases": rows, "customers": customers(rows), "scorings": scorings(rows)}.items():
        write(table, destination / "repository" / "warehouse" / name / "part-0.parquet")
        sample = [row for row in table if row["customer_id"] % SAMPLE == 0]
        write(sample, destination / "samples" / f"{name}.parquet")
    return destination


def purchases(data: Path) -> Iterator[Row]:
    """One row a purchase, numbered in the order of the file: the source has no key."""
    text = gzip.decompress(data.read_bytes()) if data.suffix == ".gz" else data.read_bytes()
    lines = io.StringIO(text.decode("ascii"))
    fields = (line.split() for line in lines) if data.suffix == ".txt" else csv.reader(lines)
    found = (row for row in fields if row and row[0].isdigit())
    for number, (customer, day, cds, dollars) in enumerate(found, start=1):
        yield {
            "purchase_id": number,
            "customer_id": int(customer),
            "date": dt.date.fromisoformat(day),
            "cds": int(cds),
            "dollars": Decimal(dollars).quantize(Decimal("0.01")),
        }


def customers(rows: Iterable[Row]) -> list[Row]:
    """Each customer with the month in which the shop won them: early 1997 for all."""
    first: dict[int, dt.date] = {}
    for row in rows:
        first[row["customer_id"]] = min(row["date"], first.get(row["customer_id"], row["date"]))
    return [{"customer_id": customer, "cohort": f"{day:%Y-%m}"} for customer, day in sorted(first.items())]


def scorings(rows: Iterable[Row]) -> list[Row]:
    """Each customer at three instants, and whether they buy in the 90 days from then: the label."""
    days: dict[int, list[dt.date]] = {}
    for row in rows:
        days.setdefault(row["customer_id"], []).append(row["date"])
    instants = [(customer, at) for at in SCORED for customer in sorted(days)]
    return [
        {
            "scoring_id": number,
            "customer_id": customer,
            "scored_at": at,
            "buys": any(at.date() <= day < (at + HORIZON).date() for day in days[customer]),
        }
        for number, (customer, at) in enumerate(instants, start=1)
    ]


def write(rows: list[Row], path: Path) -> None:
    """As Parquet; timestamps in UTC, money with two decimals."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"cds": pa.int32(), "dollars": pa.decimal128(10, 2), "scored_at": pa.timestamp("us", "UTC")}
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: pa.array([row[name] for row in rows], types.get(name)) for name in rows[0]}
    pq.write_table(pa.table(columns), path, compression="zstd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("destination", nargs="?", type=Path, default=DESTINATION)
    parser.add_argument("--data", type=Path, default=DATA)
    args = parser.parse_args()
    announce(prepare(args.destination.resolve(), args.data))


if __name__ == "__main__":
    main()
