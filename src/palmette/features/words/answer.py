"""What a model gives for features in words: computations in the specification's own terms, or a question."""

from __future__ import annotations

from pydantic import Field

from palmette.documents import Model
from palmette.features.spec.fsc import Aggregate, Expression, Feature, Lookup, Source
from palmette.features.spec.values import Name, TypeName
from palmette.features.spec.words import Reading
from palmette.llm import Answer

FORMS = ("aggregate", "expression", "lookup", "derive")
"""How a computation is given."""


class Helper(Model):
    """An internal feature; exactly one of `aggregate`, `expression`, `lookup`."""

    name: Name
    """A new name."""
    dtype: TypeName
    """Spark SQL type."""
    default: str | int | float | bool | None = None
    """Replaces null."""
    aggregate: Aggregate | None = None
    """From many rows of a source."""
    expression: Expression | None = None
    """From many rows, in SQL."""
    lookup: Lookup | None = None
    """From one row of a table."""

    @property
    def feature(self) -> Feature:
        """As the resolver takes it."""
        return Feature.model_validate({**dict(self), "internal": True})


class Understood(Model):
    """What the words of one feature mean; exactly one of `aggregate`, `expression`, `lookup`, `derive`."""

    name: Name
    """The feature's."""
    aggregate: Aggregate | None = None
    """From many rows of a source."""
    expression: Expression | None = None
    """From many rows, in SQL."""
    lookup: Lookup | None = None
    """From one row of a table."""
    derive: str | None = None
    """Row-wise expression over other features (helpers too), grain keys, kept spine columns and `as_of`."""
    helpers: tuple[Helper, ...] = ()
    """What only this feature is derived from."""

    def reading(self, sources: tuple[Source, ...] = ()) -> Reading:
        """As the resolver takes it."""
        computation = {name: value for name in FORMS if (value := getattr(self, name)) is not None}
        return Reading(computation, tuple(helper.feature for helper in self.helpers), sources)


class Open(Model):
    """A question to the author."""

    feature: Name
    """Whose words it is about."""
    question: str = Field(min_length=1)
    """One precise question that names the readings to choose from."""


class WordsAnswer(Answer):
    features: tuple[Understood, ...] = ()
    """One for each feature that was asked for."""
    sources: tuple[Source, ...] = ()
    """Further sources with new names, where a feature needs rows that no source of the specification has."""
    questions: tuple[Open, ...] = ()
    """Instead of the rest: what only the author can decide."""
