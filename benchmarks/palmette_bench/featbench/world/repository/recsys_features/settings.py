"""The settings of a view."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Input(_Strict):
    """A table that the view reads."""

    table: str
    path: str
    format: Literal["parquet", "orc"] = "parquet"


class Sink(_Strict):
    """Where the view goes."""

    path: str
    format: Literal["parquet", "orc"] = "parquet"
    partition_by: str | None = None


class ViewSettings(_Strict):
    """A view: its grain, inputs, columns with their Spark types, and sink."""

    view: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    owner: str
    description: str = ""
    grain: list[str] = Field(min_length=1)
    inputs: list[Input] = Field(min_length=1)
    columns: dict[str, str] = Field(min_length=1)
    sink: Sink

    @model_validator(mode="after")
    def inputs_are_named_once(self) -> ViewSettings:
        names = [source.table for source in self.inputs]
        if len(names) != len(set(names)):
            raise ValueError(f"an input is named twice: {', '.join(sorted(names))}")
        if both := set(self.grain) & set(self.columns):
            raise ValueError(f"columns repeat the grain: {', '.join(sorted(both))}")
        return self

    @classmethod
    def load(cls, path: str | Path) -> ViewSettings:
        """The settings in a YAML file."""
        return cls.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
