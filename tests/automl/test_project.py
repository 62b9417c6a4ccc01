"""Whatever a project leaves where answers belong ends as a value."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="the extra automl is not installed")

from small_projects import blueprint_of, guests

from palmette.automl import project as at_work
from palmette.automl.project import Project
from palmette.sandbox import ExecutionResult, Sandbox, isolation_of

SAYS = "import os, sys\nsaid = sys.argv[sys.argv.index('--output') + 1]\n"
WATCHED = "import os, sys, time\nos.chdir('tracks/traditional')\n{}\ntime.sleep(0.4)\n"


@pytest.fixture
def open_() -> Sandbox:
    """Where nothing keeps programs from making links and pipes."""
    return Sandbox(isolation_of("none"))


@pytest.mark.parametrize(
    "program",
    [
        "",
        "os.symlink('/dev/zero', said)",
        "os.mkfifo(said)",
        "os.truncate(os.open(said, os.O_CREAT | os.O_WRONLY), 3 << 30)",
        "open(said, 'w').write('prediction\\n1\\n')",
        "open(said, 'w').write('prediction,probability_bad\\n' + 'good,1\\n' * 5)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,nan,1\\n' * 5)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,x\\n' * 5)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,1,1\\n' * 5)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,-1,2\\n' * 5)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'other,0,1\\n' * 5)",
        "open(said, 'w').write(('prediction,probability_bad,probability_good' + ',' * 20 + '\\n') + 'good,0,1\\n' * 5)",
        "open(said, 'w').write('\"\\n\",' + ',' * 5000)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,0,1\\n' * 5 + '\\n' * 100_000)",
        "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,0,1\\n' * 6)",
        "open(said, 'w').write(',' * (1 << 20))",
    ],
)
def test_answers_that_are_none_are_a_failure_of_the_project(tmp_path: Path, open_: Sandbox, program: str) -> None:
    (tmp_path / "predict.py").write_text(SAYS + program)
    said = Project(tmp_path, open_).predict(guests("binary", 5), blueprint_of("binary"), tmp_path / "scratch")
    assert isinstance(said, ExecutionResult) and not said.ok and "cannot be read" in said.stderr


def test_each_asking_is_for_itself(tmp_path: Path, open_: Sandbox) -> None:
    """Neither is what the first one left the answer of the second, nor does it stand in its way."""
    answer = "open(said, 'w').write('prediction,probability_bad,probability_good\\n' + 'good,0,1\\n' * 5)\n"
    later = "for name in ('asked', 'predict.py'): os.path.isfile(name) and os.remove(name)\nos.mkdir('asked')\n"
    (tmp_path / "predict.py").write_text(f"{SAYS}{answer}os.chdir(os.path.dirname(said))\n{later}")
    project, scratch = Project(tmp_path, open_), tmp_path / "scratch"
    assert not isinstance(project.predict(guests("binary", 5), blueprint_of("binary"), scratch), ExecutionResult)
    (tmp_path / "predict.py").write_text("")
    second = project.predict(guests("binary", 5), blueprint_of("binary"), scratch)
    assert isinstance(second, ExecutionResult) and "cannot be read" in second.stderr


@pytest.mark.parametrize(
    "program",
    [
        "os.mkfifo('trials.json')",
        "os.symlink('/dev/zero', 'trials.json')",
        "open('trials.json', 'w').write('[' * 100_000)",
        "open('trials.json', 'w').write('[1, {\"score\": \"x\"}]')",
        "open('trials.json', 'w').write('{}')",
    ],
)
def test_who_watches_training_is_not_held_up(
    tmp_path: Path, open_: Sandbox, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_work, "WATCHED", 0.05)
    (tmp_path / "tracks" / "traditional").mkdir(parents=True)
    (tmp_path / "train.py").write_text(WATCHED.format(program))
    told: list[str] = []
    done = Project(tmp_path, open_).train("traditional", blueprint_of("binary"), 5.0, told=told.append)
    assert done.ok and told and all(one.startswith("traditional: starting") for one in told)
