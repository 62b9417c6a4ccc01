"""Hostile names, values, requests and traces on the way to a model, and models that obey them: nothing is executed.

Each attack of `model_attacks.yaml` is planted, shown inside its quotation, obeyed in full, and refused before it runs.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from markdown_it import MarkdownIt

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from canned import Canned, models
from small_coding import FEATURES, LEARNER, PROPOSED, Shop, said

from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.debugger.actor import Debugger, DebuggerInput
from palmette.automl.actors.knowledge_retriever.actor import KnowledgeRetriever
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.plan_writer.actor import PlanWriter
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import Assembly, Knowledge
from palmette.automl.candidates import OwnCode
from palmette.automl.own_code import ImportPolicy, module_of, objections
from palmette.documents import Model
from palmette.engine import PastAttempt, Violation
from palmette.knowledge import KnowledgeFinding
from palmette.knowledge.sources.texts import FOLDER
from palmette.llm.text import visible
from palmette.sandbox import python_command

CLEANED = str.maketrans(":,", "__")
"""Characters in the names of columns that some libraries do not take."""
KEY = "sk-planted-0123456789abcdef"


class Attack(Model):
    """One attack; the file of attacks describes the fields."""

    name: str
    planted: Literal["column", "value", "request", "trace", "passage"]
    text: str
    role: Literal["preprocessing_coder", "modeling_coder", "debugger", "knowledge_retriever", "plan_writer"]
    adds: str = ""
    answer: str = ""
    held: str = "reaches-outside"


TABLE = Path(__file__).with_name("model_attacks.yaml").read_text("utf-8")
ATTACKS = [Attack.model_validate(one) for one in yaml.safe_load(TABLE)]
PLANNING = {"knowledge_retriever": KnowledgeRetriever, "plan_writer": PlanWriter}
MODULES = (module_of("own_features.py", FEATURES, "transform"), module_of("own_traditional.py", LEARNER, "fit"))


def texts(place: str) -> list[str]:
    return [attack.text for attack in ATTACKS if attack.planted == place]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A table in whose header, cells and request all the texts stand."""
    names, values = texts("column"), texts("value")

    def lines() -> list[str]:
        rows = [",".join(json.dumps(name) for name in [*names, "note", "rating"])]
        for n in range(120):
            cells = [str(n % (7 + place)) for place in range(len(names))]
            note = values[n % len(values)].replace('"', "'")
            rows.append(",".join([*cells, f'"{note}"', "good" if n % 2 else "bad"]))
        return rows

    wish = " ".join(["Predict the rating.", *texts("request")])
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "team").mkdir()
    for number, text in enumerate(texts("passage")):
        (folder / "team" / f"{number}.md").write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder / "team"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield Shop(folder, lines=lines(), target="rating", sentence=wish)


def planning(shop: Shop, role: str) -> Any:
    """The input of an agent that is shown what was retrieved, with all passages."""
    retriever = KnowledgeRetriever()
    found = retriever.run(shop.input(KnowledgeRetriever), shop.context()).output
    assert found is not None
    hostile = enumerate(texts("passage"))
    passages = [KnowledgeFinding(text=text, source=f"{number}.md", because="b") for number, text in hostile]
    knowledge = found.model_copy(update={"insights": (*found.insights, *passages)})
    return shop.input(PLANNING[role], **({"knowledge": knowledge} if role == "plan_writer" else {}))


def failure() -> Violation:
    evidence = "\n".join(texts("trace"))
    return Violation(code="contract-unfulfilled", message="It fails.", evidence=evidence, subject="own_features.py")


def refused(shop: Shop, attack: Attack) -> set[str]:
    """The codes of what is found in the answer of a model that does what the text demands."""
    actor: Any
    if attack.role in PLANNING:
        asked = planning(shop, attack.role)
        actor = shop.make(PLANNING[attack.role], models(Canned([attack.answer] * 3)))
        context = shop.context()
    elif attack.role == "debugger":
        patch = f"<<<<<<< old\nimport pandas as pd\n=======\nimport pandas as pd\n{attack.adds}\n>>>>>>> new"
        failed = Assembly(store="search-x", tracks=(), modules=MODULES[:1], failures=(failure(),))
        past = PastAttempt(number=1, reason="", fix="", violations=(failure(),))
        actor, asked = shop.make(Assembler, models(Canned([said("code", patch)]))), shop.input(Assembler)
        context = shop.context(attempt=2, attempts=(past,), last=failed)
    elif attack.role == "preprocessing_coder":
        reply = said("own_features", f"{FEATURES}\n{attack.adds}")
        actor, asked = shop.make(PreprocessingCoder, models(Canned([reply]))), shop.input(PreprocessingCoder)
        context = shop.context()
    else:
        reply = said("own_learner", f"{LEARNER}\n{attack.adds}", candidates=[PROPOSED])
        actor, asked = shop.make(ModelingCoder, models(Canned([reply]))), shop.input(ModelingCoder)
        context = shop.context()
    attempt = actor.run(asked, context)
    if attempt.output is None:
        return {found.code for found in attempt.violations}
    if isinstance(attempt.output, Knowledge):
        usual = {one.source: one.algorithms for one in shop.made(KnowledgeRetriever).insights}
        assert {one.source: one.algorithms for one in attempt.output.insights}.items() <= usual.items()
    return {found.code for found in actor.check(asked, attempt.output, context).violations}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_model_that_obeys_is_refused_before_anything_runs(attack: Attack, shop: Shop) -> None:
    before = shop.sandbox.started
    assert refused(shop, attack) == ({attack.held} - {"as-usual"})
    assert shop.sandbox.started == before


def test_every_text_is_shown_in_quotations_only(shop: Shop) -> None:
    debugging = DebuggerInput(failure=failure(), modules=MODULES)
    asked: dict[Any, Any] = {cls: shop.input(cls) for cls in (PreprocessingCoder, ModelingCoder, PipelineCoder)}
    asked |= {cls: planning(shop, role) for role, cls in PLANNING.items()}
    shown: set[str] = set()
    for cls, input in {**asked, Debugger: debugging}.items():
        system, user = shop.make(cls, models(Canned([]))).render(input, shop.context()).messages
        own = "\n".join(token.content for token in MarkdownIt("commonmark").parse(user.text) if token.type != "fence")
        for attack in ATTACKS:
            assert visible(attack.text) not in system.text + own
            forms = {attack.text, attack.text.translate(CLEANED)}
            shown |= {attack.name} if any(text in user.text.replace('\\"', '"') for text in forms) else set()
    assert {attack.name for attack in ATTACKS if attack.planted in ("column", "trace", "passage")} <= shown


HONEST = """
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from sklearn.experimental import enable_iterative_imputer
from sklearn.ensemble import HistGradientBoostingClassifier
import lightgbm as lgb; x = lgb.train({}, data, callbacks=[lgb.early_stopping(9)])
import re; WHOLE = re.compile("[0-9]+")
network.eval()
network.load_state_dict(best)
import numpy as np; random = np.random.default_rng(0)
rows = rows.rename(columns={"a": "b"})
import warnings; warnings.simplefilter("ignore")
x = f"{name}__words"
tags = super().__sklearn_tags__()
"""


@pytest.mark.parametrize("text", HONEST.strip().splitlines())
def test_what_honest_code_does_is_permitted(text: str) -> None:
    assert list(ImportPolicy().findings(text, rows_alone=True)) == []


OUTSIDE = """
import os
import pickle
from pathlib import Path
from sklearn.datasets import fetch_openml
import torch; torch.load("x.pt")
import numpy as np; np.save("x", y)
import pandas as pd; pd.read_csv(path)
import pandas as pd; pd.read_pickle(path)
import pandas as pd; pd.io.common.os.system("id")
from joblib import load
import palmette
rows.eval("a + b")
rows.query("a > 1")
booster.save_model(path)
lgb.Booster(model_file=path)
rows.to_csv(path)
getattr(rows, name)
open("x", "w")
open("x")
"""


@pytest.mark.parametrize("text", OUTSIDE.strip().splitlines())
def test_what_reaches_outside_is_refused(text: str) -> None:
    (found, *_) = objections([OwnCode(path="own_features.py", text=text, classes=())])
    assert (found.code, found.subject) == ("reaches-outside", "own_features.py")


def test_no_key_reaches_the_programs_of_a_run(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    program = "import os, sys; print(dict(os.environ)); print(os.environ, file=sys.stderr)"
    ran = shop.sandbox.run(python_command("-c", program), cwd=shop.context().workspace)
    assert ran.ok and KEY not in ran.stdout + ran.stderr
