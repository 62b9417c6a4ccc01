"""The public API: what `palmette` exports, and nothing else."""

import importlib

import pytest

import palmette

PUBLIC = {
    "AutoMLRun", "DeliveryError", "DeveloperError", "InputError", "MachineError", "Mistake", "ModelError",
    "PalmetteError", "RunError", "RunStopped", "TopologyError", "UserError", "__version__", "automl", "build_features",
    "check_features",
}  # fmt: skip


def test_the_public_names() -> None:
    assert set(palmette.__all__) == PUBLIC and palmette.__all__ == sorted(palmette.__all__)


@pytest.mark.parametrize("name", ["palmette", "palmette.engine", "palmette.sandbox", "palmette.delivery"])
def test_every_exported_name_is_there(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ and not [member for member in package.__all__ if not hasattr(package, member)]


def test_every_error_has_a_message_a_code_and_an_exit_status() -> None:
    errors = [getattr(palmette, name) for name in palmette.__all__ if name.endswith("Error")]
    assert all(issubclass(error, palmette.PalmetteError) and error.exit_code for error in errors)
