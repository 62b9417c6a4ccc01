"""Utilities of the fixture repositories, proven on warm Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest

from palmette.engine.actor import Context, Violation
from palmette.features.actors.utils_retriever.actor import UtilsRetriever
from palmette.features.artefacts import Config, RunRequest, Utilities
from palmette.features.harness.connect import ConnectHarness
from palmette.features.passed import PassedBefore
from palmette.features.spec.run import Run
from palmette.features.spec.view import View

TEXT = """feature_view: user_offers
team: t
schedule: daily
entity_keys: [user_id]
inputs: [{table: redemptions, path: data/redemptions}]
output: {path: out/x}
features: []
"""


@pytest.fixture
def config() -> Config:
    accessors = {"output": "config.output.path", "source:redemptions": "config.inputs[0].path"}
    places: dict[str, tuple[str | int, ...]] = {
        "output": ("output", "path"),
        "source:redemptions": ("inputs", 0, "path"),
    }
    return Config.model_validate(
        {
            "file": {"path": "configs/user_offers.yaml", "text": TEXT},
            "class_name": "offers.config:FeatureViewConfig",
            "accessors": accessors,
            "places": places,
        }
    )


@pytest.mark.parametrize(("changes", "chosen", "rejected"), [
    ({}, {"load_config": "load_config({path})", "build_session": "get_spark({app_name})",
          "write_table": "overwrite_table({df}, {destination})", "read_table": "read_table({spark}, {path})",
          "divide": "safe_divide({numerator}, {denominator})",
          "before_cutoff": "within_lookback({df}, {time}, {as_of}, {days})"},
     {"ratio_or_zero": "gave 0.0 instead of None for 1 / 0"}),
    ({"output": {"partition": "part"}, "time": {"cutoff": "partition", "zone": "Europe/Berlin"}},
     {"load_config": "load_config({path})", "build_session": "get_spark({app_name})",
      "write_table": "overwrite_table({df}, {destination}, {partition})", "read_table": "read_table({spark}, {path})",
      "divide": "safe_divide({numerator}, {denominator})"},
     {"ratio_or_zero": "gave 0.0", "write_everything": "leave the first as it was",
      "within_lookback": "zone Europe/Berlin"}),
], ids=["in UTC", "partitioned, in a zone that changes its clocks"])  # fmt: skip
def test_only_what_does_as_demanded_is_chosen(
    changes: dict[str, object],
    chosen: dict[str, str],
    rejected: dict[str, str],
    repository: Callable[[str], Path],
    tmp_path: Path,
    harness: ConnectHarness,
    request: pytest.FixtureRequest,
) -> None:
    user_offers: Callable[..., View] = request.getfixturevalue("user_offers")
    run_spec: Run = request.getfixturevalue("run_spec")
    asked = UtilsRetriever.Input(
        request=request.getfixturevalue("request_artefact"), config=request.getfixturevalue("config")
    )
    actor = UtilsRetriever(user_offers(**changes), run_spec, repository("layered"), harness)
    context = Context("utils_retriever", tmp_path / "work")
    found = actor.run(asked, context).output
    assert found is not None
    assert {utility.need: utility.call for utility in found.chosen} == chosen
    assert {item.name for item in found.rejected} == set(rejected)
    assert all(rejected[item.name] in item.reason for item in found.rejected)
    assert not any(str(tmp_path) in item.reason for item in found.rejected)
    verdict = actor.check(asked, found, context)
    assert verdict.ok, verdict.violations


def test_latest_per_key_is_one_row_whatever_the_ties(
    tmp_path: Path, harness: ConnectHarness, user_offers: Callable[..., View], config: Config
) -> None:
    from palmette.features.actors.utils_retriever.candidates import Demand, find_candidates
    from palmette.features.actors.utils_retriever.offline import prove
    from palmette.features.repository import Checkout

    (tmp_path / "team.py").write_text('''
from pyspark.sql import DataFrame, Window as W, functions as F

def latest(df: DataFrame, keys: list[str], order: str) -> DataFrame:
    w = W.partitionBy(*keys).orderBy(F.col(order).desc())
    return df.withColumn("n", F.row_number().over(w)).where("n = 1").drop("n")

def latest_rank(df: DataFrame, keys: list[str], order: str) -> DataFrame:
    w = W.partitionBy(*keys).orderBy(F.col(order).desc())
    return df.withColumn("n", F.rank().over(w)).where("n = 1").drop("n")

def latest_any(df: DataFrame, keys: list[str], order: str) -> DataFrame:
    return df.dropDuplicates(keys)

def latest_broken(df: DataFrame, keys: list[str], order: str) -> DataFrame:
    return df.select("no_such_column")
''', encoding="utf-8")  # fmt: skip
    checkout = Checkout(tmp_path)
    candidates = find_candidates(checkout, Demand("latest_per_key"))
    passed = PassedBefore(tmp_path / "passed")
    found = prove(candidates, user_offers(), config, checkout, harness, passed)
    reasons = dict(zip((candidate.name for candidate in candidates), found, strict=True))
    assert reasons["latest"] == ""
    assert "two equally new rows" in reasons["latest_rank"]
    assert "older row" in reasons["latest_any"]
    assert "raised AnalysisException" in reasons["latest_broken"]
    assert len([*(tmp_path / "passed").iterdir()]) == 1, "only what has passed is not run again"


def test_a_condition_for_windows_has_both_bounds(
    tmp_path: Path, harness: ConnectHarness, user_offers: Callable[..., View], config: Config
) -> None:
    from palmette.features.actors.utils_retriever.candidates import Demand, find_candidates
    from palmette.features.actors.utils_retriever.offline import prove
    from palmette.features.repository import Checkout

    (tmp_path / "team.py").write_text('''
from datetime import datetime, timedelta
from pyspark.sql import Column, functions as F

def between(time: str, as_of: datetime, days: int) -> Column:
    return (F.col(time) >= F.lit(as_of - timedelta(days=days))) & (F.col(time) < F.lit(as_of))

def within(time: str, as_of: datetime, days: int) -> Column:
    return F.col(time) >= F.lit(as_of - timedelta(days=days))
''', encoding="utf-8")  # fmt: skip
    checkout = Checkout(tmp_path)
    candidates = find_candidates(checkout, Demand("in_window", frozenset({"days"})))
    passed = PassedBefore(tmp_path / "passed")
    found = prove(candidates, user_offers(), config, checkout, harness, passed)
    reasons = dict(zip((candidate.name for candidate in candidates), found, strict=True))
    assert reasons["between"] == "" and "exactly at the cut-off" in reasons["within"]


def test_a_utility_is_implicated_by_a_trace_that_leads_into_it() -> None:
    output = Utilities.model_validate(
        {
            "chosen": [
                {
                    "need": "divide",
                    "name": "safe_divide",
                    "module": "offers.math",
                    "call": "safe_divide({numerator}, {denominator})",
                }
            ]
        }
    )
    trace = 'File "src/offers/math.py", line 9, in safe_divide\nTypeError: ...'
    said = UtilsRetriever.implicated(None, Violation(code="script-failed", message="x", evidence=trace), output)
    assert said is not None and "safe_divide" in said
    other = Violation(code="script-failed", message="x", evidence='File "src/offers/features/v.py", line 9, in build')
    assert UtilsRetriever.implicated(None, other, output) is None


def test_a_check_of_what_no_candidate_is_fails(
    repository: Callable[[str], Path],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    request_artefact: RunRequest,
    config: Config,
) -> None:
    class NoProbes:
        def probes(self, *_: object) -> list[object]:
            return []

    actor = UtilsRetriever(user_offers(), run_spec, repository("layered"), NoProbes())
    invented = Utilities.model_validate(
        {
            "chosen": [
                {"need": "divide", "name": "invented", "module": "offers.transforms", "call": "invented({numerator})"}
            ]
        }
    )
    asked = UtilsRetriever.Input(request=request_artefact, config=config)
    verdict = actor.check(asked, invented, Context("utils_retriever", tmp_path))
    assert [violation.subject for violation in verdict.violations] == ["invented"]
