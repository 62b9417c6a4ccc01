"""The library of cases: insights from the literature, each with the conditions under which it was found to hold."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import Field

from palmette.documents import Model, read_document
from palmette.knowledge.source import KnowledgeFinding, LookupResult, Subject


class FigureRange(Model):
    """Bounds of a figure, both included."""

    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


class LiteratureCase(KnowledgeFinding):
    """An insight, and when it applies.

    Its source has authors, year, title and venue; its reason has figures of the subject, e.g. `{rows:,.0f} rows`.
    """

    tasks: frozenset[str] = frozenset()
    """Tasks that it is about; empty for all."""
    when: Mapping[str, FigureRange] = Field(default_factory=dict)
    """By figure: the range that it was found in; all must hold."""
    signs: frozenset[str] = frozenset()
    """Of which one must hold, if there are any."""

    def applies(self, subject: Subject) -> bool:
        return (
            (not self.tasks or subject.task in self.tasks)
            and all(one.holds(subject.figures.get(name, 0.0)) for name, one in self.when.items())
            and (not self.signs or bool(self.signs & subject.signs))
        )


class Cases(Model):
    """The library as a file."""

    cases: Mapping[str, LiteratureCase]


@cache
def library() -> Mapping[str, LiteratureCase]:
    """The shipped cases by name; read once."""
    return read_document(Path(__file__).with_name("cases.yaml"), Cases).cases


def apt_cases(subject: Subject) -> LookupResult:
    """The cases that apply, those with most conditions first."""
    known, figures = library(), defaultdict(float, subject.figures)
    apt = [case for case in known.values() if case.applies(subject)]
    apt.sort(key=lambda case: -(len(case.when) + 3 * bool(case.signs) + bool(case.tasks)))
    findings = tuple(
        KnowledgeFinding(
            text=case.text, source=case.source, because=case.because.format_map(figures), algorithms=case.algorithms
        )
        for case in apt
    )
    return LookupResult(note=f"{len(findings)} of {len(known)} cases of the library apply.", findings=findings)
