"""Which functions offer themselves for a need, and how they would be called."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator.team import candidates
from palmette.features.actors.utils_retriever.candidates import WANTS, Demand, bind, find_candidates
from palmette.features.actors.utils_retriever.proofs import proofs
from palmette.features.artefacts import Config, Need
from palmette.features.harness.connect import CaseResult
from palmette.features.repository import Checkout, Function
from palmette.features.spec.view import View

DAYS, PARTITION, FORMAT = frozenset({"days"}), frozenset({"partition"}), frozenset({"format"})
NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(("need", "gives", "signature", "call"), [
    ("divide", NONE, "f(numerator: Column, denominator: Column) -> Column", "f({numerator}, {denominator})"),
    ("divide", NONE, "f(den: Column, num: Column) -> Column", "f({denominator}, {numerator})"),
    ("divide", NONE, "f(num: Column, *, den: Column, digits: int = 2) -> Column", "f({numerator}, den={denominator})"),
    ("divide", NONE, "f(num: Column, den: Column, digits: int) -> Column", None),
    ("divide", NONE, "f(num: float, den: float) -> float", None),
    ("before_cutoff", DAYS, "f(df: DataFrame, ts: str, as_of: datetime, days: int = 7) -> DataFrame",
     "f({df}, {time}, {as_of}, {days})"),
    ("before_cutoff", NONE, "f(df: DataFrame, ts: str, as_of: datetime, days: int | None = None) -> DataFrame",
     "f({df}, {time}, {as_of})"),
    ("before_cutoff", DAYS, "f(df: DataFrame, ts: str, as_of: datetime) -> DataFrame", None),
    ("write_table", NONE, "f(df: DataFrame, path: str, partition_by: str | None = None) -> None",
     "f({df}, {destination})"),
    ("write_table", PARTITION, "f(df: DataFrame, path: str, mode: str = 'x', partitions: list[str] = ()) -> None",
     "f({df}, {destination}, partitions=[{partition}])"),
    ("write_table", PARTITION, "f(df: DataFrame, path: str) -> None", None),
    ("write_table", NONE, "f(spark: SparkSession, df: DataFrame, path: str) -> None",
     "f({df}.sparkSession, {df}, {destination})"),
    ("read_table", NONE, "f(spark: SparkSession, path: str, fmt: str = 'parquet') -> DataFrame", "f({spark}, {path})"),
    ("read_table", FORMAT, "f(path: str, fmt: str = 'parquet') -> DataFrame", "f({path}, {format})"),
    ("read_table", NONE, "f(df: DataFrame, path: str) -> DataFrame", None),
    ("latest_per_key", NONE, "f(df: DataFrame, keys: Sequence[str], order_by: str) -> DataFrame",
     "f({df}, {keys}, {order})"),
    ("build_session", NONE, "f(app_name: str) -> SparkSession", "f({app_name})"),
    ("build_session", NONE, "f(master: str = 'x') -> 'SparkSession'", "f()"),
    ("load_config", NONE, "f(path: str | Path)", "f({path})"),
    ("load_config", NONE, "f(path: Path) -> Settings", "f(Path({path}))"),
    ("load_config", NONE, "f(*paths: str)", None),
    ("load_config", NONE, "run(config_path: str) -> None", None),
    ("in_window", DAYS, "f(time: str, as_of: datetime, days: int) -> Column", "f({time}, {as_of}, {days})"),
    ("in_window", DAYS, "f(time: str, days: int) -> Column", None),
    ("load_config", NONE, "f(data: Mapping[str, Any], *, strict: bool = True)", "f({document})"),
    ("load_config", NONE, "f(path: str, data: dict | None = None)", "f({path})"),
    ("load_config", NONE, "f(data: dict, view: str)", None),
])  # fmt: skip
def test_calls(need: Need, gives: frozenset[str], signature: str, call: str | None) -> None:
    node = ast.parse(f"def {signature}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert bind(Function(node, "team", "team.py"), WANTS[need], Demand(need, gives)) == call


def test_what_makes_a_configuration_of_a_mapping_is_found_and_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user_offers: Callable[..., View]
) -> None:
    (tmp_path / "made_of_mappings.py").write_text(PLAN, encoding="utf-8")
    uses = "from made_of_mappings import Batch, Plan\n\nBatch(**{})\nPlan.from_dict({})\n"
    (tmp_path / "jobs.py").write_text(uses, encoding="utf-8")
    checkout = Checkout(tmp_path)
    names = ["made_of_mappings:Batch", "made_of_mappings:Plan"]
    assert candidates(checkout) == names
    demand = Demand("load_config", class_name=names[1])
    (found,) = find_candidates(checkout, demand)
    assert (found.name, found.call) == ("Plan", "Plan.from_dict({document})")
    monkeypatch.syspath_prepend(tmp_path)
    for suffix, text in (("yaml", "inputs: {a: lake/a}\n"), ("json", '{"inputs":\n\t{"a": "lake/a"}}\n')):
        config = Config(
            file=TextFile(path=f"settings/v.{suffix}", text=text),
            class_name=demand.class_name,
            accessors={"source:a": 'config.inputs["a"]'},
            places={"source:a": ("inputs", "a")},
        )
        (proof,) = proofs(found, user_offers(), config)
        given: dict[str, Any] = {}
        exec(proof.probe.code, given)
        assert proof.judge(CaseResult("config", value=given["result"])) == ""


PLAN = """
from dataclasses import dataclass

@dataclass
class Plan:
    inputs: dict[str, str]

    @classmethod
    def from_dict(cls, raw: dict) -> "Plan":
        return cls(raw["inputs"])

@dataclass
class Batch:
    inputs: dict[str, str]

@dataclass
class Row:
    inputs: dict[str, str]
"""


def test_a_format_that_is_not_the_default_is_passed() -> None:
    node = ast.parse("def f(df: DataFrame, path: str, fmt: str = 'parquet') -> None: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    function = Function(node, "team", "team.py")
    for form, call in (("parquet", "f({df}, {destination})"), ("orc", 'f({df}, {destination}, "orc")')):
        demand = Demand("write_table", constants={"format": f'"{form}"'})
        assert bind(function, WANTS["write_table"], demand) == call
