"""The run file: *when, where and how* a feature view is built. Paths are relative to this file."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from palmette.documents import Model, PathText
from palmette.llm.messages import Settings
from palmette.llm.opening import ModelChoice

YEARS = (1700, 2200)
"""What Spark, Arrow and pandas can all hold, and every window before it."""


def _written(value: object) -> object:
    """Numbers are not taken for seconds since 1970."""
    if isinstance(value, datetime) or (isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value)):
        return value
    raise ValueError(f"{value!r} is not an instant; write it like '2025-03-31T00:00:00Z'")


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


Text = Annotated[str, StringConstraints(min_length=1)]
Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_within_calendar)]
Master = Annotated[
    str, _fits(r"local(\[(\*|\d+)(,\d+)?\])?|yarn|(spark|k8s|sc)://.+", "'local[2]', 'yarn', 'spark://HOST:PORT'")
]
Memory = Annotated[str, _fits(r"[1-9]\d*[kmgKMG]", "'512m' or '2g'")]


class Repository(Model):
    """The team's repository; it is never changed in place."""

    path: PathText = "."
    """A git checkout."""
    base: Text | None = None
    """Branch to start from; the current one when left out."""
    readme: PathText = "README.md"
    """The conventions of the code base, relative to the repository."""
    utilities: tuple[PathText, ...] = ()
    """Files or folders with reusable functions, relative to the repository; found by looking when left out."""
    config_class: Text | None = None
    """The team's class for a view's configuration, Pydantic or a dataclass, e.g. `offers.config:FeatureViewConfig`."""
    allow: tuple[str, ...] = ()
    """Globs of paths that the pull request may touch, beside the three files of the view itself; hidden folders and
    files such as `conftest.py` only if they stand here."""
    test_command: Text | None = None
    """Runs the team's whole suite, e.g. `python -m pytest -q`; pytest when left out."""


class Interval(Model):
    """The cut-offs to build: `as_of`, or the days of [start, end) for `time.cutoff: partition`."""

    as_of: Instant | None = None
    """One cut-off, with its offset from UTC."""
    start: Instant | None = None
    """Beginning of the first day."""
    end: Instant | None = None
    """End of the last day."""


class Destination(Model):
    """Where the finished view is written; either one."""

    path: PathText | None = None
    """Folder to write to."""
    table: Text | None = None
    """Catalogue name."""
    format: Literal["parquet", "orc", "delta"] = "parquet"
    """Of the files."""

    @property
    def storage(self) -> Literal["parquet", "orc", "delta", "table"]:
        """The format of the files; `table` for a table of the catalogue."""
        return "table" if self.path is None else self.format


class Spark(Model):
    master: Master = "local[2]"
    """`local[*]`, a cluster's master URL, or a Spark Connect URL (`sc://...`)."""
    memory: Memory = "1g"
    """Driver memory of a local session."""


class Budget(Model):
    steps: int = Field(default=40, ge=1)
    """Most steps of actors."""
    attempts: int = Field(default=80, ge=1)
    """Most attempts of all actors together; of a list's elements that do well, only the first counts."""
    minutes: float = Field(default=60, gt=0)
    """Most minutes."""
    tokens: int | None = Field(default=None, ge=1)
    """Most tokens of language models, prompts and answers together; a call that could lead beyond is not made.
    400000 when neither tokens nor money is limited."""
    money: float | None = Field(default=None, gt=0)
    """Most US dollars for language models; needs models whose price is known."""


class ModelSettings(Settings):
    """How models are asked."""


class PullRequest(Model):
    target: Literal["local", "github", "gitlab"] = "local"
    """`local`: a branch, its description as a Markdown file, and a patch."""
    remote: Text | None = None
    """Git remote to push to; for `local`, nothing is pushed when left out."""
    project: Text | None = None
    """`owner/name` on the forge; read from the remote's URL when left out."""
    api: Text | None = None
    """Base URL of the forge's API, for one's own installation."""
    token_env: Text | None = None
    """Environment variable that holds the token; GITHUB_TOKEN or GITLAB_TOKEN when left out."""
    branch: Text | None = None
    """`features/<feature view>` when left out."""
    draft: bool = False
    """Whether it is opened as a draft."""


class Run(Model):
    """A run file."""

    run: Literal[1]
    """Version of this format."""
    fsc: PathText
    """Path of the feature specification."""
    dfr: PathText
    """Path of the registry."""
    repository: Repository = Repository()
    """Where the code goes."""
    interval: Interval = Interval()
    """Not needed where the spine carries the cut-offs."""
    output: Destination
    """Where the data goes."""
    spark: Spark = Spark()
    """Where it runs."""
    planner: Literal["offline", "model", "sequential", "random"] | None = None
    """Who decides on the next step; left out: `model` where a model answers in the role `planner`, else `offline`."""
    topology: PathText | None = None
    """Path of a topology of your own; the built-in one when left out."""
    model: Text = "offline"
    """Who answers the agents' tasks: `provider:name`; `offline`, the built-in rules, needs no key and no network."""
    models: dict[str, Text] = Field(default_factory=dict)
    """By role (the name of an agent, or `planner`): the model where it is another one."""
    fallback: tuple[Text, ...] = ()
    """Models that answer, in this order, when one cannot be reached."""
    model_settings: ModelSettings = ModelSettings()
    """How models are asked."""
    human: Literal["console", "none"] = "none"
    """Who is asked when something is open; `none` answers that nobody is there."""
    seed: int = 0
    """Of everything that is drawn."""
    budget: Budget = Budget()
    """Reaching it ends the run cleanly."""
    approve: tuple[Literal["pull_request"], ...] = ()
    """What a person must agree to first."""
    pull_request: PullRequest = PullRequest()
    """How the result is handed over."""

    @property
    def decider(self) -> str:
        """Name of the planner: the one asked for, else a model where one answers in that role, else the rules."""
        return ModelChoice(model=self.model, models=self.models).decider(self.planner)
