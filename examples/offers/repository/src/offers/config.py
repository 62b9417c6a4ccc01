"""The configuration of a feature view: one YAML file per view, parsed into `FeatureViewConfig`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")


class _Closed(BaseModel):
    """Typos in keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceConfig(_Closed):
    """A table that the view reads."""

    path: str = Field(description="File, folder or catalogue name of the table.")
    format: Literal["parquet", "csv", "json", "orc", "delta"] = "parquet"
    event_time: str | None = Field(default=None, description="Column that says when it happened.")
    available_time: str | None = Field(
        default=None, description="Column that says when the row could be read."
    )
    partitioned_by: str | None = None


class OutputConfig(_Closed):
    """Where the view is written."""

    path: str
    format: Literal["parquet", "orc", "delta"] = "parquet"
    partition_by: str | None = None


class FeatureConfig(_Closed):
    """A column of the view."""

    name: str
    dtype: str = Field(description="Spark SQL type.")
    description: str = ""
    nullable: bool = True

    @field_validator("name")
    @classmethod
    def name_is_snake_case(cls, name: str) -> str:
        if not SNAKE_CASE.fullmatch(name):
            raise ValueError(f"feature name {name!r} is not snake_case")
        return name


class FeatureViewConfig(_Closed):
    """A feature view: what it is about, what it reads, what it computes and where it writes."""

    name: str
    owner: str
    description: str = ""
    entity_keys: list[str] = Field(min_length=1)
    sources: dict[str, SourceConfig] = Field(min_length=1)
    features: list[FeatureConfig] = Field(min_length=1)
    output: OutputConfig

    @field_validator("name")
    @classmethod
    def name_is_snake_case(cls, name: str) -> str:
        if not SNAKE_CASE.fullmatch(name):
            raise ValueError(f"view name {name!r} is not snake_case")
        return name

    @model_validator(mode="after")
    def columns_are_unique(self) -> FeatureViewConfig:
        names = [*self.entity_keys, *(feature.name for feature in self.features)]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"repeated columns: {', '.join(repeated)}")
        return self

    @classmethod
    def from_yaml(cls, path: str | Path) -> FeatureViewConfig:
        """The configuration in the YAML file at `path`."""
        return cls.model_validate(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
