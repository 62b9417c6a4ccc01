"""Hostile names, values, requests and traces on the way to a model, and models that obey them: nothing is executed.

Each attack of `model_attacks.yaml` is planted, shown inside its quotation, obeyed in full, and refused before it runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from markdown_it import MarkdownIt

pytest.importorskip("lightgbm", reason="the extra automl is not installed")

from actor_cases import profiler_input
from canned import Canned, models
from small_model import SmallModel

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.debugger.actor import Debugger
from palmette.automl.actors.debugger.offline import DebuggerInput
from palmette.automl.actors.error_analyser.actor import ErrorAnalyser
from palmette.automl.actors.error_analyser.offline import AnalysisInput, by_trace
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import PREPARATION, Assembly
from palmette.automl.reach import OWN, Reach, objections
from palmette.documents import Model
from palmette.engine import PastAttempt, TextFile, Violation
from palmette.llm.visible import visible
from palmette.sandbox import python_command

KEY = "sk-planted-0123456789abcdef"


class Attack(Model):
    """One attack; the file of attacks says what the fields mean."""

    name: str
    planted: Literal["column", "value", "request", "trace"]
    text: str
    role: Literal["preprocessing_coder", "modeling_coder", "debugger"]
    adds: str


TABLE = Path(__file__).with_name("model_attacks.yaml").read_text("utf-8")
ATTACKS = [Attack.model_validate(one) for one in yaml.safe_load(TABLE)]


def texts(place: str) -> list[str]:
    return [attack.text for attack in ATTACKS if attack.planted == place]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallModel:
    """A table in whose header, cells and request all the texts stand."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "README.md").write_text("\n".join(attack.text for attack in ATTACKS), "utf-8")
    names, values = texts("column"), texts("value")
    lines = [",".join(json.dumps(name) for name in [*names, "note", "rating"])]
    for n in range(60):
        cells = [str(n % (7 + place)) for place in range(len(names))]
        note = values[n % len(values)].replace('"', "'")
        lines.append(",".join([*cells, f'"{note}"', "good" if n % 2 else "bad"]))
    path = folder / "ratings.csv"
    path.write_text("\n".join([*lines, ""]), "utf-8")
    wish = " ".join(["Predict the rating.", *texts("request")])
    return SmallModel(folder / "model", dict(profiler_input(path, wish)))


def failing(small: SmallModel) -> tuple[Any, Assembly]:
    """An assembler's input, and what it failed with last."""
    asked = small.input(Assembler)
    own = [file for one in asked.models for file in one.files]
    return asked, Assembly(files=(*own, *asked.preprocessing.files), store="project-x", tracks=())


def failure(small: SmallModel) -> Violation:
    evidence = "\n".join(texts("trace"))
    return Violation(code="contract-unfulfilled", message="It fails.", evidence=evidence, subject=PREPARATION)


def refused(small: SmallModel, attack: Attack) -> set[str]:
    """The codes of what is found in the answer of a model that does what the text says."""
    asked, failed = failing(small)
    files = {file.path: file.text for file in failed.files}
    if attack.role == "debugger":
        reply = f"```python code\n{files[PREPARATION]}\n{attack.adds}\n```\n"
        located = json.dumps({"kind": "contract-unfulfilled", "path": PREPARATION, "cause": "It fails."})
        actor = small.make(Assembler, models(Canned([f"```json\n{located}\n```", reply])))
        past = PastAttempt(number=1, reason="", fix="", violations=(failure(small),))
        context = small.context(attempt=2, attempts=(past,), last=failed)
    else:
        cls, field = (PreprocessingCoder, "preprocess") if "pre" in attack.role else (ModelingCoder, "models")
        path = PREPARATION if cls is PreprocessingCoder else "models/traditional.py"
        reply = f"```python {field}\n{files[path]}\n{attack.adds}\n```\n"
        actor, asked, context = small.make(cls, models(Canned([reply]))), small.input(cls), small.context()
    attempt = actor.run(asked, context)
    assert attempt.output is not None, attempt
    return {found.code for found in actor.check(asked, attempt.output, context).violations}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_model_that_obeys_is_refused_before_anything_runs(attack: Attack, small: SmallModel) -> None:
    small.input(Assembler)
    small.sandbox.started.clear()
    assert refused(small, attack) == {"reaches-outside"}
    assert small.sandbox.started == []


def test_every_text_is_shown_in_quotations_only(small: SmallModel) -> None:
    _, failed = failing(small)
    analysis = AnalysisInput(failure=failure(small), contract="{}", files=failed.files)
    file = next(one for one in failed.files if one.path == PREPARATION)
    debugging = DebuggerInput(failure=analysis.failure, analysis=by_trace(analysis), contract="{}", file=file)
    asked = {cls: small.input(cls) for cls in (GuidelineWriter, PreprocessingCoder, ModelingCoder)}
    known = {name: getattr(asked[PreprocessingCoder], name) for name in ("blueprint", "dataset", "profile")}
    asked[PipelineCoder] = PipelineCoder.Input(tracks=("traditional",), **known)
    shown: set[str] = set()
    for cls, input in {**asked, ErrorAnalyser: analysis, Debugger: debugging}.items():
        system, user = small.make(cls, models(Canned([]))).render(input, small.context()).messages
        own = "\n".join(token.content for token in MarkdownIt("commonmark").parse(user.text) if token.type != "fence")
        for attack in ATTACKS:
            assert visible(attack.text) not in system.text + own
            shown |= {attack.name} if attack.text in user.text.replace('\\"', '"') else set()
    assert {attack.name for attack in ATTACKS if attack.planted in ("column", "trace")} <= shown


HONEST = """
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.experimental import enable_iterative_imputer
from sklearn.ensemble import HistGradientBoostingClassifier
import lightgbm as lgb; x = lgb.train({}, data, callbacks=[lgb.early_stopping(9)])
from models.encoding import Matrix
WHOLE = re.compile("[0-9]+")
import re; WHOLE = re.compile("[0-9]+")
network.eval()
network.load_state_dict(best)
import numpy as np; random = np.random.default_rng(0)
import pandas as pd; rows = pd.read_csv(path, dtype=str)
rows = rows.rename(columns={"a": "b"})
import warnings; warnings.simplefilter("ignore")
from joblib import Parallel, delayed
x = f"{name}__words"
"""


@pytest.mark.parametrize("text", HONEST.strip().splitlines())
def test_what_honest_models_do_is_permitted(text: str) -> None:
    assert list(Reach(OWN).reached(text)) == []


OUTSIDE = """
import os
import pickle
from sklearn.datasets import fetch_openml
import torch; torch.load("x.pt")
import numpy as np; np.save("x", y)
import pandas as pd; pd.read_pickle(path)
import pandas as pd; pd.io.common.os.system("id")
from joblib import load
import optuna; optuna.storages.RDBStorage(x)
import optuna; optuna.create_study(storage=x)
rows.eval("a + b")
rows.query("a > 1")
booster.save_model(path)
lgb.Booster(model_file=path)
rows.to_csv(path)
getattr(rows, name)
open("x", "w")
"""


@pytest.mark.parametrize("text", OUTSIDE.strip().splitlines())
def test_what_reaches_outside_is_refused(text: str) -> None:
    assert list(Reach(OWN).reached(text))


def test_only_preparation_reads() -> None:
    reads = "import pandas as pd\nROWS = pd.read_csv(path)\n"
    assert objections([TextFile(path=PREPARATION, text=reads)]) == []
    assert [one.code for one in objections([TextFile(path="models/a.py", text=reads)])] == ["reaches-outside"]


def test_no_key_reaches_the_programs_of_a_project(small: SmallModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    small.folder.mkdir(exist_ok=True)
    program = "import os, sys; print(dict(os.environ)); print(os.environ, file=sys.stderr)"
    ran = small.sandbox.run(python_command("-c", program), cwd=small.context().workspace)
    assert ran.ok and KEY not in ran.stdout + ran.stderr
