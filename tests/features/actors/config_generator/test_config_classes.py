"""Configurations for classes of many kinds, parsed by those classes in the sandbox."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.engine.actor import Context, PastAttempt, TextFile, Violation
from palmette.features.actors.config_generator.actor import ConfigAnswer, ConfigGenerator
from palmette.features.artefacts import Config, RunRequest
from palmette.features.pyspark.io import config_object
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.sandbox import Sandbox

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "classes.yaml").read_text(encoding="utf-8"))
HEADER = """
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AnyUrl, BaseModel, ConfigDict, DirectoryPath, Field, FilePath, RootModel
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType, TypedDict
"""
SCRIPT = "from pyspark.sql import DataFrame\n\ndef build(t: DataFrame) -> DataFrame:\n    return t\n\ndef main(): ...\n"


def _repository(root: Path, case: dict[str, Any]) -> Path:
    (root / "configs").mkdir(parents=True)
    (root / "team.py").write_text(HEADER + case["class"], encoding="utf-8")
    for view, document in case.get("neighbours", {}).items():
        (root / "configs" / f"{view}.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        (root / f"{view}.py").write_text(SCRIPT, encoding="utf-8")
    return root


def _generator(root: Path, view: View, run: Run, sandbox: Sandbox, name: str = "team:Config") -> ConfigGenerator:
    repository = run.repository.model_copy(update={"config_class": name})
    return ConfigGenerator(view, run.model_copy(update={"repository": repository}), root, sandbox)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_classes(
    case: dict[str, Any],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    actor = _generator(_repository(tmp_path / "team", case), user_offers(), run_spec, sandbox)
    asked: list[str] = []

    def answer(question: str) -> str | None:
        asked.append(question)
        return next((said for field, said in case.get("answers", {}).items() if f"'{field}'" in question), None)

    context = Context("config_generator", tmp_path / "work", ask=answer)
    attempt = actor.run(actor.Input(request=request_artefact), context)
    if "missing" in case:
        assert attempt.output is None
        assert [violation.subject for violation in attempt.violations] == case["missing"]
        assert len(asked) == len(case["missing"])
        return
    assert attempt.output is not None, attempt.violations
    written = yaml.safe_load(attempt.output.file.text)
    assert written == case["expect"]
    assert attempt.output.accessors == case["accessors"]
    assert list(written) == case.get("order", list(written))
    verdict = actor.check(actor.Input(request=request_artefact), attempt.output, context)
    assert verdict.ok, verdict.violations
    said = ConfigAnswer(config=attempt.output.file.text)
    read = actor.read(said, actor.Input(request=request_artefact), context).output
    assert read == attempt.output, "who gives the same file, as a model does, is understood in the same way"


@pytest.mark.parametrize(("text", "said"), [
    ("raise RuntimeError('no database')", "no database"),
    ("class Other(BaseModel): ...", "has no attribute 'Config'"),
    ("import not_installed_anywhere", "not_installed_anywhere"),
    ("import os; os._exit(3)", "exit status 3"),
    ("class Config: ...", "schema for <class 'team.Config'>"),
])  # fmt: skip
def test_a_class_that_cannot_be_read_is_the_teams_to_mend(
    text: str,
    said: str,
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    root = _repository(tmp_path / "team", {"class": text})
    actor = _generator(root, user_offers(), run_spec, sandbox)
    attempt = actor.run(actor.Input(request=request_artefact), Context("config_generator", tmp_path / "work"))
    assert attempt.output is None and attempt.fix == "TERMINATE"
    assert [violation.code for violation in attempt.violations] == ["team-code-failed"]
    assert said in attempt.violations[0].message


REFUSING = """
class Config(BaseModel):
    name: str
    output: str
    description: str = ""

    @field_validator("description")
    @classmethod
    def short(cls, value: str) -> str:
        if len(value) > 10:
            raise ValueError("at most ten characters")
        return value
"""


def test_a_refused_optional_value_is_left_out_at_the_next_attempt(
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    root = _repository(tmp_path / "team", {"class": "from pydantic import field_validator\n" + REFUSING})
    actor = _generator(root, user_offers(), run_spec, sandbox)
    given = actor.Input(request=request_artefact)
    context = Context("config_generator", tmp_path / "work")
    first = actor.run(given, context)
    assert first.output is not None
    verdict = actor.check(given, first.output, context)
    assert [violation.subject for violation in verdict.violations] == ["description"]
    past = PastAttempt(number=1, reason="", fix="", violations=verdict.violations)
    second = actor.run(given, Context("config_generator", tmp_path / "work", attempts=(past,)))
    assert second.output is not None and "description" not in yaml.safe_load(second.output.file.text)
    assert second.reason and second.fix
    assert actor.check(given, second.output, context).ok


@pytest.mark.parametrize(("code", "message", "blamed"), [
    ("config-refused", "team:Config refuses 'tier'", True),
    ("script-failed", "AnalysisException: [PATH_NOT_FOUND] Path does not exist: data/redemptions", True),
    ("script-failed", "AttributeError: 'Config' object has no attribute 'inputs'", True),
    ("script-failed", "AnalysisException: [PATH_NOT_FOUND] Path does not exist: data/users", True),
    ("script-failed", "AnalysisException: [PATH_NOT_FOUND] Path does not exist: file:/run/lake/offers.", True),
    ("script-failed", "AnalysisException: [PATH_NOT_FOUND] Path does not exist: elsewhere", False),
    ("oracle-mismatch", "amount_7d is 3.0 instead of 2.0", False),
])  # fmt: skip
def test_only_evidence_about_the_configuration_implicates_it(code: str, message: str, blamed: bool) -> None:
    config = Config(
        file=TextFile(
            path="configs/v.yaml",
            text="inputs: {redemptions: data/redemptions, users: [data/users], offers: ../lake/offers}\n",
        ),
        class_name="team:Config",
        accessors={"source:redemptions": 'config.inputs["redemptions"]'},
        places={"source:redemptions": ("inputs", "redemptions")},
    )
    said = ConfigGenerator.implicated(None, Violation(code=code, message=message), config)
    assert (said is not None) == blamed


def test_the_class_that_neighbours_parse_into_is_found(
    repository: Callable[[str], Path],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    expected = {
        "flat": "common:JobSettings",
        "layered": "offers.config:FeatureViewConfig",
        "folders": "risk.settings:Settings",
    }
    for name, class_name in expected.items():
        actor = ConfigGenerator(user_offers(), run_spec, repository(name), sandbox)
        given, context = actor.Input(request=request_artefact), Context("config_generator", tmp_path / "work")
        config = actor.run(given, context).output
        assert config is not None and config.class_name == class_name
        assert actor.check(given, config, context).ok


@pytest.mark.parametrize("name", ["untyped", "folders"])
def test_configurations_in_json_are_as_good_as_in_yaml(
    name: str,
    repository: Callable[[str], Path],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    def written(in_json: bool) -> Config:
        actor = ConfigGenerator(user_offers(), run_spec, root, sandbox)
        given, context = actor.Input(request=request_artefact), Context("config_generator", tmp_path / "work")
        config = actor.run(given, context).output
        assert config is not None and actor.check(given, config, context).ok
        for said in (config.file.text, yaml.safe_dump(json.loads(config.file.text))) if in_json else ():
            answered = actor.read(ConfigAnswer(config=said), given, context).output
            assert answered is not None and actor.check(given, answered, context).ok
        return config

    root = repository(name)
    of_yaml = written(in_json=False)
    for file in root.rglob("*.yaml"):
        text = json.dumps(yaml.safe_load(file.read_text(encoding="utf-8")), indent="\t")
        file.with_suffix(".json").write_text(text, encoding="utf-8")
        file.unlink()
    of_json = written(in_json=True)
    assert of_json.file.path == of_yaml.file.path.replace(".yaml", ".json")
    assert json.loads(of_json.file.text) == yaml.safe_load(of_yaml.file.text)
    assert of_json.file.text.startswith("{\n\t")
    changed = of_yaml.model_copy(update={"file": of_json.file})
    assert of_json == changed, "but for its file, it is the same"
    assert "json.loads(text)" in config_object(of_json, "text", "Config")


def test_what_the_rules_would_repeat_is_handed_over(
    repository: Callable[[str], Path],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: RunRequest,
) -> None:
    actor = ConfigGenerator(user_offers(), run_spec, repository("flat"), sandbox)
    evidence = (Violation(code="script-failed", message="[PATH_NOT_FOUND] Path does not exist: data/redemptions"),)
    context = Context("config_generator", tmp_path / "work", evidence=evidence)
    attempt = actor.run(actor.Input(request=request_artefact), context)
    assert (attempt.output, attempt.fix, attempt.violations) == (None, "TERMINATE", evidence)
