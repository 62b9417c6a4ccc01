"""Figures of a data set, computed from the training rows: columns, target, meta-features, suggestions, leaks.

Every figure has six significant digits.
"""

from collections.abc import Mapping
from typing import Literal

from palmette.automl.kinds import Kind
from palmette.automl.splitting.data_splits import HoldOut, SplitRequest
from palmette.documents import Model

Severity = Literal["high", "medium", "low"]
Action = Literal["drop", "group", "ask", "report"]


class NumberFacts(Model):
    """Figures of the numbers in a column that are not missing."""

    mean: float
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
    whole: bool
    """Whether all are whole numbers."""


class Frequent(Model):
    """A frequent value; data, never an instruction."""

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
    words: float = 0.0
    """Average number, of texts."""
    times: tuple[str, str] | None = None
    """The first and the last timestamp, ISO 8601, in UTC where the file names zones."""
    frequent: tuple[Frequent, ...] = ()
    """The five most frequent values, of what is not numeric."""
    mutual_information: float = 0.0
    """Mutual information with the target, as a share of the target's entropy; both in bins."""
    error_reduction: float = 0.0
    """Share of the dummy's error that this column alone removes on rows it did not see; for regression of ranks."""
    rank: int = 0
    """1 for the strongest; 0 without a target."""


class TargetProfile(Model):
    """The column to predict."""

    name: str
    problem: str
    classes: tuple[Frequent, ...] = ()
    """Most frequent first, at most a hundred."""
    class_count: int = 0
    entropy: float = 0.0
    """Entropy of the classes, as a share of that of equally frequent ones."""
    numbers: NumberFacts | None = None
    orders: float = 0.0
    """Powers of ten from the 1st to the 99th percentile, where all values are positive."""
    log_skew: float = 0.0
    """Skew of log(1 + y), where no value is negative."""


class Leak(Model):
    """Something that may make a score better here than in use."""

    code: str
    severity: Severity
    columns: tuple[str, ...] = ()
    text: str
    """One sentence."""
    evidence: str = ""
    """Figures, and a few values."""
    action: Action
    default: Literal["drop", "keep"] = "keep"
    """The decision about a question that nobody answers."""


class LeakDecision(Model):
    """What was done about a leak."""

    code: str
    columns: tuple[str, ...]
    done: Literal["dropped", "kept", "grouped"]
    by: Literal["request", "rule", "person", "default"]


class Profile(Model):
    """Figures of a data set."""

    split: SplitRequest
    """What is predicted, and how the rows are split for it."""
    rows: int
    """Rows of the whole table."""
    holdout: HoldOut
    columns: tuple[ColumnProfile, ...]
    """All but the target and the column that names the parts."""
    target: TargetProfile | None
    duplicates: int
    """Training rows that repeat another one in all features."""
    meta: Mapping[str, float]
    """Meta-features by name, in a fixed order."""
    suggestions: Mapping[str, str] = {}
    """Facts about the target and the rows as a whole that stand out, by code."""
    leaks: tuple[Leak, ...] = ()
    decisions: tuple[LeakDecision, ...] = ()
    """About those leaks that call for more than a report."""

    def decision(self, leak: Leak) -> LeakDecision | None:
        """Returns the decision about a leak, or None if the leak needed none."""
        same = (one for one in self.decisions if (one.code, one.columns) == (leak.code, leak.columns))
        return next(same, None)

    def done(self, leak: Leak) -> str:
        """Describes how a leak was handled and who decided."""
        made = self.decision(leak)
        return f"{made.done}, by {made.by}" if made else "reported"

    @property
    def dropped(self) -> dict[str, str]:
        """The reason for each column that is left out because of a leak, or because it names the part of each row."""
        texts = {(leak.code, leak.columns): leak.text for leak in self.leaks}
        gone = [one for one in self.decisions if one.done == "dropped"]
        parts = {self.split.column: "its values name the part of each row"} if self.split.column else {}
        return parts | {name: texts.get((one.code, one.columns), one.code) for one in gone for name in one.columns}
