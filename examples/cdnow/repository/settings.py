"""Settings of a job, read from `conf/<job>.yml`."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Table(BaseModel):
    """A table that a job reads."""

    model_config = ConfigDict(extra="forbid")

    name: str
    path: str
    format: str = "parquet"


class JobSettings(BaseModel):
    """Everything that a job needs to know."""

    model_config = ConfigDict(extra="forbid")

    job: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    tables: list[Table] = Field(min_length=1)
    columns: dict[str, str] = Field(description="Column of the result to its type.")
    output_path: str
    output_partition: str | None = None

    @model_validator(mode="after")
    def tables_have_different_names(self) -> JobSettings:
        names = [table.name for table in self.tables]
        if len(names) != len(set(names)):
            raise ValueError(f"tables have the same name: {names}")
        return self


def load_settings(path: str) -> JobSettings:
    """The settings in a YAML file."""
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return JobSettings(**document)
