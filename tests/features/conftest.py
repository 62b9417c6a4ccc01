"""What tests of the feature environment share: small repositories as data, and a small view."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from palmette.engine.actor import TextFile
from palmette.features.artefacts import RunRequest
from palmette.features.spec.dfr import Registry
from palmette.features.spec.fsc import FeatureSpec
from palmette.features.spec.run import Run
from palmette.features.spec.view import View

HERE = Path(__file__).parent


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[str], Path]:
    """Lays out a fixture repository (a YAML file that maps paths to texts) and gives its root."""

    def lay_out(name: str) -> Path:
        text = (HERE / "repository" / "repositories" / f"{name}.yaml").read_text(encoding="utf-8")
        return write_files(tmp_path / name, yaml.safe_load(text))

    return lay_out


def write_files(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def user_offers() -> Callable[..., View]:
    """The view `user_offers`; keyword arguments go over the specification's fields."""

    from palmette.features.spec.resolve import resolve

    def make(**changes: object) -> View:
        documents = yaml.safe_load((HERE / "user_offers.yaml").read_text(encoding="utf-8"))
        spec = FeatureSpec.model_validate({**documents["fsc"], **changes})
        return resolve(spec, Registry.model_validate(documents["dfr"]))

    return make


@pytest.fixture
def run_spec() -> Run:
    return Run.model_validate(
        {
            "run": 1,
            "fsc": "fsc.yaml",
            "dfr": "dfr.yaml",
            "interval": {"as_of": "2025-03-31T00:00:00Z"},
            "output": {"path": "out/user_offers"},
        }
    )


@pytest.fixture
def request_artefact() -> RunRequest:
    return RunRequest(**{name: TextFile(path=f"{name}.yaml", text="") for name in ("fsc", "dfr", "run")})
