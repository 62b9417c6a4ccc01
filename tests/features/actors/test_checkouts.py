"""What is checked is what is delivered: nobody who runs beside the checks changes the files that they read."""

from pathlib import Path
from typing import Any

import pytest
from small_team import SmallTeam

from palmette.engine import Context, Verdict
from palmette.features import environment
from palmette.features.actors.code_generator import actor as module
from palmette.features.checks.base import CheckResult, ScriptUnderTest
from palmette.sandbox import Sandbox, WarmSpark


def test_a_suite_that_rewrites_the_script_rewrites_its_own_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tests run code of the script while the checks read it, and may change the checkout that they run in."""
    team = SmallTeam(tmp_path / "team", Sandbox(), WarmSpark(Sandbox()))
    roots: dict[str, Path] = {}

    def checks(subject: ScriptUnderTest, chosen: Any, **_: object) -> Verdict:
        if [check.code for check in chosen] == ["team-suite"]:
            assert chosen[0].sandbox is not actor.workbench.sandbox
            roots["suite"] = subject.root
            for file in subject.root.rglob("*.py"):
                file.write_text("REWRITTEN = True\n", encoding="utf-8")
        else:
            roots["checks"] = subject.root
            assert "REWRITTEN" not in subject.script.read_text(encoding="utf-8")
            if chosen[0].code == module.SampleRun.code:
                chosen[0].check(subject)
        return Verdict(ok=True)

    def trial(self: Any, harness: Any, root: Path) -> CheckResult:
        roots["trial"] = root
        assert root.is_relative_to(harness.spark.sandbox.folder)
        return CheckResult()

    monkeypatch.setattr(module, "run_checks", checks)
    monkeypatch.setattr(module.SampleRun, "_not_runnable", lambda self: "")
    monkeypatch.setattr(module.SampleRun, "run", trial)
    actor = team.actor("features.code_generator")
    context = Context(actor="code_generator", workspace=tmp_path / "work")
    given = team.input("features.code_generator")
    output = actor.run(given, context).output
    assert actor.check(given, output, context).ok
    assert len(set(roots.values())) == 3
    assert not roots["trial"].exists() and roots["checks"].is_relative_to(tmp_path)


def test_spark_changes_nothing_that_actors_have_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkouts, worktrees of pull requests and what tests expect lie in the run's folder."""
    team = SmallTeam(tmp_path / "team", Sandbox(), WarmSpark(Sandbox()))
    given: dict[str, Any] = {}
    monkeypatch.setattr(environment, "WarmSpark", lambda sandbox, **named: given.update(named) or WarmSpark(sandbox))
    environment._workbench(team.inputs, team.repository, tmp_path / "run", is_offline=True)
    assert given["access"].write == () and tmp_path / "run" / "work" in given["access"].read
