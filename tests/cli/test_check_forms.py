"""What `palmette check` prints for CI, and the files that call it there."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from palmette.cli.check import junit, sarif, specifications
from palmette.engine import Measurement, Verdict, Violation

ROOT = Path(__file__).parents[2]
FOUND = Verdict.of(
    [Violation(code="fan-out", message="Rows <repeat>.", evidence="a\x00 & b")],
    [
        Measurement(name="static", status="passed", seconds=0.5),
        Measurement(name="metamorphic", status="failed", detail="1 of 9"),
        Measurement(name="mutation", status="skipped", detail="no tests"),
    ],
)


def test_violations_are_shown_at_their_script() -> None:
    (run,) = json.loads(sarif({"src/a.py": FOUND, "src/b.py": Verdict(ok=True)}))["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("fan-out", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/a.py"
    assert [one["id"] for one in run["tool"]["driver"]["rules"]] == ["fan-out"]


def test_checks_are_test_cases() -> None:
    (suite,) = ElementTree.fromstring(junit({"src/a.py": FOUND}))
    assert [(one.get("name"), [part.tag for part in one]) for one in suite] == [
        ("static", []), ("metamorphic", ["failure"]), ("mutation", ["skipped"]),
    ]  # fmt: skip
    assert "Rows <repeat>." in "".join(suite.itertext())


def test_a_folder_has_the_specification_of_each_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views/a.yaml").touch()
    a, b = Path("src/a.py"), Path("src/b.py")
    assert specifications((a, b), tmp_path) == {a: tmp_path / "views/a.yaml"}
    assert "src/b.py: there is no specification b.yaml" in capsys.readouterr().err
    assert specifications((a, b), Path("one.yaml")) == {a: Path("one.yaml"), b: Path("one.yaml")}


@pytest.mark.parametrize("name", ["action.yml", "templates/palmette-check.yml", ".pre-commit-hooks.yaml"])
def test_ci_files_call_options_that_exist(name: str) -> None:
    from palmette.cli.check import check

    text = (ROOT / name).read_text("utf-8")
    assert yaml.safe_load(text)
    known = {flag for one in check.params for flag in one.opts}
    lines = [line for line in text.splitlines() if "palmette check" in line]
    used = {word.rstrip(".") for line in lines for word in line.split() if word.startswith("--")}
    assert used <= known


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_the_script_of_the_action_is_a_script() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    for script in (step["run"] for step in steps if "run" in step):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
