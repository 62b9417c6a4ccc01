"""What a person changes between runs: a wrong edit is one message on its line; edited code is read before it runs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from palmette.automl.candidates import Blueprint, Candidate, ColumnUse, OwnCode
from palmette.automl.own_code import objections
from palmette.documents import mistakes

BLUEPRINT = Blueprint(
    package="grades",
    title="Predict grade",
    problem="classification",
    target="grade",
    metric="f1",
    classes=("good", "poor"),
    rows=100,
    columns=(ColumnUse(name="size", kind="number"), ColumnUse(name="place", kind="category")),
    candidates=(Candidate(name="linear", learner="linear"),),
    seconds=5.0,
)


@pytest.mark.parametrize(
    ("change", "field", "line", "said", "nearest"),
    [
        (lambda told: told.update(rows="many"), "rows", '"rows"', "'many' is not a whole number", None),
        (lambda told: told["columns"][1].update(kind="numbr"), "columns[1].kind", "numbr", "mean 'number'", None),
        (lambda told: told["folds"].update(count=1), "folds.count", '"count": 1,', "out of range", None),
        (lambda told: told["candidates"][0].update(name="A"), "candidates[0].name", '"A"', "has not the form", None),
        (lambda told: told.update(colour="red"), "colour", "colour", "Known keys: package", "columns"),
        (lambda told: told.pop("metric"), "metric", "{", "'metric' is missing", None),
    ],
)  # fmt: skip
def test_a_wrong_blueprint_is_one_message_on_its_line(
    change: Callable[[dict[str, Any]], object], field: str, line: str, said: str, nearest: str | None
) -> None:
    told = json.loads(BLUEPRINT.model_dump_json())
    change(told)
    text = json.dumps(told, indent=2)
    with pytest.raises(ValidationError) as caught:
        Blueprint.model_validate_json(text)
    (found,) = mistakes(caught.value, Blueprint, told, text, "value.json")
    assert (found.field, found.nearest) == (field, nearest) and said in f"{found.message} {found.remedy}"
    assert found.line and line in text.splitlines()[found.line - 1]


def test_code_that_a_person_edits_is_read_before_it_runs() -> None:
    edited = OwnCode(path="own_features.py", text="import socket\n", classes=())
    assert [one.code for one in objections([edited])] == ["reaches-outside"]
