"""`palmette doctor` says what is there, and fails only when the main job could not run."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError

import pytest
from click.testing import CliRunner

from palmette.cli import doctor as module
from palmette.errors import MachineError
from palmette.sandbox import Java

VERSIONS = {"pyspark": "4.3.0", "pandas": "2.3.3", "pyarrow": "26.0", "grpcio": "1.85", "pytest": "9.2", "ruff": "0.17"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory) -> dict[str, str]:
    """What is installed, to be changed by a test; a Java and git are there."""
    versions = dict(VERSIONS)

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(module, "version", version)
    monkeypatch.setattr(module, "find_java", lambda: Java(tmp_path, 21, "PATH"))
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/bin/{name}")
    return versions


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(module.doctor, arguments)
    return result.exit_code, result.output


@pytest.mark.usefixtures("installed")
def test_what_only_some_need_is_optional() -> None:
    status, text = run()
    assert status == 0 and "Everything that `palmette features` needs is here." in text
    assert "only for: pull requests on GitHub" in text and "palmette[github]" in text


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [("pyspark", None, "palmette[spark]"), ("pandas", "3.0.1", "3.0.1 is too new: it must be below 3")],
)
def test_what_the_main_job_needs_is_missing(
    installed: dict[str, str], name: str, version: str | None, message: str
) -> None:
    del installed[name]
    if version:
        installed[name] = version
    status, text = run()
    assert status == MachineError.exit_code and message in text and f"missing: {name}." in text


def test_without_java_it_says_how_to_get_one(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Java:
        raise MachineError("Spark needs Java", "Install one.", code="no-java")

    monkeypatch.setattr(module, "find_java", no_java)
    status, text = run("--json")
    finding = next(one for one in json.loads(text)["findings"] if one["name"] == "Java")
    assert status == MachineError.exit_code and installed
    assert finding["status"] == "missing" and finding["remedy"] == "Install one."


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
