"""What the actors of the feature environment hand to each other: the artefacts of a feature run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from pydantic import Field

from palmette.documents import Model
from palmette.engine.actor import TextFile

Need = Literal["read_table", "write_table", "load_config", "build_session", "divide", "latest_per_key", "before_cutoff"]
"""What a feature script may take from the repository instead of writing it itself.

read_table(spark, path or name[, format]) -> DataFrame; write_table(df, destination[, partition]) -> None;
load_config(path) -> the team's config object; build_session(app name) -> SparkSession;
divide(numerator: Column, denominator: Column) -> Column, null where the denominator is zero or null;
latest_per_key(df, keys, order column) -> the newest row of each key;
before_cutoff(df, time column, as_of[, days]) -> the rows in [as_of - days, as_of).
"""

Role = Literal["load", "build", "write", "main"]
"""What a predefined function of a feature script does: reads sources, builds the features, writes them, runs it all."""


class RunRequest(Model):
    """What the run was asked for; the start of everything. Texts as read from the files."""

    fsc: TextFile
    dfr: TextFile
    run: TextFile


class Parameter(Model):
    name: str
    annotation: str = ""
    """As source text; empty when there is none."""
    default: str | None = None
    """As source text."""


class FunctionShape(Model):
    """A predefined function of the team's feature scripts."""

    name: str
    role: Role
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""


class ScriptStyle(Model):
    """Habits of the team's feature scripts that have nothing to do with any view."""

    imports: dict[str, str] = Field(default_factory=dict)
    """What scripts call modules and classes: dotted name to local name, e.g. `pyspark.sql.functions` to `sf`."""
    statements: dict[str, str] = Field(default_factory=dict)
    """The import statement of each of those, as the team writes it."""
    docstrings: Literal["google", "numpy", "sphinx", "plain", "none"] = "plain"
    helpers: Literal["public", "private", "none"] = "public"
    """How functions beside the predefined ones are named; `none` where scripts have no others."""
    casts: bool = False
    """Whether each output column is cast, whatever type it has."""
    type_objects: bool = False
    """Whether casts take `LongType()` and not `"bigint"`."""
    sorted: bool = False
    """Whether the output is sorted by its keys."""


class Entry(Model):
    """The team's usual way to run a feature script. Arguments hold `{config}`, `{cutoff}` and `{view}`."""

    kind: Literal["script", "function", "driver", "none"] = "script"
    target: str = ""
    """Of a function: its name in the script. Of a driver: its path in the repository."""
    arguments: tuple[str, ...] = ()
    cutoff_format: str = ""
    """For `strftime`; ISO 8601 with an offset when empty."""
    source: str = ""
    """Where that call is seen, e.g. `README.md`."""


class Conventions(Model):
    """How the team's feature scripts look, read from its README and from the neighbouring scripts."""

    package: str = ""
    """Import name of the package that feature scripts live in, e.g. `offers.features`."""
    script_path: str
    """With `{view}`, e.g. `src/offers/features/{view}.py`."""
    test_path: str
    config_path: str
    functions: tuple[FunctionShape, ...]
    """The predefined functions, in the order of the file; one of each role."""
    tables_as: Literal["dict", "each"] = "dict"
    """Whether `build` takes its tables as one dict by table name, or as one DataFrame parameter per table."""
    config_option: str = "--config"
    """Command-line options of `main`."""
    as_of_option: str = "--as-of"
    skeleton: str = ""
    """A neighbour's script, filled for this view up to the body of the function that builds; empty where none fits."""
    model: str = ""
    """Path of that neighbour."""
    owner: str = ""
    """The class whose method builds the features; empty for a function."""
    style: ScriptStyle = ScriptStyle()
    entry: Entry = Entry()
    instance: str = ""
    """How an object of `owner` is made in tests, as code."""
    linters: tuple[tuple[str, ...], ...] = ()
    """Commands of the team's linters, to be followed by files, e.g. `("ruff", "check")`."""
    naive_cutoffs: bool = False
    """Whether the function that builds may be given a cut-off without a zone."""
    docstring_style: str = ""
    """The first lines of a neighbour's module docstring, for tone and required sections."""
    fixture: str = ""
    """The team's fixture that gives a SparkSession; empty where tests need one of their own."""
    formatter: tuple[str, ...] = ()
    """Command that formats files, e.g. `("ruff", "format")`; empty for none."""
    line_length: int = 100
    rules: tuple[str, ...] = ()
    """Checkable rules found in the README, as written there."""
    departures: tuple[str, ...] = ()
    """Where new scripts are unlike their neighbours, as sentences for the reviewer."""


class Construction(Model):
    """How a part of a document becomes what a class of the team declares; all else is as the document has it."""

    kind: Literal["keywords", "model", "enum", "list", "tuple", "set", "frozenset", "mapping"]
    """A class that takes what the part holds by name, a Pydantic one, an enumeration; or a collection of such."""
    class_name: str = ""
    """`module:Class`; empty for a collection."""
    fields: dict[str, Construction] = Field(default_factory=dict)
    """By name: what has to be made before the object is."""
    items: Construction | None = None
    """Of a collection: what it holds, as its values if it is a mapping."""
    optional: bool = False
    """Of a field: whether the document may lack it, or hold something else that stays as it is, such as null."""


class Config(Model):
    """The view's configuration in the team's own format."""

    file: TextFile
    class_name: str
    """`module:Class` of the team; empty when the team has none."""
    construction: Construction | None = Field(default=None, exclude_if=lambda value: value is None)
    """How a document becomes an object of a class that is no Pydantic one, which reads documents itself."""
    accessors: dict[str, str]
    """Fact to Python expression on the parsed object named `config`: `source:<table>` (path or name to read),
    `output`, `view`, `partition`, e.g. {"source:redemptions": "config.inputs['redemptions'].path"}."""
    storage: Literal["parquet", "orc", "delta", "table"] = Field(
        default="parquet", exclude_if=lambda value: value == "parquet"
    )
    """What `output` is: a folder with files of this format, or a `table` of the catalogue."""
    places: dict[str, tuple[str | int, ...]] = Field(default_factory=dict)
    """The same facts to their keys in the document, from its top."""


class Utility(Model):
    """A function of the repository that fits a need, proven by running it on small inputs."""

    need: Need
    name: str
    module: str
    """Import path."""
    call: str
    """How to call it, with the need's argument names in braces, e.g. `safe_divide({numerator}, {denominator})`."""
    doc: str = ""


class RejectedUtility(Model):
    name: str
    module: str
    need: Need
    reason: str
    """What it did otherwise, with the counter-example."""


class Utilities(Model):
    chosen: tuple[Utility, ...] = ()
    rejected: tuple[RejectedUtility, ...] = ()
    """Candidates that ran but do not do what the features need, and functions of the team that no script can call."""


class Template(Model):
    """The skeleton of the script: docstring, imports, predefined functions without bodies."""

    file: TextFile
    conventions: Conventions


class TestCase(Model):
    """Rows in and the rows that the specification demands: by the independent oracle, or as its author wrote them."""

    __test__ = False

    name: str
    """snake_case; becomes the name of the test."""
    why: str
    """The path or boundary that it covers, as one sentence."""
    as_of: str | None
    """Cut-off, ISO 8601 in UTC; None when the spine carries it."""
    given: dict[str, tuple[dict[str, Any], ...]]
    """Table to rows, JSON values (see `palmette.features.frame_json` for each type)."""
    expect: tuple[dict[str, Any], ...]
    example: bool = False
    """Whether it is one of the specification's own examples."""
    partial: bool = False
    """Whether the output has further rows."""

    def of_columns(self, columns: Mapping[str, Collection[str]]) -> TestCase:
        """The case with these columns of each table alone."""
        given = {
            table: tuple({name: value for name, value in row.items() if name in columns[table]} for row in rows)
            for table, rows in self.given.items()
        }
        return self.model_copy(update={"given": given})


class TestCases(Model):
    __test__ = False

    cases: tuple[TestCase, ...]


class Tests(Model):
    """The test file of the view."""

    __test__ = False

    file: TextFile


class Script(Model):
    """The feature script."""

    file: TextFile
    entry: str
    """The function that builds the features from data frames (role `build`)."""


class FeatureDelivery(Model):
    """The pull request: branch, files and description."""

    repository: str
    """The team's checkout."""
    branch: str
    base: str
    files: tuple[str, ...]
    """Paths in the repository that the branch adds or changes."""
    body: TextFile
    """The description, in Markdown."""
    patch: TextFile
    url: str = ""
    """On the forge; empty for a local pull request."""
    pushed_to: str = ""
    """Name of the git remote; empty when nothing was pushed."""
