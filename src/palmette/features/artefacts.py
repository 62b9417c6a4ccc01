"""Artefacts of a feature run, which its actors exchange."""

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field

from palmette.documents import Model
from palmette.engine.actor import TextFile

Need = Literal[
    "read_table", "write_table", "load_config", "build_session", "divide", "latest_per_key", "before_cutoff",
    "in_window",
]  # fmt: skip
"""A task for which a feature script may call a function of the repository; `needs.yaml` has what each does."""

Role = Literal["load", "build", "write", "main"]
"""The task of a predefined function: loads the sources, builds the features, writes them, or runs all of it."""


class RunRequest(Model):
    """The request of a run, from which all other artefacts are made. Texts are those of the files."""

    fsc: TextFile
    dfr: TextFile
    run: TextFile


HOLE = "raise NotImplementedError"
"""The body of a function that a skeleton leaves open."""


class Parameter(Model):
    name: str
    annotation: str = ""
    """Source text; empty if there is none."""
    default: str | None = None
    """Source text."""
    keyword_only: bool = False


class FunctionShape(Model):
    """A predefined function of the team's feature scripts."""

    name: str
    role: Role
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""


class ScriptStyle(Model):
    """Style of the team's feature scripts, independent of the view."""

    imports: dict[str, str] = Field(default_factory=dict)
    """Local names of modules and classes by dotted name, e.g. `pyspark.sql.functions` to `sf`."""
    statements: dict[str, str] = Field(default_factory=dict)
    """The import statement of each of them, as the team writes it."""
    docstrings: Literal["google", "numpy", "sphinx", "plain", "none"] = "plain"
    helpers: Literal["public", "private", "method", "none"] = "public"
    """Naming of functions that are not predefined, or private methods; `none` if scripts have no others."""
    helpers_first: bool = False
    """Whether they stand above the function that builds the features."""
    casts: bool = False
    """Whether every output column is cast, even if it already has the right type."""
    type_objects: bool = False
    """Whether casts use `LongType()` rather than `"bigint"`."""
    sorted: bool = False
    """Whether the output is sorted by its keys."""
    constant: str = ""
    """The annotation of module constants, e.g. `Final[{type}]`; empty if they have none."""


class ScriptEntry(Model):
    """The team's usual way to run a feature script. Arguments hold `{config}`, `{cutoff}`, `{view}` and `{day}`, which
    the cut-off ends."""

    kind: Literal["script", "function", "driver", "none"] = "script"
    target: str = ""
    """For a function, its name in the script; for a driver, its path in the repository."""
    arguments: tuple[str, ...] = ()
    as_module: bool = False
    """Whether a command names the module (`python -m`), because the file imports its own package."""
    cutoff_format: str = ""
    """Format for `strftime`; ISO 8601 with an offset if empty."""
    source: str = ""
    """The file that shows this call, e.g. `README.md`."""


class FeatureFunctions(Model):
    """The shape of scripts with one decorated function per feature."""

    decorator: str
    """Its source without `@`, with `{name}` and `{dtype}` for those of the feature."""
    parameters: tuple[Parameter, ...]
    key: str = ""
    """The module constant that names the key; empty if there is none."""


class Conventions(Model):
    """Conventions of the team's feature scripts, read from its README and from neighbouring scripts."""

    package: str = ""
    """Import name of the package of feature scripts, e.g. `offers.features`."""
    script_path: str
    """Path with `{view}`, e.g. `src/offers/features/{view}.py`."""
    test_path: str
    config_path: str
    functions: tuple[FunctionShape, ...]
    """The predefined functions in file order, one for each role."""
    config_option: str = "--config"
    """Command-line options of `main`."""
    as_of_option: str = "--as-of"
    skeleton: str = ""
    """A neighbour's script, adapted to this view, with a statement in the place of what builds features; or empty."""
    model: str = ""
    """Path of that neighbour."""
    feature_functions: FeatureFunctions | None = Field(default=None, exclude_if=lambda value: value is None)
    """If scripts have one decorated function per feature."""
    query_path: str = Field(default="", exclude_if=lambda value: not value)
    """Path with `{view}` of the SQL file with the query that a script runs; empty if scripts compute in PySpark."""
    owner: str = ""
    """The class that defines the build function as a method; empty for a plain function."""
    style: ScriptStyle = ScriptStyle()
    entry: ScriptEntry = ScriptEntry()
    instance: str = ""
    """The expression that creates an object of `owner` in tests."""
    instance_imports: tuple[str, ...] = ()
    """The statements that import the names in it."""
    linters: tuple[tuple[str, ...], ...] = ()
    """Commands of the team's linters, without files, e.g. `("ruff", "check")`."""
    naive_cutoffs: bool = False
    """Whether the build function may be called with a cut-off without a zone."""
    docstring_style: str = ""
    """The first lines of a neighbour's module docstring, as an example of tone and required sections."""
    fixture: str = ""
    """The team's fixture for a SparkSession; empty if tests must define one."""
    formatter: tuple[str, ...] = ()
    """Command that formats files, e.g. `("ruff", "format")`; empty if there is none."""
    line_length: int = 100
    rules: tuple[str, ...] = ()
    """Checkable rules of the README, verbatim."""
    departures: tuple[str, ...] = ()
    """Differences between the new script and its neighbours, as sentences for the reviewer."""

    @property
    def is_query(self) -> bool:
        """Whether the script is a query, which a driver of the team finds by the view's name."""
        return self.script_path.endswith(".sql")

    @property
    def names_query(self) -> bool:
        """Whether the script only names a query to a module of the team."""
        return bool(self.query_path and self.skeleton) and HOLE not in self.skeleton

    @property
    def has_builder(self) -> bool:
        """Whether the script has a build function; otherwise checks and tests define one that joins its parts."""
        return not self.is_query and not self.names_query and self.feature_functions is None

    def module(self, view: str) -> str:
        """The import name of the view's script."""
        return ".".join(filter(None, (self.package, PurePosixPath(self.script_path.replace("{view}", view)).stem)))

    def module_path(self, view: str) -> str:
        """The path of the view's script; of a query, that of the module with which checks run it."""
        return f"{view}_query.py" if self.is_query else self.script_path.replace("{view}", view)


class Config(Model):
    """The view's configuration in the team's own format."""

    file: TextFile
    class_name: str
    """The team's `module:Class`; empty if the team has none."""
    built_by: Literal["model_validate", "keywords", "type_adapter"] = Field(
        default="model_validate", exclude_if=lambda value: value == "model_validate"
    )
    """How to create an object of the class: by its own method, its constructor, or Pydantic's adapter."""
    accessors: dict[str, str]
    """By fact: a Python expression on the parsed object `config`. Facts are `source:<table>` (path or name to read),
    `output`, `view` and `partition`, e.g. {"source:redemptions": "config.inputs['redemptions'].path"}.
    """
    storage: Literal["parquet", "orc", "delta", "table"] = Field(
        default="parquet", exclude_if=lambda value: value == "parquet"
    )
    """The type of `output`: a folder with files of this format, or a catalogue `table`."""
    places: dict[str, tuple[str | int, ...]] = Field(default_factory=dict)
    """By fact: the keys of its value, from the root of the document."""


class Utility(Model):
    """A function of the repository that meets a need, tested on small inputs."""

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
    """How its result differed, with a counter-example."""


class Utilities(Model):
    chosen: tuple[Utility, ...] = ()
    rejected: tuple[RejectedUtility, ...] = ()
    """Candidates that failed their proofs."""


class Template(Model):
    """The skeleton of the script: docstring, imports, predefined functions without bodies."""

    file: TextFile
    conventions: Conventions


class TestCase(Model):
    """Input rows and the expected output rows, computed by the independent oracle or written by the author."""

    __test__ = False

    name: str
    """In snake_case; becomes the name of the test."""
    why: str
    """The path or boundary that the case covers, as one sentence."""
    as_of: str | None
    """Cut-off, ISO 8601 in UTC; None if the spine has the cut-offs."""
    given: dict[str, tuple[dict[str, Any], ...]]
    """By table: rows of JSON values (see `palmette.features.frame_json` for each type)."""
    expect: tuple[dict[str, Any], ...]
    """By row: the values that it specifies, and its keys."""
    example: bool = False
    """Whether it is one of the specification's own examples."""
    partial: bool = False
    """Whether the output may have more rows than expected."""

    def of_columns(self, columns: Mapping[str, Collection[str]]) -> Self:
        """The case with only these columns of each table."""
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
    query: TextFile | None = Field(default=None, exclude_if=lambda value: value is None)
    """The file with the query that the script runs."""

    @property
    def files(self) -> tuple[TextFile, ...]:
        return (self.file, self.query) if self.query else (self.file,)


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
