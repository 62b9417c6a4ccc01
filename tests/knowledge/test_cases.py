"""The library of cases: each can be cited, applies where it says, and nowhere else."""

import re
from collections.abc import Mapping

import pytest

from palmette.automl.profile.profile import meta_features
from palmette.automl.task_spec.vocabulary import vocabulary
from palmette.knowledge import Subject, apt_cases
from palmette.knowledge.cases import library

NOTHING = meta_features(0, (), None, 0)


def texts(task: str, figures: Mapping[str, float], *signs: str) -> str:
    subject = Subject(task=task, figures={**NOTHING, **figures}, signs=frozenset(signs))
    return "\n".join(one.source for one in apt_cases(subject).findings)


@pytest.mark.parametrize("name", library())
def test_a_case_can_be_cited_and_rests_on_figures_that_profiles_have(name: str) -> None:
    case = library()[name]
    assert re.search(r"[A-Z][\w-]+.* (19|20)\d\d, .+ \(.+\)$", case.source), "authors, year, title and venue"
    assert case.text.endswith(".") and len(case.text) <= 200
    assert case.when.keys() <= NOTHING.keys() and case.because.format_map(NOTHING)
    assert set(case.algorithms) <= vocabulary().learners.keys() | {"tabm"}


def test_no_two_cases_have_the_same_source() -> None:
    sources = [case.source for case in library().values()]
    assert len(sources) == len(set(sources)) >= 40


@pytest.mark.parametrize(("task", "figures", "signs", "there", "absent"), [
    ("regression", {"rows": 8_000}, [], "Grinsztajn", "Micci-Barreca"),
    ("regression", {"rows": 300}, [], "Cawley|Caruana", "Grinsztajn"),
    ("regression", {"rows": 900}, ["many-categories"], "Micci-Barreca", "Fraley"),
    ("classification", {"rows": 9_000, "columns": 20}, ["imbalanced"], "Hollmann.*Nature", "Duan"),
    ("classification", {"rows": 11_000}, [], "Grinsztajn", "Hollmann.*Nature|Goorbergh"),
    ("regression", {}, ["log-target"], "Duan", "Goorbergh"),
    ("classification", {}, ["explainable"], "Rudin", "Davis"),
    ("clustering", {"rows": 9_000, "columns": 30}, ["many-categories"], "Beyer", "Micci-Barreca|Ng, Jordan"),
])  # fmt: skip
def test_what_applies(task: str, figures: Mapping[str, float], signs: list[str], there: str, absent: str) -> None:
    found = texts(task, figures, *signs)
    assert re.search(there, found) and not re.search(absent, found)


def test_what_asks_for_more_comes_first_and_says_why() -> None:
    figures = {**NOTHING, "rows": 5000.0, "rarest_class": 0.031}
    subject = Subject(task="classification", figures=figures, signs=frozenset({"imbalanced"}))
    found = apt_cases(subject)
    assert found.findings[0].because == "the rarest class has 3.1% of the rows"
    assert found.note == f"{len(found.findings)} of {len(library())} cases of the library apply."
