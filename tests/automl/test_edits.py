"""What a person changes between runs: wrong edits are one message, other data are other artefacts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_delivery import small_delivery

from palmette.automl.actors.assembler.actor import Assembler, AssemblerInput
from palmette.automl.actors.comparator.actor import Comparator, ComparatorInput
from palmette.automl.arguments import arguments_of
from palmette.automl.artefacts import Code, TrackCode
from palmette.automl.environment import open_automl
from palmette.automl.modalities import AnyBlueprint
from palmette.automl.store import Store
from palmette.documents import mistakes
from palmette.engine import TextFile, Violation


@pytest.mark.parametrize(
    ("change", "field", "line", "said", "nearest"),
    [
        (lambda told: told.update(algorithms=["lightgbn"]), "algorithms[0]", "lightgbn", "tabm", "lightgbm"),
        (lambda told: told.update(rows="many"), "rows", '"rows"', "'many' is not a whole number", None),
        (lambda told: told["columns"][1].update(kind="numerc"), "columns[1].kind", "numerc", "one of", "numeric"),
        (lambda told: told["folds"].update(count=1), "folds.count", '"count": 1,', "out of range", None),
        (lambda told: told.update(colour="red"), "colour", "colour", "Known keys: title", "columns"),
        (lambda told: told.pop("metric"), "metric", "{", "'metric' is missing", None),
    ],
)  # fmt: skip
def test_a_wrong_blueprint_is_one_message_on_its_line(
    change: Callable[[dict[str, Any]], object], field: str, line: str, said: str, nearest: str | None
) -> None:
    told = json.loads(small_delivery().input.blueprint.model_dump_json())
    change(told)
    text = json.dumps(told, indent=2)
    with pytest.raises(ValidationError) as caught:
        AnyBlueprint.model_validate_json(text)
    (found,) = mistakes(caught.value, AnyBlueprint, told, text, "value.json")
    assert (found.field, found.nearest) == (field, nearest) and said in f"{found.message} {found.remedy}"
    assert found.line and line in text.splitlines()[found.line - 1]


def test_other_contents_are_other_places(tmp_path: Path) -> None:
    data = tmp_path / "houses.csv"
    data.write_text("\n".join(["size,side,price", *(f"{n},{'ab'[n % 2]},{n * 7 % 90}" for n in range(60))]), "utf-8")
    arguments = arguments_of("Predict the price", [str(data)])
    places = [open_automl(arguments, tmp_path).given["places"] for _ in range(2)]
    data.write_text(data.read_text("utf-8").replace("30,a", "31,a"), "utf-8")
    changed = open_automl(arguments, tmp_path).given["places"]
    assert places[0] == places[1] != changed


def test_what_is_delivered_is_what_was_trained(tmp_path: Path) -> None:
    small = small_delivery()
    asked = small.input.model_dump(include={"dataset", "profile", "blueprint"})
    coded = {"preprocessing": Code(files=()), "models": (TrackCode(track="traditional", files=()),)}
    actor, made = Assembler(small.sandbox, small.store), small.input.assembly
    files = tuple(
        TextFile(path=one.path, text=f"{one.text}\n# mine") if one.path == "serve.py" else one for one in made.files
    )
    for output, codes in ((made, []), (made.model_copy(update={"files": files}), [("assembly-differs", "serve.py")])):
        verdict = actor.check(AssemblerInput(**asked, **coded), output, small.context("check"))
        assert [(one.code, one.subject) for one in verdict.violations] == codes


def test_models_that_were_deleted_are_trained_again(tmp_path: Path) -> None:
    small = small_delivery()
    asked = ComparatorInput(**small.input.model_dump(include={"dataset", "profile", "blueprint", "assembly"}))
    attempt = Comparator(Store(tmp_path)).run(asked, small.context("comparator"))
    (violation,) = attempt.violations
    assert attempt.output is None and isinstance(violation, Violation)
    assert Assembler(small.sandbox, small.store).implicated(violation, asked.assembly)
