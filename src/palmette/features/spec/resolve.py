"""Resolves documents to a `View`: everything is determined, or all errors are reported at once, those of form first."""

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from palmette.documents import Located, ProblemCollector, read_located
from palmette.errors import InputError, Mistake
from palmette.features.spec.dfr import Registry
from palmette.features.spec.features import FORMS, Derivations, FeatureResolver, ResolvedFeature, derivation_order
from palmette.features.spec.fsc import Feature, FeatureSpec
from palmette.features.spec.grain import lint_time, output_schema, resolve_grain, resolve_spine
from palmette.features.spec.lints import check_run, lint_registry, lint_tests
from palmette.features.spec.scope import ResolutionScope
from palmette.features.spec.sources import Sources
from palmette.features.spec.view import Schema, View
from palmette.features.spec.words import WordsContext, WordsReading, read_words

Answers = Mapping[str, str | WordsReading]
"""Answers for features in words, by name: the words to read instead, or their interpretation."""

__all__ = ["Answers", "check_run", "load_view", "resolve", "resolve_located"]


def resolve(spec: FeatureSpec, registry: Registry, *, answers: Answers | None = None) -> View:
    """Resolves a specification and a registry to a view.

    Args:
        spec: the feature specification.
        registry: the data frame registry.
        answers: for ambiguous features in words, the wording or the interpretation that a person chose.

    Raises:
        InputError: with all errors in both documents.
    """
    return resolve_located(Located(spec, "", {}), Located(registry, "", {}), answers=answers)


def load_view(fsc: Path, dfr: Path, *, answers: Answers | None = None) -> View:
    """As `resolve`, for two files; messages include file and line."""
    documents, problems = list[Located[Any]](), list[Mistake]()
    for path, model in ((dfr, Registry), (fsc, FeatureSpec)):
        try:
            documents.append(read_located(path, model))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    registry, spec = documents
    return resolve_located(spec, registry, answers=answers)


def resolve_located(spec: Located[FeatureSpec], registry: Located[Registry], *, answers: Answers | None = None) -> View:
    """As `resolve`, for documents with known line numbers."""
    if more := {one.name: one for answer in (answers or {}).values() for one in getattr(answer, "sources", ())}:
        sources = (*spec.value.sources, *more.values())
        spec = replace(spec, value=spec.value.model_copy(update={"sources": sources}))
    of_registry = ProblemCollector(registry)
    lint_registry(registry.value, of_registry)
    # An inconsistent registry would cause follow-up errors at each use.
    of_registry.raise_if_any()
    findings = ProblemCollector(spec)
    name = spec.value.feature_view
    if keyword.iskeyword(name) or name.startswith("_"):
        findings.report("invalid-name", "feature_view", name)
    zone = lint_time(spec.value, findings)
    grain = resolve_grain(spec.value, registry.value, findings)
    scope = ResolutionScope(spec.value, registry.value, findings, grain, zone)
    return _Resolution(scope, answers or {}).view()


class _Resolution:
    """Resolves one specification to a view."""

    def __init__(self, scope: ResolutionScope, answers: Answers) -> None:
        self.scope = scope
        self.answers = answers
        self.spec = scope.spec
        self.sources = Sources(scope)
        self.resolver = FeatureResolver(scope, self.sources)
        self.spine, self.kept = resolve_spine(scope)

    def view(self) -> View:
        resolved = {index: self._feature(one, f"features[{index}]") for index, one in enumerate(self.spec.features)}
        features = [one for found in resolved.values() for one in found]
        hidden = {self.spec.features[index].name for index, found in resolved.items() if not found}
        output = output_schema(self.scope, self.kept, features)
        order = derivation_order(features, self.scope)
        by_name = Derivations(self.scope, self.resolver, self.kept, hidden).complete(features, order)
        self._forbidden(list(by_name.values()))
        spine = [self.spine.name] if self.spine else []
        tables = list(dict.fromkeys([*spine, *(name for one in features for name in sorted(one.tables))]))
        lint_tests(self.scope, output, tables, hidden)
        view = self._assemble([by_name[one.view.name] for one in features], order, output, tables)
        if not (self.spec.spine or hidden or view.populating):
            self.scope.report("no-rows", "entities", grain=self.scope.grain)
        self.scope.findings.raise_if_any()
        return view

    def _assemble(
        self, features: Sequence[ResolvedFeature], order: tuple[str, ...], output: Schema, tables: Sequence[str]
    ) -> View:
        spec = self.spec
        used = {one.view.source for one in features}
        found = {name: table for name in tables if (table := self.scope.registry.table(name))}
        return View(
            name=spec.feature_view,
            description=spec.description,
            owner=spec.owner,
            grain=self.scope.grain,
            cutoff=spec.time.cutoff,
            zone=spec.time.zone,
            spine=spec.spine,
            kept=self.kept,
            sources=tuple(source.view for name, source in self.sources.resolved.items() if name in used),
            features=tuple(one.view for one in features),
            derivation_order=order,
            partition=spec.output.partition,
            table_name=spec.output.name or spec.feature_view,
            forbidden=spec.forbidden,
            tests=spec.tests,
            tables=found,
            output=output,
            lineage={one.view.name: tuple(sorted(one.origins)) for one in features},
            spec=spec,
            doubts={name: doubt for name, one in self.answers.items() if (doubt := getattr(one, "doubt", ""))},
        )

    def _feature(self, feature: Feature, field: str) -> list[ResolvedFeature]:
        given = [form for form in FORMS if getattr(feature, form) is not None]
        if len(given) != 1:
            problem, at = ("several-computations", given[1]) if given else ("no-computation", "name")
            self.scope.report(problem, f"{field}.{at}", feature.name, given=given, forms=list(FORMS))
            return []
        if feature.words is None:
            return self.resolver.resolve(feature, field)
        answer = self.answers.get(feature.name, feature.words)
        words = feature.model_copy(update={"words": answer})
        reading = read_words(words, WordsContext(self.scope, self.sources)) if isinstance(answer, str) else answer
        if isinstance(reading, Mistake):
            self.scope.findings.add([replace(reading, value=feature.words)], f"{field}.words")
            return []
        for source in reading.sources:
            self.sources.add(source, f"{field}.words")
        helpers = [found for helper in reading.helpers for found in self.resolver.resolve(helper, field)]
        return helpers + self.resolver.resolve(feature.model_copy(update={**reading.computation}), field)

    def _forbidden(self, features: Sequence[ResolvedFeature]) -> None:
        registry = self.scope.registry
        known = {f"{table.name}.{column.name}" for table in registry.tables for column in table.columns}
        names = {column.split(".")[1] for column in known}
        for index, entry in enumerate(self.spec.forbidden):
            if entry not in known and entry not in names:
                self.scope.report("unknown-column/forbidden", f"forbidden[{index}]", entry, known | names)
        touched = {
            (feature.field, "forbidden-column", feature.view.name, origin)
            for feature in features
            for origin in self._banned(feature.origins)
        }
        reported = {origin for *_, origin in touched}
        used = {feature.view.source for feature in features}
        touched |= {
            (field, "forbidden-column/step", column, origin)
            for name, source in self.sources.resolved.items()
            for column, field in source.added.items()
            for origin in self._banned(source.columns.origins.get(column, ()))
            if name in used and origin not in reported
        }
        for field, problem, name, origin in sorted(touched):
            self.scope.report(problem, field, origin, name=name)

    def _banned(self, origins: Iterable[str]) -> list[str]:
        forbidden = self.spec.forbidden
        return [origin for origin in origins if origin in forbidden or origin.split(".")[1] in forbidden]
