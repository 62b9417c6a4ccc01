"""The team's names for configuration and cut-off hold inside its functions, whatever they are."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark_scripts import CONVENTIONS, script, template

from palmette.documents import read_document
from palmette.engine.actor import TextFile
from palmette.features.artefacts import Config, FunctionShape, Parameter, Utilities, Utility
from palmette.features.pyspark.script import write_script
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import Feature, FeatureSpec
from palmette.features.spec.resolve import load_view, resolve

OFFERS = Path(__file__).parents[3] / "examples" / "offers"
SPARK, RESULT = Parameter(name="spark", annotation="SparkSession"), Parameter(name="df", annotation="DataFrame")
SETTINGS = Parameter(name="settings", annotation="JobSettings")
TABLES = Parameter(name="tables", annotation="dict[str, DataFrame]")
CUTOFF = Parameter(name="cutoff", annotation="datetime")
FUNCTIONS = (
    FunctionShape(name="read", role="load", parameters=(SPARK, SETTINGS), returns="dict[str, DataFrame]"),
    FunctionShape(name="build", role="build", parameters=(TABLES, CUTOFF), returns="DataFrame"),
    FunctionShape(name="store", role="write", parameters=(RESULT, SETTINGS), returns="None"),
    FunctionShape(name="main", role="main", returns="None"),
)


@pytest.mark.parametrize("name", ["user_offer_redemptions", "user_card_transactions", "offer_daily"])
def test_functions_use_their_own_parameters(name: str) -> None:
    view = load_view(OFFERS / "specs" / f"{name}.yaml", OFFERS / "registry.yaml")
    accessors = {f"source:{table}": f"config.tables['{table}'].path" for table in view.tables}
    config = Config(
        file=TextFile(path="x.yaml", text=""),
        class_name="settings:JobSettings",
        accessors={**accessors, "output": "config.output_path"},
    )
    source = script(view, CONVENTIONS.model_copy(update={"functions": FUNCTIONS}), config)
    bodies = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    used = {
        function: {node.id for node in ast.walk(bodies[function]) if isinstance(node, ast.Name)}
        for function in ("read", "build", "store")
    }
    assert "settings" in used["read"] and "settings" in used["store"] and "cutoff" in used["build"]
    assert not {"config", "as_of"} & (used["read"] | used["build"] | used["store"])
    assert '"as_of"' in source, "the column keeps its name"


def test_a_function_that_is_called_like_a_variable_can_be_called() -> None:
    view = load_view(OFFERS / "specs/offer_daily.yaml", OFFERS / "registry.yaml")
    accessors = {f"source:{table}": f"config['{table}']" for table in view.tables}
    config = Config(
        file=TextFile(path="x.yaml", text=""), class_name="", accessors={**accessors, "output": "config['output']"}
    )
    named = {"read": "tables", "build": "features"}
    functions = tuple(shape.model_copy(update={"name": named.get(shape.name, shape.name)}) for shape in FUNCTIONS)
    source = script(view, CONVENTIONS.model_copy(update={"functions": functions}), config)
    assert "tables_ = tables(spark, config)" in source
    assert "features_ = features(tables_, as_of)" in source
    assert "store(features_, config)" in source


def test_a_cutoff_that_is_text_is_parsed_first() -> None:
    view = load_view(OFFERS / "specs/user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    accessors = {f"source:{table}": f"config['{table}']" for table in view.tables}
    config = Config(
        file=TextFile(path="x.yaml", text=""), class_name="", accessors={**accessors, "output": "config['output']"}
    )
    text = Parameter(name="day", annotation="str")
    functions = (
        *(shape for shape in FUNCTIONS if shape.role != "build"),
        FUNCTIONS[1].model_copy(update={"parameters": (TABLES, text)}),
    )
    source = script(view, CONVENTIONS.model_copy(update={"functions": functions}), config)
    build = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "build")
    first = ast.unparse(build.body[1])
    assert first == "moment = datetime.fromisoformat(day)"
    uses = [node.id for node in ast.walk(build) if isinstance(node, ast.Name) and node.id in ("day", "moment", "as_of")]
    assert uses.count("day") == 1 and "as_of" not in uses and uses.count("moment") > 3
    assert "build(tables, as_of.isoformat())" in source


@pytest.mark.parametrize(("storage", "called"), [
    ("parquet", '.parquet(config["output"])'),
    ("orc", '.orc(config["output"])'),
    ("delta", '.format("delta")'),
    ("table", '.saveAsTable(config["output"])'),
])  # fmt: skip
def test_the_view_is_written_as_the_run_file_says(storage: Any, called: str) -> None:
    view = load_view(OFFERS / "specs/user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    accessors = {"output": 'config["output"]', "source:redemptions": 'config["table_of_redemptions"]'}
    file = TextFile(path="x.yaml", text="")
    source = script(view, config=Config(file=file, class_name="", accessors=accessors, storage=storage))
    assert called in source[source.index("def write(") :]


@pytest.mark.parametrize(("built_by", "code"), [
    ("model_validate", "Column_.Sink.model_validate({})"), ("keywords", "Column_.Sink(**{})"),
    ("type_adapter", "TypeAdapter(Column_.Sink).validate_python({})")])  # fmt: skip
def test_a_class_of_the_team_that_is_called_like_another_name_of_the_script_gets_its_own(
    built_by: Any, code: str
) -> None:
    view = load_view(OFFERS / "specs/user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    file = TextFile(path="x.yaml", text="")
    config = Config(file=file, class_name="team.parts:Column.Sink", accessors={}, built_by=built_by)
    lines = [line.strip() for line in write_script(view, template(view, config), config, Utilities()).splitlines()]
    assert lines.count("from team.parts import Column as Column_") == 1
    assert "from pydantic import TypeAdapter" in lines or built_by != "type_adapter"
    assert f"config = {code}".format('yaml.safe_load(Path(args.config).read_text(encoding="utf-8"))') in lines


@pytest.mark.parametrize(("path", "read"), [("x.yaml", "yaml.safe_load"), ("x.json", "json.loads")])
def test_what_makes_a_configuration_of_a_mapping_is_given_the_document(path: str, read: str) -> None:
    view = load_view(OFFERS / "specs/user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    plan = Utility(need="load_config", name="Plan", module="team.plans", call="Plan.from_dict({document})", doc="")
    config = Config(file=TextFile(path=path, text=""), class_name="team.plans:Plan", accessors={})
    script_lines = write_script(view, template(view, config), config, Utilities(chosen=(plan,))).splitlines()
    lines = [line.strip() for line in script_lines]
    assert f'config = Plan.from_dict({read}(Path(args.config).read_text(encoding="utf-8")))' in lines
    assert f"import {read.partition('.')[0]}" in lines and "from team.plans import Plan" in lines


def test_sql_that_reads_the_cutoff_reads_the_column() -> None:
    documents = (OFFERS / "specs/offer_daily.yaml").read_text(encoding="utf-8")
    spec = FeatureSpec.model_validate(yaml.safe_load(documents))
    weekday = Feature(name="weekday", dtype="int", derive="date_part('dow', as_of)")
    registry = read_document(OFFERS / "registry.yaml", Registry)
    view = resolve(spec.model_copy(update={"features": (*spec.features, weekday)}), registry)
    accessors = {f"source:{table}": f"config['{table}']" for table in view.tables}
    config = Config(
        file=TextFile(path="x.yaml", text=""), class_name="", accessors={**accessors, "output": "config['output']"}
    )
    source = script(view, CONVENTIONS.model_copy(update={"functions": FUNCTIONS}), config)
    assert "F.expr(\"date_part('dow', as_of)\")" in source
