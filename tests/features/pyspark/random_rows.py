"""Random rows for the tables of a view, many of them on the boundaries of its windows."""

import random
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from palmette.features.frame import Frame
from palmette.features.spec.dfr import Table
from palmette.features.spec.view import View

AS_OF = datetime(2024, 4, 2, 9, 30, tzinfo=UTC)
"""Two days after Europe's clocks went forward."""


class Choices:
    """Random choices."""

    def __init__(self, source: random.Random) -> None:
        self.random = source

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def chance(self, share: float) -> bool:
        return self.random.random() < share


class Rows(Choices):
    """Random rows."""

    def __init__(self, source: random.Random, zone: str) -> None:
        super().__init__(source)
        self.zone = ZoneInfo(zone)

    def frames(self, view: View, count: int = 30) -> dict[str, Frame]:
        return {name: self._frame(table, count) for name, table in sorted(view.tables.items())}

    def _frame(self, table: Table, count: int) -> Frame:
        rows: list[dict[str, Any]] = []
        if table.kind == "scd2":
            rows = self._spans()
        else:
            for index in range({"dimension": 3, "snapshot": 8}.get(table.kind, count)):
                rows.append(
                    {column.name: self._value(column.name, str(column.type), index) for column in table.columns}
                )
        if table.kind == "snapshot":
            rows = list({(row["user_id"], row["seen_at"]): row for row in rows}.values())
        for row in rows:
            if table.name == "clicks" and table.partitions:
                of = next(item.of for item in table.partitions)
                moment = row["at"] if of == "event_time" else row["loaded_at"]
                day = moment.date() if moment else None
                text = str(table.column("day").type) == "string"
                row["day"] = day.isoformat() if day and text else day
            if table.name == "clicks":
                column = table.column("at")
                assert column is not None
                row["at"] = _as_kind(row["at"], str(column.type), column.unit or "s", self.zone)
        return Frame.of({column.name: column.type.parsed for column in table.columns}, rows)

    def _spans(self) -> list[dict[str, Any]]:
        rows = []
        for user in (1, 2):
            bounds = sorted({self._timestamp() for _ in range(3)})
            for start, end in zip(bounds, [*bounds[1:], None], strict=True):
                rows.append(
                    {
                        "user_id": user,
                        "valid_from": start,
                        "valid_to": end,
                        "tier": self.pick(("gold", "blue", None)),
                        "fee": self.pick((1.0, 2.5)),
                    }
                )
        return rows

    def _timestamp(self) -> datetime:
        base = self.pick(
            (
                AS_OF,
                AS_OF,
                AS_OF - timedelta(days=1),
                AS_OF - timedelta(days=3),
                AS_OF - timedelta(days=7),
                AS_OF - timedelta(days=30),
                AS_OF - timedelta(hours=12),
                AS_OF - timedelta(hours=36),
            )
        )
        shift = self.pick(
            (
                timedelta(),
                timedelta(microseconds=1),
                timedelta(microseconds=-1),
                timedelta(hours=1),
                timedelta(hours=-1),
                timedelta(minutes=-20),
                timedelta(days=-1),
                timedelta(hours=-5),
            )
        )
        return base + shift

    def _value(self, name: str, kind: str, index: int) -> Any:
        fixed = {"click_id": index, "order_id": index, "request_id": index, "id": "pqr"[index % 3]}
        if name in fixed:
            return fixed[name]
        options: Mapping[str, tuple[Any, ...]] = {
            "user_id": (1, 1, 2, None, 3),
            "item_id": ("p", "q", None, "zz"),
            "kind": ("a", "a", "b", "x", None, "ab"),
            "text": ("1,2", "a1|3", "7", "", None, "b2.5,x"),
            "qty": (0, 1, 2, 3, None),
            "label": (0, 1, None),
            "payload": ('{"device": {"os": "ios"}}', '{"device": {}}', "no json", None),
            "vec": ([1.0, 2.0, 3.5], [0.0, -1.0, 2.0], [4.0, 4.0, 4.0], None),
            "score": (1, 5, 9, None),
            "status": ("paid", "open", None),
            "category": ("food", "toys"),
            "country": ("de", "us", None),
        }
        if name in options:
            found = self.pick(options[name])
            return 1 if name == "user_id" and found is None and index < 8 and self.chance(0.9) else found
        if kind in ("timestamp", "date", "timestamp_ntz") or name == "at":
            return None if self.chance(0.05) and name not in ("seen_at",) else self._timestamp()
        if kind == "double":
            return self.pick((0.0, 1.25, 2.5, 10.0, -3.0, 100.5, None))
        if kind == "boolean":
            return self.pick((True, False, None))
        if kind.startswith("decimal"):
            return self.pick((Decimal("0.10"), Decimal("12.34"), None))
        return self.pick((1, 2))


def _as_kind(moment: datetime | None, kind: str, unit: str, zone: ZoneInfo) -> Any:
    """The instant as the registry's type for it."""
    if moment is None or kind == "timestamp":
        return moment
    if kind == "date":
        return date(moment.year, moment.month, moment.day)
    if kind == "timestamp_ntz":
        return moment.astimezone(zone).replace(tzinfo=None)
    micros = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return micros // {"s": 1_000_000, "ms": 1000, "us": 1}[unit]
