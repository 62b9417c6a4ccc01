"""The registry: names, constructor parameters, entry points, files beside a topology."""

from pathlib import Path

import pytest

from palmette.engine import create, load, names, register
from palmette.errors import DeveloperError, MachineError, UserError


class Thing:
    def __init__(self, colour: str, size: int = 3) -> None:
        self.colour, self.size = colour, size


def test_constructor_parameters_come_from_the_services_by_name() -> None:
    register("provider", "thing")(Thing)
    thing = create("provider", "thing", {"colour": "red", "unused": 1})
    assert (thing.colour, thing.size) == ("red", 3)
    with pytest.raises(DeveloperError, match="needs 'colour'"):
        create("provider", "thing", {"size": 1})


def test_unknown_names_name_the_nearest() -> None:
    with pytest.raises(UserError, match="Did you mean 'offline'"):
        load("planner", "ofline")
    assert set(names("planner")) >= {"offline", "sequential", "random"}
    assert "topology" in names("environment")


def test_a_name_belongs_to_one_plugin() -> None:
    register("provider", "unique")(Thing)
    register("provider", "unique")(Thing)
    with pytest.raises(DeveloperError, match="registered as 'unique'"):
        register("provider", "unique")(Path)


def test_modules_beside_a_topology_need_not_be_installed(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("class Here:\n    pass\n")
    assert load("actor", "beside_it:Here", tmp_path).__name__ == "Here"
    with pytest.raises(UserError, match="cannot be imported"):
        load("actor", "beside_it:There", tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("unfinished_it", "class Here(\n", "SyntaxError"),
        ("crashing_it", "1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_cannot_be_run_is_named(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    with pytest.raises(UserError, match=says) as caught:
        load("actor", f"{name}:Here", tmp_path)
    assert caught.value.code == "broken-actor" and f"{name}:Here" in caught.value.message


def test_a_package_of_an_extra_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr("palmette.engine.registry.importlib.import_module", fail)
    with pytest.raises(MachineError, match=r"palmette\[automl\]") as caught:
        load("environment", "palmette.automl.environment:open_automl")
    assert caught.value.code == "missing-extra"
