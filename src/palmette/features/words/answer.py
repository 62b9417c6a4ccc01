"""A model's answer for features in words: computations in the terms of the specification, or questions."""

from typing import Self

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from palmette.documents import Model
from palmette.features.spec.fsc import Aggregate, Expression, Feature, Lookup, SourceSpec
from palmette.features.spec.fsc_steps import Step
from palmette.features.spec.values import Name, TypeName
from palmette.features.spec.words import WordsReading
from palmette.llm import Answer

FORMS = ("aggregate", "expression", "lookup", "derive")


class ComputedFeature(Model):
    """A feature with its computation; exactly one of the forms is given."""

    name: Name
    """Name of the feature."""
    aggregate: Aggregate | None = None
    """Aggregates the rows of a source."""
    expression: Expression | None = None
    """The same in SQL."""
    lookup: Lookup | None = None
    """Looks up a value of one row."""

    @model_validator(mode="after")
    def _has_one_computation(self) -> Self:
        given = [form for form in FORMS if getattr(self, form, None) is not None]
        if len(given) != 1:
            raise ValueError(f"{self.name!r} has {' and '.join(given) or 'no computation'}; give exactly one")
        return self


class HelperFeature(ComputedFeature):
    """An internal feature with a new name."""

    dtype: TypeName
    """Spark SQL type."""
    default: str | int | float | bool | None = None
    """Replaces null."""

    @property
    def feature(self) -> Feature:
        """As the resolver takes it."""
        return Feature.model_validate({**dict(self), "internal": True})


class FeatureReading(ComputedFeature):
    """The meaning of the words of one feature."""

    derive: str | None = None
    """Row-wise expression over other features (helpers too), grain keys, kept spine columns and `as_of`."""
    helpers: tuple[HelperFeature, ...] = ()
    """Internal features that it needs; others may use them by name."""

    def reading(self, sources: tuple[SourceSpec, ...] = ()) -> WordsReading:
        """As the resolver takes it."""
        computation = {name: value for name in FORMS if (value := getattr(self, name)) is not None}
        return WordsReading(computation, tuple(helper.feature for helper in self.helpers), sources)


class PreparingStep(Step):
    # An expression over a row's columns does as well what these do.
    replace: SkipJsonSchema[None] = None
    convert: SkipJsonSchema[None] = None
    categorise: SkipJsonSchema[None] = None
    extract: SkipJsonSchema[None] = None


class PreparedSource(SourceSpec):
    steps: tuple[PreparingStep, ...] = ()
    """Steps, in order; each has exactly one key."""


class OpenQuestion(Model):
    """A question to the author."""

    feature: Name
    """Name of the feature."""
    question: str = Field(min_length=1)
    """One precise question that lists the possible readings."""


class WordsAnswer(Answer):
    features: tuple[FeatureReading, ...] = ()
    """One for each feature that was asked for."""
    sources: tuple[PreparedSource, ...] = ()
    """Further sources with new names, for rows that no source of the specification has."""
    questions: tuple[OpenQuestion, ...] = ()
    """Instead of the rest: decisions for the author."""
