"""The run file: *when, where and how* a feature view is built; and the JSON Schemas of all three file formats.

Paths are relative to the run file.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, Field

from palmette.delivery.deliver import Target, Text
from palmette.documents import Model, PathText
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.llm.messages import Settings
from palmette.llm.opening import ModelChoice

YEARS = (1700, 2200)
"""Years that Spark, Arrow and pandas can hold, with every window before them."""


def _written(value: object) -> object:
    """Refuses numbers, which pydantic reads as seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value)):
        return value
    raise ValueError(f"{value!r} is not a timestamp; write it like '2025-03-31T00:00:00Z'")


def _within_calendar(value: datetime) -> datetime:
    if YEARS[0] <= value.year <= YEARS[1]:
        return value
    raise ValueError(f"the year {value.year} is outside {YEARS[0]} to {YEARS[1]}")


def _fits(pattern: str, example: str) -> AfterValidator:
    def check(value: str) -> str:
        if re.fullmatch(pattern, value):
            return value
        raise ValueError(f"{value!r} is not understood; write it like {example}")

    return AfterValidator(check)


Timestamp = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_within_calendar)]
Master = Annotated[
    str, _fits(r"local(\[(\*|\d+)(,\d+)?\])?|yarn|(spark|k8s|sc)://.+", "'local[2]', 'yarn', 'spark://HOST:PORT'")
]
Memory = Annotated[str, _fits(r"[1-9]\d*[kmgKMG]", "'512m' or '2g'")]


class Repository(Model):
    """The team's repository. Runs work on a checkout of their own."""

    path: PathText = "."
    """A git checkout."""
    base: Text | None = None
    """Branch to start from. Default: the current one."""
    readme: PathText = "README.md"
    """File with the conventions, relative to the repository."""
    utilities: tuple[PathText, ...] = ()
    """Files or folders of reusable functions, relative to the repository. Default: searched for."""
    config_class: Text | None = None
    """The team's configuration class, Pydantic or a dataclass, e.g. `offers.config:FeatureViewConfig`."""
    allow: tuple[str, ...] = ()
    """Globs of further paths that the pull request may touch. Hidden folders and files such as `conftest.py` need to be
    listed."""
    test_command: Text | None = None
    """Command of the team's test suite, e.g. `python -m pytest -q`. Default: pytest."""


class CutoffInterval(Model):
    """The cut-offs to build: `as_of`, or the days of [start, end) for `time.cutoff: partition`."""

    as_of: Timestamp | None = None
    """Cut-off, with an offset from UTC."""
    start: Timestamp | None = None
    """Start of the first day."""
    end: Timestamp | None = None
    """End of the last day."""


class Destination(Model):
    """Where the view is written: either `path` or `table`."""

    path: PathText | None = None
    """Folder."""
    table: Text | None = None
    """Name in the catalogue."""
    format: Literal["parquet", "orc", "delta"] = "parquet"
    """Format of the files."""

    @property
    def storage(self) -> Literal["parquet", "orc", "delta", "table"]:
        """The format of the files; `table` for a table of the catalogue."""
        return "table" if self.path is None else self.format


class Spark(Model):
    master: Master = "local[2]"
    """`local[*]`, the URL of a cluster, or a Spark Connect URL (`sc://...`). Tested: local, standalone, Connect, with
    Spark 4.3; scripts on 3.5, too."""
    memory: Memory = "1g"
    """Driver memory of a local session."""


class FeatureBudget(Model):
    steps: int = Field(default=40, ge=1)
    """Maximum number of actor steps."""
    attempts: int = Field(default=80, ge=1)
    """Maximum number of attempts of all actors. Of several successful elements of a list, one counts."""
    minutes: float = Field(default=60, gt=0)
    """Maximum number of minutes."""
    tokens: int | None = Field(default=None, ge=1)
    """Maximum number of prompt and answer tokens; a call that could exceed it is not made. Default without `money`:
    400000."""
    money: float | None = Field(default=None, gt=0)
    """Maximum cost of language models in US dollars; needs models with known prices."""


class ModelSettings(Settings):
    """Settings of model calls."""


class PullRequest(Target):
    branch: Text | None = None
    """Default: `features/<feature view>`."""


class Run(Model):
    """A run file."""

    run: Literal[1]
    """Format version."""
    fsc: PathText
    """Path of the feature specification."""
    dfr: PathText
    """Path of the registry."""
    repository: Repository = Repository()
    """The repository of the code."""
    interval: CutoffInterval = CutoffInterval()
    """The cut-offs. Not needed for `cutoff: spine`."""
    output: Destination
    """The written data."""
    spark: Spark = Spark()
    """The Spark session."""
    planner: str | None = None
    """Decides on the next step: `offline`, `model`, `sequential`, `random`, or `package.module:Class`. Default: `model`
    if a model has the role `planner`, else `offline`."""
    planner_calls: Literal["route", "step"] = "route"
    """A planner on a model is asked after failures, or before every step and writes each actor's prompt."""
    topology: PathText | None = None
    """Path of a topology. Default: the built-in one."""
    model: Text = "offline"
    """The model, as `provider:name`. `offline`, the built-in rules, needs no key and no network."""
    models: dict[str, Text] = Field(default_factory=dict)
    """Other models by role: the name of an agent, or `planner`."""
    fallback: tuple[Text, ...] = ()
    """Models to try, in order, when one cannot be reached."""
    model_settings: ModelSettings = ModelSettings()
    """Settings of model calls."""
    human: Literal["console", "web", "none"] = "none"
    """Where questions go. `none`: no person is available."""
    seed: int = 0
    """Random seed."""
    budget: FeatureBudget = FeatureBudget()
    """Limits; reaching one ends the run cleanly."""
    approve: tuple[Literal["pull_request"], ...] = ()
    """What a person must approve first."""
    pull_request: PullRequest = PullRequest()
    """How the result is delivered."""

    @property
    def decider(self) -> str:
        """Name of the planner."""
        return ModelChoice(model=self.model, models=self.models).decider(self.planner)


PUBLISHED = "urn:palmette:schema"
"""Base of the schemas' `$id`, which editors and other schemas refer to."""
FORMATS: dict[str, type[BaseModel]] = {"fsc": FeatureSpec, "dfr": Registry, "run": Run}
"""Format name to model."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a format, with the docstrings as descriptions."""
    schema = FORMATS[name].model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{PUBLISHED}:{name}",
        **schema,
        "title": {"fsc": "Feature specification", "dfr": "Data frame registry", "run": "Run"}[name],
    }
