"""Encoders of timestamps."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.automl.calls import function_step
from palmette.automl.candidates import ColumnUse
from palmette.automl.encoders.encoder import DataFacts, Encoder, Layout, Transformer
from palmette.automl.encoders.scaled import scaled

USUAL = ("month", "weekday", "days")


class Parts(Encoder):
    name = "datetime_parts"
    kind = "datetime"
    description = "Month, day, weekday and hour where they recur, and days since 1970 where they help."

    def transformer(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> Transformer:
        parts = {one.name: list(one.parts or USUAL) for one in columns}
        made = function_step("palmette.automl.encoders.datetime.datetime_parts.datetime_parts", parts=parts)
        return scaled(layout, facts, ("parts", made))

    def categorical(self, columns: Sequence[ColumnUse], layout: Layout, facts: DataFacts) -> tuple[bool, ...]:
        return (False,) * sum(len(one.parts or USUAL) for one in columns)

    def seconds(self, facts: DataFacts) -> float:
        return 1e-6 * facts.rows
