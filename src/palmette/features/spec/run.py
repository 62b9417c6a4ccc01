"""The run file: *when, where and how* a feature view is built. Paths are relative to this file."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from palmette.documents import Model


class Repository(Model):
    """The team's repository; it is never changed in place."""

    path: str = "."
    """A git checkout."""
    base: str | None = None
    """Branch to start from; the current one when left out."""
    readme: str = "README.md"
    """The conventions of the code base, relative to the repository."""
    utilities: tuple[str, ...] = ()
    """Files or folders with reusable functions, relative to the repository; found by looking when left out."""
    config_class: str | None = None
    """The team's Pydantic class for a view's configuration, e.g. `offers.config:FeatureViewConfig`."""
    allow: tuple[str, ...] = ()
    """Globs of paths that the pull request may touch, beside the three files of the view itself."""
    test_command: str | None = None
    """Runs the team's whole suite, e.g. `python -m pytest -q`; pytest when left out."""


class Interval(Model):
    """The cut-offs to build: `as_of`, or the days of [start, end) for `time.cutoff: partition`."""

    as_of: AwareDatetime | None = None
    """One cut-off, with its offset from UTC."""
    start: AwareDatetime | None = None
    """Beginning of the first day."""
    end: AwareDatetime | None = None
    """End of the last day."""


class Destination(Model):
    """Where the finished view is written; either one."""

    path: str | None = None
    """Folder to write to."""
    table: str | None = None
    """Catalogue name."""
    format: Literal["parquet", "orc", "delta"] = "parquet"
    """Of the files."""


class Spark(Model):
    master: str = "local[2]"
    """`local[*]`, a cluster's master URL, or a Spark Connect URL (`sc://...`)."""
    memory: str = "1g"
    """Driver memory of a local session."""


class Budget(Model):
    steps: int = Field(default=40, ge=1)
    """Most steps of actors."""
    attempts: int = Field(default=80, ge=1)
    """Most attempts of all actors together."""
    minutes: float = Field(default=60, gt=0)
    """Most minutes."""


class PullRequest(Model):
    target: Literal["local", "github", "gitlab"] = "local"
    """`local`: a branch, its description as a Markdown file, and a patch."""
    remote: str | None = None
    """Git remote to push to; for `local`, nothing is pushed when left out."""
    project: str | None = None
    """`owner/name` on the forge; read from the remote's URL when left out."""
    api: str | None = None
    """Base URL of the forge's API, for one's own installation."""
    token_env: str | None = None
    """Environment variable that holds the token; GITHUB_TOKEN or GITLAB_TOKEN when left out."""
    branch: str | None = None
    """`features/<feature view>` when left out."""
    draft: bool = False
    """Whether it is opened as a draft."""


class Run(Model):
    """A run file."""

    run: Literal[1]
    """Version of this format."""
    fsc: str
    """Path of the feature specification."""
    dfr: str
    """Path of the registry."""
    repository: Repository = Repository()
    """Where the code goes."""
    interval: Interval = Interval()
    """Not needed where the spine carries the cut-offs."""
    output: Destination
    """Where the data goes."""
    spark: Spark = Spark()
    """Where it runs."""
    planner: Literal["offline", "sequential", "random"] = "offline"
    """Who decides on the next step."""
    topology: str | None = None
    """Path of a topology of your own; the built-in one when left out."""
    model: Literal["offline"] = "offline"
    """Who answers the agents' tasks; `offline` needs no key and no network."""
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
