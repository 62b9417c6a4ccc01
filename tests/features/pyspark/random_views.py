"""Random valid specifications over a small lake, with frames and the right output."""

import random
from datetime import datetime
from typing import Any

from random_rows import AS_OF, Choices, Rows

from palmette.features.frame import Frame
from palmette.features.oracle import expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.resolve import resolve
from palmette.features.spec.view import View

ZONES = ("UTC", "UTC", "Europe/Berlin", "America/New_York")
TIMES = ("timestamp", "timestamp", "timestamp", "date", "bigint", "timestamp_ntz")
WINDOWS = ("all", "1d", "3d", "7d", "30d", "12h", "36h", "1h30m", "1d6h30s")


# Documents stand as a team writes them.
# fmt: off
class Maker(Choices):
    """One random document pair; all choices come from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))
        self.zone = self.pick(ZONES)
        self.registry = Registry.model_validate(self._registry())
        self.spec = FeatureSpec.model_validate(self._spec())

    def _windows(self) -> list[str]:
        return [window for window in WINDOWS if self.time_kind != "date" or window[-1] in "dl"]

    def view(self) -> View:
        return resolve(self.spec, self.registry)

    # registry

    def _registry(self) -> dict[str, Any]:
        self.time_kind = self.pick(TIMES)
        self.has_available = self.chance(0.4)
        self.has_partition = self.chance(0.4) and self.time_kind == "timestamp"
        return {"dfr": 1, "tables": [self._clicks(), self._orders(), self._items(), self._profiles(), self._tiers(),
                                     self._requests()]}

    def _clicks(self) -> dict[str, Any]:
        at: dict[str, Any] = {"name": "at", "type": self.time_kind}
        if self.time_kind == "bigint":
            at["unit"] = self.pick(("s", "ms", "us"))
        columns: list[dict[str, Any]] = [
            *_columns("click_id! bigint", "user_id bigint", "item_id string"), at,
            *_columns("amount double", "qty int", "price decimal(10,2)", "kind string", "text string",
                      "payload string", "flag boolean"),
            {"name": "vec", "type": "array<float>", **({"length": 3} if self.chance(0.7) else {})}]
        table: dict[str, Any] = {"name": "clicks", "kind": "event", "path": "clicks", "keys": ["click_id"],
                                 "event_time": "at", "columns": columns}
        if self.has_available:
            table["available_time"] = "loaded_at"
            columns += _columns("loaded_at timestamp")
        if self.has_partition:
            of = self.pick(("event_time", "available_time")) if self.has_available else "event_time"
            table["partitions"] = [{"column": "day", "of": of}]
            columns += _columns(self.pick(("day date", "day string")))
        return table

    def _orders(self) -> dict[str, Any]:
        return {"name": "orders", "kind": "event", "path": "orders", "keys": ["order_id"], "event_time": "ordered_at",
                "columns": _columns("order_id! bigint", "user_id bigint", "item_id string", "ordered_at timestamp",
                                    "total double", "status string")}

    def _items(self) -> dict[str, Any]:
        return {"name": "items", "kind": "dimension", "path": "items", "keys": ["id"],
                "columns": _columns("id! string", "category string", "list_price double")}

    def _profiles(self) -> dict[str, Any]:
        table: dict[str, Any] = {
            "name": "profiles", "kind": "snapshot", "path": "profiles", "keys": ["user_id"], "event_time": "seen_at",
            "columns": _columns("user_id! bigint", "seen_at timestamp", "country string", "score int")}
        if self.chance(0.4):
            table["available_time"] = "arrived_at"
            table["columns"] += _columns("arrived_at timestamp")
        return table

    def _tiers(self) -> dict[str, Any]:
        return {"name": "tiers", "kind": "scd2", "path": "tiers", "keys": ["user_id"], "valid_from": "valid_from",
                "valid_to": "valid_to", "columns": _columns(
                    "user_id! bigint", "valid_from timestamp", "valid_to timestamp", "tier string", "fee double")}

    def _requests(self) -> dict[str, Any]:
        return {"name": "requests", "kind": "event", "path": "requests", "keys": ["request_id"],
                "event_time": "asked_at",
                "columns": _columns("request_id! bigint", "user_id bigint", "item_id string", "asked_at timestamp",
                                    "label int")}

    # specification

    def _spec(self) -> dict[str, Any]:
        cutoff = self.pick(("run", "run", "spine", "spine", "partition"))
        self.grain = self.pick((["user_id"], ["user_id", "item_id"], ["user_id", "item_id"], ["item_id"]))
        entities = [{"name": key.removesuffix("_id"), "keys": [key]} for key in self.grain]
        spec: dict[str, Any] = {"fsc": 1, "feature_view": "random_view", "entities": entities,
                                "time": {"cutoff": cutoff, "zone": self.zone}}
        has_spine = cutoff == "spine" or self.chance(0.4)
        if has_spine:
            spec["spine"] = {"table": "requests", "keep": ["request_id", "label"]}
            if cutoff == "spine":
                spec["spine"]["cutoff"] = "asked_at"
            if self.chance(0.3):
                spec["spine"]["where"] = "label >= 0 or label is null"
        if cutoff == "partition" or self.chance(0.2):
            spec["output"] = {"partition": "day_of_view", "as_of": self.chance(0.5)}
        self.features: list[dict[str, Any]] = []
        sources = [self._click_source("seen")]
        if self.chance(0.4):
            sources.append(self._order_source())
        if self.chance(0.25) and "user_id" in self.grain:
            sources.append({"name": "profile_rows", "table": "profiles"})
            self._add("profile_rows", "max", "int", of="score", by=["user_id"])
            self._add("profile_rows", "count", "bigint", by=["user_id"], where="country = 'de'")
        if not has_spine:
            self._add("seen", "count", "bigint", window=self.pick(self._windows()))
        self._lookups()
        self._derive()
        spec["sources"] = sources
        spec["features"] = self.features
        return spec

    def _click_source(self, name: str) -> dict[str, Any]:
        self.numbers, self.texts, self.conditions = ["amount", "qty", "price"], ["kind"], list(_CONDITIONS)
        self.vectors = ["vec"]
        steps = [step for make in self.random.sample(self._steps(), self.random.randint(0,
                                                                                        5)) for step in _flat(make())]
        late = self._late_steps() if self.chance(0.5) else []
        for _ in range(self.random.randint(2, 7)):
            self._feature(name)
        return {"name": name, "table": "clicks", "steps": [*steps, *late]}

    def _order_source(self) -> dict[str, Any]:
        saved = self.numbers, self.texts, self.conditions, self.vectors
        self.numbers, self.texts, self.conditions, self.vectors = ["total"], ["status"], ["status = 'paid'"], []
        for _ in range(self.random.randint(1, 3)):
            self._feature("bought")
        self.numbers, self.texts, self.conditions, self.vectors = saved
        return {"name": "bought", "table": "orders",
                "steps": [{"filter": "total > 0.5 or status is null"}] if self.chance(0.5) else []}

    def _steps(self) -> list[Any]:
        return [
            lambda: {"filter": self.pick((*_CONDITIONS, "kind <> 'x' or kind is null"))},
            lambda: self._number("ratio", {"compute": {"ratio": "amount / qty",
                                                       "doubled": "amount * 2 + coalesce(qty, 0)"}}),
            lambda: self._number("rest", {"compute": {"rest": "qty % 3"}}),
            lambda: self._text("label",
                               {"compute": {"label": "case when amount > 5 then 'high' when amount is null then null "
                                                              "else concat('low-', coalesce(kind, '?')) end"}}),
            lambda: {"replace": {"column": "kind", "values": {"a": "alpha", "b": None}}},
            lambda: {"replace": {"column": "qty", "values": {"0": 7}}},
            lambda: self._number("text_number", {"extract": {"column": "text_number", "of": "text", "split": {
                "by": self.pick((",", "|", ".")), "part": self.pick((1, 2, -1))}}},
                {"convert": {"column": "text_number", "to": "double"}}),
            lambda: self._text("first_letter", {"extract": {"column": "first_letter", "of": "text", "regex": {
                "pattern": "([a-z])[0-9]", "group": 1}}}),
            lambda: self._text("device", {"extract": {"column": "device", "of": "payload",
                                                      "json_field": "device.os"}}),
            lambda: self._number("part", {"extract": {"column": "part", "of": "at", "date_part": self.pick(
                ("year", "month", "week", "day", "day_of_week", "day_of_year"))}}) if self.time_kind != "bigint" else
            {"filter": "click_id >= 0"},
            lambda: self._text("size", {"categorise": {"column": "size", "of": "amount", "buckets": [0, 2.5, 10],
                                                       "labels": ["none", "small", "medium", "large"]}}),
            lambda: self._text("kind_of", {"categorise": {"column": "kind_of", "cases": [
                {"when": "qty > 2 and flag", "then": "many"}, {"when": "kind like 'a%'", "then": "a"}],
                "otherwise": self.pick((None, "other"))}}),
            lambda: self._text("category", {"join": {"table": "items", "on": {"item_id": "id"},
                                                     "cardinality": "many_to_one",
                                                     "unmatched": self.pick(("keep", "keep", "drop")),
                                                     "columns": ["category", "list_price"]}}),
            lambda: self._text("home", {"join": {"table": "profiles", "on": ["user_id"], "cardinality": "many_to_one",
                                                 "unmatched": self.pick(("keep", "drop")),
                                                 "columns": {"home": "country", "points": "score"}}}),
            lambda: self._text("tier", {"join": {"table": "tiers", "on": ["user_id"], "cardinality": "many_to_one",
                                                 "columns": ["tier", "fee"]}}),
            lambda: self._flag("ordered", {"member": {"column": "ordered", "table": "orders", "on": ["user_id"],
                                                      "where": self.pick((None, "total > 1"))}}),
            lambda: self._flag("seen_before", {"member": {"column": "seen_before", "table": "clicks",
                                                          "on": ["user_id", "item_id"]}}),
            lambda: self._flag("is_listed", {"member": {"column": "is_listed", "table": "items",
                                                        "on": {"item_id": "id"}, "where": "list_price >= 0"}}),
        ]

    def _late_steps(self) -> list[Any]:
        by = self.pick((["user_id"], ["user_id"], ["item_id"], ["user_id", "item_id"]))
        options = [
            lambda: self._number("since", {"gap": {"column": "since", "by": by, "unit": self.pick(
                ("seconds", "minutes", "hours", "days"))}}),
            lambda: self._number("visit", {"session": {"column": "visit", "by": by, "longer": self.chance(0.3),
                                                       "timeout": self.pick(("30m", "1d", "12h"))}}),
            lambda: self._number("before", {"previous": {"column": "before", "of": self.pick(("amount",
                "amount / qty")),
                                                         "by": by, "offset": self.pick((1, 1, 2))}}),
            lambda: self._text("tier_now", {"join": {"table": "tiers", "on": ["user_id"],
                                                     "cardinality": "many_to_one",
                                                     "columns": {"tier_now": "tier"}, "at": "cutoff"}}),
            lambda: self._text("home_now", {"join": {"table": "profiles", "on": ["user_id"],
                                                     "cardinality": "many_to_one",
                                                     "columns": {"home_now": "country"}, "at": "cutoff"}}),
            lambda: self._flag("ordered_by_now", {"member": {"column": "ordered_by_now", "table": "orders",
                                                             "on": ["user_id", "item_id"], "at": "cutoff"}}),
        ]
        return [step for make in self.random.sample(options, self.random.randint(1, 3)) for step in _flat(make())]

    def _number(self, name: str, *steps: Any) -> Any:
        self.numbers.append(name)
        return steps[0] if len(steps) == 1 else list(steps)

    def _text(self, name: str, *steps: Any) -> Any:
        self.texts.append(name)
        return steps[0]

    def _flag(self, name: str, step: Any) -> Any:
        self.conditions.append(name)
        return step

    def _add(self, source: str, function: str, dtype: str, **more: Any) -> None:
        name = f"f{len(self.features)}_{function}"
        feature: dict[str, Any] = {"name": name, "dtype": dtype,
                                   "aggregate": {"function": function, "source": source, **more}}
        if dtype == "double" and self.chance(0.3):
            feature["default"] = self.pick((0, -1.5))
        if dtype == "string" and self.chance(0.3):
            feature["default"] = "none"
        self.features.append(feature)

    def _feature(self, source: str) -> None:
        more: dict[str, Any] = {"window": self.pick(self._windows())}
        if self.chance(0.4):
            more["where"] = self.pick(self.conditions)
        if len(self.grain) > 1 and self.chance(0.4):
            more["by"] = [self.pick(self.grain)]
        number, text = self.pick(self.numbers), self.pick(self.texts)
        vector = self.pick(self.vectors) if self.vectors else None
        options: list[Any] = [
            ("count", "bigint", {}), ("count", "int", {"of": text}), ("count_distinct", "bigint", {"of": text}),
            ("sum", "double", {"of": number}), ("avg", "double", {"of": number}), ("min", "double", {"of": number}),
            ("max", "string", {"of": text}), ("stddev", "double", {"of": number}), ("exists", "boolean", {}),
            ("share", "double", {"of": self.pick(self.conditions)}), ("first", "string", {"of": text}),
            ("last", "double", {"of": number}), ("last_k", "array<string>", {"of": text, "k": 3}),
            ("last_k", "array<double>", {"of": number, "k": 2, "distinct": True}),
            ("top_k", "array<string>", {"of": text, "k": 2}), ("mode", "string", {"of": text}),
            ("top_k", "array<string>", {"of": text, "k": 2, "rank_by": f"max({number})"}),
            ("mode", "string", {"of": text, "rank_by": f"count(distinct {number}) - 1"}),
            ("collect", "array<string>", {"of": text, "distinct": self.chance(0.5)}),
            ("percentile", "double", {"of": number, "p": self.pick((0.5, 0.9))}),
            ("days_since_last", self.pick(("double", "int")), {}),
        ]
        if vector:
            options += [("vector_mean", "array<float>", {"of": vector}), ("vector_sum", "array<double>",
                                                                          {"of": vector}),
                        ("vector_weighted_mean", "array<double>", {"of": vector, "weight": "qty"}),
                        ("vector_weighted_mean", "array<double>", {"of": vector, "half_life": "36h"})]
        if self.chance(0.15):
            sql = self.pick((f"sum({number}) / count(*)", "count(*) + 1", f"max({number}) - min({number})",
                             f"count(distinct {text})", f"coalesce(sum({number}), -1)"))
            name = f"f{len(self.features)}_sql"
            self.features.append({"name": name, "dtype": "double", "expression": {"sql": sql, "source": source,
                                                                                  **more}})
            return
        function, dtype, extra = self.pick(options)
        if function in ("first", "last", "last_k", "collect") and source == "seen" and self.chance(0.3):
            more["order"] = self.pick((["at desc", "click_id"], ["amount", "click_id"], ["kind desc",
                                                                                         "click_id desc"]))
        self._add(source, function, dtype, **more, **extra)

    def _lookups(self) -> None:
        if "user_id" in self.grain:
            for table, column, dtype in (("profiles", "country", "string"), ("profiles", "score", "int"),
                                         ("tiers", "tier", "string")):
                if self.chance(0.3):
                    self.features.append({"name": f"l{len(self.features)}", "dtype": dtype,
                                          "lookup": {"table": table, "column": column, "on": ["user_id"]}})
        if "item_id" in self.grain and self.chance(0.3):
            self.features.append({"name": f"l{len(self.features)}", "dtype": "string",
                                  "lookup": {"table": "items", "column": "category", "on": {"item_id": "id"}}})

    def _derive(self) -> None:
        numbers = [feature["name"] for feature in self.features if feature["dtype"] in ("double", "bigint", "int")]
        if len(numbers) >= 2 and self.chance(0.6):
            one, other = self.random.sample(numbers, 2)
            self.features.append({"name": "derived", "dtype": "double", "derive": f"{one} / {other}"})
            self.features.append({"name": "again", "dtype": "double", "default": 0,
                                  "derive": f"case when derived > 1 then derived - 1 else {one} end"})
            if self.chance(0.5):
                self.features.append({"name": "hour_of_view", "dtype": "int", "derive": "hour(as_of)"})


_CONDITIONS = ("kind = 'a'", "amount > 2", "qty between 1 and 2", "flag", "kind in ('a', 'b') and qty is not null",
               "not (amount > 2)", "qty % 2 = 1", "amount / qty > 1")


def _columns(*texts: str) -> list[dict[str, Any]]:
    """Columns as `name type`; `!` marks a name whose values are never null."""
    pairs = (text.split() for text in texts)
    return [{"name": name.rstrip("!"), "type": kind, "nullable": name[-1] != "!"} for name, kind in pairs]


def _flat(step: Any) -> list[Any]:
    return step if isinstance(step, list) else [step]


def example(seed: int) -> tuple[View, dict[str, Frame], datetime | None, Frame]:
    """A view with its input frames, cut-off and right output."""
    maker = Maker(seed)
    view = maker.view()
    frames = Rows(maker.random, maker.zone).frames(view)
    as_of = None if view.cutoff == "spine" else AS_OF
    return view, frames, as_of, expected(view, frames, as_of)
