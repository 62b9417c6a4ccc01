"""What the oracle does not cover is left out feature by feature, by name, and nothing else is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from palmette.engine.actor import Context, TextFile
from palmette.features.actors.testcase_generator.actor import GeneratorInput, TestcaseGenerator
from palmette.features.artefacts import RunRequest
from palmette.features.checks import ScriptUnderTest
from palmette.features.checks.golden import DifferentialCheck, SpecCheck
from palmette.features.frame import Frame
from palmette.features.frames import scenarios
from palmette.features.harness.connect import CaseResult, ScriptCase
from palmette.features.oracle import NotCovered, differences, expected
from palmette.features.oracle.expression import compile_group
from palmette.features.spec.values import SparkType
from palmette.features.spec.view import View

OF_SQUARES = {"sql": "regr_sxx(amount, amount)", "source": "redemptions"}
SQUARES = {"name": "squares", "dtype": "double", "expression": OF_SQUARES}
COUNT = {
    "name": "redemptions_30d",
    "dtype": "bigint",
    "aggregate": {"function": "count", "source": "redemptions", "window": "30d"},
}
DERIVED = [
    {"name": "doubled", "dtype": "double", "derive": "squares * 2"},
    {"name": "halved", "dtype": "double", "derive": "redemptions_30d / 2"},
]
EXAMPLE = {
    "name": "one redemption",
    "as_of": "2025-03-31",
    "given": {"redemptions": [{"id": 1, "user_id": 1, "redeemed_at": "2025-03-30", "loaded_at": "2025-03-30"}]},
    "expect": [{"user_id": 1, "redemptions_30d": 1, "squares": 7.0}],
}
Make = Callable[..., View]


@pytest.fixture
def view(user_offers: Make) -> View:
    return user_offers(features=[SQUARES, COUNT, *DERIVED], tests=[EXAMPLE])


@dataclass
class Answers:
    """A harness whose script answers by the definition of a view, with the skipped features as null."""

    view: View
    surplus: int = 0

    def execute(self, script: Path, entry: str, cases: Sequence[ScriptCase], **_: object) -> list[CaseResult]:
        found = []
        for case in cases:
            rows = [
                {**row, "redemptions_30d": row["redemptions_30d"] + self.surplus}
                for row in expected(self.view, case.frames, case.as_of).rows
            ]
            found.append(CaseResult(case.name, Frame.of(self.view.output, rows)))
        return found

    def run_tests(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def subject(view: View, surplus: int = 0) -> ScriptUnderTest:
    return ScriptUnderTest(view=view, script=Path(), root=Path(), entry="build", harness=Answers(view, surplus))


def test_a_feature_and_what_derives_from_it_are_left_out(view: View) -> None:
    scenario = scenarios(view)[0]
    found = expected(view, scenario.frames, scenario.as_of)
    assert set(found.skipped) == {"squares", "doubled"}
    assert "regr_sxx" in found.skipped["squares"]
    assert found.skipped["doubled"] == "derived from squares"
    assert list(found.schema) == ["user_id", "as_of", "redemptions_30d", "halved"]
    assert {row["redemptions_30d"] for row in found.rows} > {0}
    assert differences(found, Frame.of(view.output, found.rows), view) == ()


def test_a_view_of_which_nothing_is_known_is_not_covered(user_offers: Make) -> None:
    view = user_offers(features=[SQUARES])
    scenario = scenarios(view)[0]
    with pytest.raises(NotCovered, match="squares skipped: the function regr_sxx"):
        expected(view, scenario.frames, scenario.as_of)


@pytest.mark.parametrize(("feature", "steps", "why"), [
    (SQUARES, [], "squares skipped: the function regr_sxx"),
    ({**COUNT, "name": "n"}, [{"filter": "soundex(cast(amount AS string)) = 'A'"}], "the rows: the function soundex"),
    ({"name": "n", "dtype": "bigint", "derive": "cast(concat(user_id, 'x') AS bigint)"}, [], "n: '1x' as bigint"),
    ({**COUNT, "name": "n"}, [{"filter": "amount > 1 AND amount < 0"}], "no row of its scenarios is one of the view"),
])  # fmt: skip
def test_a_view_without_any_case_is_refused_with_the_feature_and_the_reason(
    user_offers: Make, feature: dict[str, Any], steps: list[dict[str, Any]], why: str
) -> None:
    others = [COUNT] if "derive" in feature else []
    view = user_offers(sources=[{"name": "redemptions", "steps": steps}], features=[*others, feature])
    empty, context = TextFile(path="x", text=""), Context("testcase_generator", Path())
    attempt = TestcaseGenerator(view).run(GeneratorInput(request=RunRequest(fsc=empty, dfr=empty, run=empty)), context)
    (found,) = attempt.violations
    assert found.code == "no-oracle" and why in found.message


@pytest.mark.parametrize("sql", ["percentile(amount)", "max_by(amount)", "corr(amount)", "sum()"])
def test_a_call_with_too_few_arguments_is_not_covered(sql: str) -> None:
    with pytest.raises(NotCovered, match="arguments"):
        compile_group(sql, {"amount": SparkType("double")}, ZoneInfo("UTC"))


def test_the_differential_check_says_what_it_skipped_and_judges_the_rest(view: View) -> None:
    outcome = DifferentialCheck().check(subject(view))
    assert outcome.violations == ()
    assert not outcome.skipped
    assert "squares skipped: the function regr_sxx" in outcome.detail
    assert "doubled skipped: derived from squares" in outcome.detail
    assert "redemptions_30d" in DifferentialCheck().check(subject(view, surplus=1)).violations[0].evidence


def test_examples_are_judged_without_the_feature(view: View, user_offers: Make) -> None:
    outcome = SpecCheck().check(subject(view))
    assert outcome.violations == ()
    assert outcome.detail == "1 unit test of the specification; squares skipped: the function regr_sxx"
    wrong = {**EXAMPLE, "expect": [{"user_id": 1, "redemptions_30d": 2, "squares": 7.0}]}
    contradicted = user_offers(features=[SQUARES, COUNT], tests=[wrong])
    assert SpecCheck().check(subject(contradicted)).violations[0].subject == "one redemption"


def test_test_cases_expect_nothing_of_it(user_offers: Make) -> None:
    actor = TestcaseGenerator(user_offers(features=[SQUARES, COUNT, *DERIVED]))
    empty, context = TextFile(path="x", text=""), Context("testcase_generator", Path())
    inputs = GeneratorInput(request=RunRequest(fsc=empty, dfr=empty, run=empty))
    cases = actor.run(inputs, context).output
    assert cases is not None
    assert {name for case in cases.cases for row in case.expect for name in row} == {
        "user_id",
        "as_of",
        "redemptions_30d",
        "halved",
    }
    verdict = actor.check(inputs, cases, context)
    assert verdict.violations == ()
    assert verdict.measurements[0].detail.endswith("no expectations from the oracle for squares, doubled")


def test_a_column_that_a_step_cannot_compute_takes_only_its_users_along(user_offers: Make) -> None:
    steps = [{"compute": {"sound": "soundex(cast(amount AS string))", "twice": "amount * 2"}}]
    loud = {"function": "count_distinct", "source": "redemptions", "of": "sound"}
    where = {"function": "count", "source": "redemptions", "where": "sound = 'A'"}
    twice = {"function": "sum", "source": "redemptions", "of": "twice"}
    view = user_offers(
        sources=[{"name": "redemptions", "steps": steps}],
        features=[
            {"name": "sounds", "dtype": "bigint", "aggregate": loud},
            {"name": "a_sounds", "dtype": "bigint", "aggregate": where},
            {"name": "twice", "dtype": "double", "aggregate": twice},
        ],
    )
    scenario = scenarios(view)[0]
    found = expected(view, scenario.frames, scenario.as_of)
    assert dict(found.skipped) == dict.fromkeys(["sounds", "a_sounds"], "the function soundex")
    assert {row["twice"] for row in found.rows} - {None}


def test_a_step_that_decides_about_rows_or_times_must_be_covered(user_offers: Make) -> None:
    for step in ({"filter": "soundex(cast(amount AS string)) = 'A'"}, {"compute": {"user_id": "xxhash64(user_id)"}}):
        source = {"name": "redemptions", "steps": [step]}
        with pytest.raises(NotCovered):
            found = user_offers(sources=[source], features=[{**COUNT, "dtype": "bigint"}])
            scenario = scenarios(found)[0]
            expected(found, scenario.frames, scenario.as_of)
