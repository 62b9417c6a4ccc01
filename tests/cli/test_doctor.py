"""`palmette doctor` says what is there, and fails only when neither feature views nor models can be made."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError

import pytest
from click.testing import CliRunner

from palmette.cli import doctor as module
from palmette.errors import MachineError
from palmette.sandbox import Java


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory) -> dict[str, str]:
    """Versions of what is installed, to be changed by a test; there are Java and git."""
    extras = {
        "spark": ["pandas<3"],
        "automl": ["pandas<3", "lightgbm"],
        "image": ["palmette[automl]"],
        "github": ["httpx"],
    }
    needed = ["click", *(f'{one}; extra == "{extra}"' for extra, names in extras.items() for one in names)]
    versions = {"palmette": "1", "pandas": "2.3.3", "lightgbm": "4.7"}

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(module, "requires", lambda name: needed if name == "palmette" else [])
    monkeypatch.setattr(module, "version", version)
    monkeypatch.setattr(module, "find_java", lambda: Java(tmp_path, 21, "PATH"))
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/bin/{name}")
    return versions


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(module.doctor, arguments)
    return result.exit_code, result.output


@pytest.mark.usefixtures("installed")
def test_each_extra_is_installed_or_has_its_command() -> None:
    status, text = run()
    assert status == 0 and "Feature views can be made here.\nModels can be made here." in text
    assert "  ok  image            models of images: installed" in text
    assert "pull requests on GitHub: httpx missing. Run `" in text and "-m pip install 'palmette[github]'`." in text


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [("lightgbm", None, "models of images: lightgbm missing"), ("pandas", "3.0.1", "pandas<3 (here is 3.0.1) missing")],
)
def test_what_an_extra_needs_is_named_also_by_other_extras(
    installed: dict[str, str], name: str, version: str | None, message: str
) -> None:
    del installed[name]
    if version:
        installed[name] = version
    status, text = run()
    assert message in text and "Models cannot be made here; missing: automl." in text
    assert status == (MachineError.exit_code if version else 0)  # without lightgbm there are feature views


def test_without_java_it_says_how_to_get_one(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Java:
        raise MachineError("Spark needs Java", "Install one.", code="no-java")

    monkeypatch.setattr(module, "find_java", no_java)
    status, text = run("--json")
    finding = next(one for one in json.loads(text)["findings"] if one["name"] == "Java")
    assert status == 0 and finding["status"] == "missing" and finding["remedy"] == "Install one."
    del installed["pandas"]
    assert run()[0] == MachineError.exit_code


@pytest.mark.usefixtures("installed")
def test_spark_is_started_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __enter__(self) -> Broken:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        @property
        def remote(self) -> str:
            raise MachineError("The Spark server did not start.", code="spark-not-started")

    monkeypatch.setattr(module, "WarmSpark", Broken)
    assert run()[0] == 0
    status, text = run("--spark")
    assert status == MachineError.exit_code and "did not start" in text
