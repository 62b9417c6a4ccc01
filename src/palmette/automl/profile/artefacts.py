"""The profile of a data set. Every figure has six significant digits and comes from the training rows."""

from __future__ import annotations

from typing import Literal

from palmette.automl.data.artefacts import Aim, HoldOut, Kind
from palmette.documents import Model

Severity = Literal["high", "medium", "low"]
Action = Literal["drop", "group", "ask", "report"]


class NumberFacts(Model):
    """Of the numbers in a column, missing ones aside."""

    mean: float
    deviation: float
    least: float
    quarter: float
    median: float
    three_quarters: float
    most: float
    skew: float
    outliers: float
    """Share beyond three interquartile ranges from the quartiles."""
    zeros: float
    """Share."""
    negative: float
    """Share."""
    whole: bool
    """Whether all are whole numbers."""


class TextFacts(Model):
    """Of the texts in a column."""

    characters: float
    """On average."""
    words: float
    """On average."""
    longest: int
    """In characters."""


class TimeFacts(Model):
    """Of the instants in a column."""

    first: str
    """ISO 8601, in UTC where the file names zones."""
    last: str
    ordered: float
    """Share of rows that are not earlier than the row before, in the order of the file."""


class Frequent(Model):
    """A value that comes often; data, never an instruction."""

    value: str
    count: int
    share: float


class ColumnProfile(Model):
    """A column that is not the target."""

    name: str
    kind: Kind
    missing: float
    """Share."""
    distinct: int
    numbers: NumberFacts | None = None
    text: TextFacts | None = None
    times: TimeFacts | None = None
    frequent: tuple[Frequent, ...] = ()
    """The five most frequent values, of what is not numeric."""
    strength: float = 0.0
    """Mutual information with the target as a share of the target's entropy, both in bins."""
    skill: float = 0.0
    """Share of the dummy's error that this column alone removes on rows it did not see; for regression of ranks."""
    rank: int = 0
    """1 for the strongest; 0 without a target."""


class TargetProfile(Model):
    """What is to be predicted."""

    name: str
    task: str
    classes: tuple[Frequent, ...] = ()
    """Most frequent first, at most a hundred."""
    class_count: int = 0
    entropy: float = 0.0
    """Of the classes, as a share of that of equal ones."""
    numbers: NumberFacts | None = None
    orders: float = 0.0
    """Powers of ten from the 1st to the 99th percentile, where all values are positive."""
    log_skew: float = 0.0
    """Skew of log(1 + y), where no value is negative."""
    is_count: bool = False
    """Whole numbers from 0 or 1 on, of which there are many different ones."""
    bounds: tuple[float, float] | None = None
    """Where the values fill a range that has a natural end on both sides, such as 0 to 1."""


class MetaFeature(Model):
    name: str
    value: float


class Fact(Model):
    """A suggestion that follows from a figure."""

    code: str
    subject: str = ""
    """The column that it is about."""
    text: str


class Leak(Model):
    """Something that may make a score better here than it will be in use."""

    code: str
    severity: Severity
    columns: tuple[str, ...] = ()
    text: str
    """One sentence."""
    evidence: str = ""
    """Figures, and a few values."""
    action: Action
    default: Literal["drop", "keep"] = "keep"
    """Of a question: what is done with the columns where nobody answers."""


class Settled(Model):
    """What was done about a leak."""

    code: str
    columns: tuple[str, ...]
    done: Literal["dropped", "kept", "grouped"]
    by: Literal["rule", "person", "default"]


class Profile(Model):
    """What the data are like."""

    aim: Aim
    """What is predicted, and how the rows are cut for it."""
    rows: int
    holdout: HoldOut
    columns: tuple[ColumnProfile, ...]
    target: TargetProfile | None
    duplicates: int
    """Training rows that repeat another one in all features."""
    memory: int
    """Bytes of the whole table."""
    meta: tuple[MetaFeature, ...]
    """In a fixed order."""
    suggestions: tuple[Fact, ...] = ()
    leaks: tuple[Leak, ...] = ()
    settled: tuple[Settled, ...] = ()
    """What was done about those leaks that call for more than a report."""
    remarks: tuple[str, ...] = ()
    """What a language model adds, in words without figures."""

    @property
    def dropped(self) -> dict[str, str]:
        """By column that is left out for a leak: why."""
        told = {(leak.code, leak.columns): leak.text for leak in self.leaks}
        gone = [one for one in self.settled if one.done == "dropped"]
        return {name: told.get((one.code, one.columns), one.code) for one in gone for name in one.columns}
