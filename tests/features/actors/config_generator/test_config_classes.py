"""Configurations for classes of many kinds, parsed by those classes in the sandbox."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.engine.actor import Context
from palmette.features.actors.config_generator.actor import ConfigGenerator
from palmette.features.artefacts import Request
from palmette.features.spec.run import Run
from palmette.features.spec.view import View
from palmette.sandbox import Sandbox

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "classes.yaml").read_text(encoding="utf-8"))
HEADER = """
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict
"""
SCRIPT = "from pyspark.sql import DataFrame\n\ndef build(t: DataFrame) -> DataFrame:\n    return t\n\ndef main(): ...\n"


def _repository(root: Path, case: dict[str, Any]) -> Path:
    (root / "configs").mkdir(parents=True)
    (root / "team.py").write_text(HEADER + case["class"], encoding="utf-8")
    for view, document in case.get("neighbours", {}).items():
        (root / "configs" / f"{view}.yaml").write_text(
            yaml.safe_dump(document, sort_keys=False), encoding="utf-8"
        )
        (root / f"{view}.py").write_text(SCRIPT, encoding="utf-8")
    return root


def _generator(
    root: Path, view: View, run: Run, sandbox: Sandbox, name: str = "team:Config"
) -> ConfigGenerator:
    repository = run.repository.model_copy(update={"config_class": name})
    return ConfigGenerator(view, run.model_copy(update={"repository": repository}), root, sandbox)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_classes(
    case: dict[str, Any],
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: Request,
) -> None:
    actor = _generator(_repository(tmp_path / "team", case), user_offers(), run_spec, sandbox)
    asked: list[str] = []

    def answer(question: str) -> str | None:
        asked.append(question)
        return next(
            (said for field, said in case.get("answers", {}).items() if f"'{field}'" in question), None
        )

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


@pytest.mark.parametrize(("text", "name", "said"), [
    ("raise RuntimeError('no database')", "team:Config", "no database"),
    ("class Other(BaseModel): ...", "team:Config", "Config"),
    ("import not_installed_anywhere", "team:Config", "not_installed_anywhere"),
    ("import os; os._exit(3)", "team:Config", "exit status 3"),
    ("class Config: ...", "team:Config", "model_json_schema"),
    ("", "elsewhere:Config", "elsewhere"),
])  # fmt: skip
def test_a_class_that_cannot_be_read_is_the_teams_to_mend(
    text: str,
    name: str,
    said: str,
    tmp_path: Path,
    user_offers: Callable[..., View],
    run_spec: Run,
    sandbox: Sandbox,
    request_artefact: Request,
) -> None:
    root = _repository(tmp_path / "team", {"class": text})
    actor = _generator(root, user_offers(), run_spec, sandbox, name)
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
    request_artefact: Request,
) -> None:
    from palmette.engine.actor import PastAttempt

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
