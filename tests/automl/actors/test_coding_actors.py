"""Those who decide a blueprint and write a project on a model's answers, and those who repair it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the extra automl is not installed")

from canned import Canned, models
from small_coding import DECIDED, attempts, codes, decide, own_models, rewritten, said, shop, text_of
from small_model import SmallModel
from small_projects import blueprint_of

from palmette.automl import briefs
from palmette.automl.actors.assembler import actor as assembling
from palmette.automl.actors.assembler.actor import Assembler, AssemblerInput
from palmette.automl.actors.debugger.actor import Debugger
from palmette.automl.actors.debugger.offline import DebuggerInput
from palmette.automl.actors.error_analyser.actor import ErrorAnalyser
from palmette.automl.actors.error_analyser.offline import AnalysisInput, by_trace
from palmette.automl.actors.guideline_writer.actor import GuidelineWriter
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import Settings, TrackCode
from palmette.automl.environment import topology_file
from palmette.automl.modalities.tabular import write_project
from palmette.automl.reach import objections
from palmette.automl.requirements import Requirements
from palmette.engine import TERMINATE, TextFile, Verdict, Violation, load_topology
from palmette.errors import UserError
from palmette.llm import Agent
from palmette.llm.opening import ModelChoice, check_roles

SNAPSHOTS = Path(__file__).with_name("snapshots")
SHOWN = 3
"""Lines of a quotation that stand in a snapshot: what is quoted has tests of its own."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallModel:
    return shop(tmp_path_factory.mktemp("shop"))


# the guideline

def test_a_model_decides_what_is_open_and_nothing_that_is_fixed(small: SmallModel) -> None:
    attempt, _, actor = decide(small, DECIDED)
    asked, made = small.input(GuidelineWriter), attempt.output.root
    due = actor.offline(asked, small.context()).output.root
    kinds = {"total": "numeric", "items": "numeric", "shop": "categorical"}
    assert {one.name: one.kind for one in made.columns} == kinds
    assert "Numbers of shops." in next(one.treatment for one in made.columns if one.name == "shop")
    assert ("colour", "It says nothing.") in {(one.name, one.reason) for one in made.dropped}
    assert (made.algorithms, made.validation) == (("lightgbm", "linear"), "Orders are alike.")
    assert 'training: "Small trees."' in briefs.part(made, "train").items
    assert [one.name for one in made.derived] == ["each"]
    assert all(getattr(made, name) == getattr(due, name) for name in ("metric", "folds", "classes", "rows", "source"))
    assert actor.check(asked, attempt.output, small.context()).ok


@pytest.mark.parametrize(("change", "why"), [
    ({"columns": [{"column": "color", "kind": "drop", "reason": "?"}]}, "'color' is not to be used, or no column"),
    ({"columns": [{"column": "returned", "kind": "categorical", "reason": "?"}]}, "'returned' is not to be used"),
    ({"columns": [{"column": "colour", "kind": "numeric", "reason": "?"}]}, "cannot be taken for numeric"),
    ({"algorithms": ["transformer"]}, "'transformer' is none of the algorithms"),
    ({"derived": [{**DECIDED["derived"][0], "columns": ["total", "shop"]}]}, "'shop' is no column of numbers"),
    ({"derived": [{**DECIDED["derived"][0], "columns": ["total", "returned"]}]}, "'returned' is no column of numbers"),
    ({"derived": [{**DECIDED["derived"][0], "name": "total"}]}, "the name 'total' is taken"),
    ({"derived": [{**DECIDED["derived"][0], "name": "x; import os"}]}, "no name for a feature"),
])  # fmt: skip
def test_what_cannot_be_is_asked_again_with_the_reason(change: Mapping[str, Any], why: str, small: SmallModel) -> None:
    attempt, provider, _ = decide(small, {**DECIDED, **change}, DECIDED)
    assert why in provider.prompts[1].messages[-1].text and attempt.output is not None
    lost, _, _ = decide(small, *[{**DECIDED, **change}] * 3)
    assert (lost.output, lost.fix, codes(lost)) == (None, TERMINATE, ["answer-impossible"])


@pytest.mark.parametrize(("change", "code"), [
    ({"metric": "f1"}, "blueprint-differs"),
    ({"seconds": 900.0}, "blueprint-differs"),
    ({"algorithms": ("catboost",)}, "blueprint-algorithm"),
])  # fmt: skip
def test_a_blueprint_that_somebody_changed_is_refused(change: Mapping[str, Any], code: str, small: SmallModel) -> None:
    actor, asked = small.make(GuidelineWriter), small.input(GuidelineWriter)
    asked = asked.model_copy(update={"requirements": asked.requirements})
    made = actor.run(asked, small.context()).output
    wrong = type(made)(made.root.model_copy(update=change))
    if code == "blueprint-algorithm" and "catboost" in made.root.algorithms:
        pytest.skip("catboost is installed")
    assert codes(actor.check(asked, wrong, small.context())) == [code]


# preparation


@pytest.fixture(scope="module")
def guided(small: SmallModel) -> SmallModel:
    """With a blueprint that derives a feature."""
    small.known["blueprint"] = decide(small, DECIDED)[0].output.root
    return small


def prepare(small: SmallModel, text: str) -> tuple[Any, Verdict]:
    actor = small.make(PreprocessingCoder, models(Canned([said("preprocess", text)])))
    asked = small.input(PreprocessingCoder)
    made = actor.run(asked, small.context()).output
    return made, actor.check(asked, made, small.context())


def draft(small: SmallModel) -> str:
    made = small.make(PreprocessingCoder).run(small.input(PreprocessingCoder), small.context()).output
    return text_of(made, "preprocess.py")


def test_preparation_by_a_model_is_executed_at_once(guided: SmallModel) -> None:
    made, verdict = prepare(guided, f"{draft(guided)}\n# Looked at.\n")
    assert verdict.ok, verdict.violations
    assert 'made["each"] = made["total"] / np.where(made["items"] == 0' in text_of(made, "preprocess.py")
    assert '"each"' in text_of(made, "contract.json") and text_of(made, "preprocess.py").endswith("# Looked at.\n")


WRONG = {
    "another name": ('made["each"]', 'made["per_piece"]', "each"),
    "what others are": ('made["each"] =', 'made["each"] = made["total"].mean() + 0 *', "features of a row by itself"),
    "no number": ('made["each"] =', 'made["each"] = np.full(len(rows), "x", dtype=object)  #', "'each'"),
    "an error": ('made["each"] =', 'made["each"] = rows["price"]  #', "KeyError: 'price'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_preparation_that_breaks_the_contract_comes_back_with_its_trace(name: str, guided: SmallModel) -> None:
    old, new, told = WRONG[name]
    made, verdict = prepare(guided, draft(guided).replace(old, new))
    (violation,) = verdict.violations
    assert (violation.code, violation.subject) == ("contract-unfulfilled", "preprocess.py")
    assert told in violation.evidence
    assert guided.make(PreprocessingCoder).implicated(violation, made)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_drafts_are_permitted(task: str) -> None:
    """Whoever gives one back has not reached outside."""
    files = write_project(blueprint_of(task), ("traditional", "neural"))
    drafts = [one for one in files if re.fullmatch(r"preprocess\.py|models/(traditional|neural)\.py", one.path)]
    assert len(drafts) == 3 and objections(drafts) == []


# models

@pytest.fixture(scope="module")
def tracks(guided: SmallModel) -> Any:
    return guided.make(ModelingCoder).run(guided.input(ModelingCoder), guided.context()).output


@pytest.mark.parametrize(("change", "code"), [
    (("RANGES", "SPACES"), "names-missing"),
    (("import numpy as np", "import requests"), "reaches-outside"),
    (("import numpy as np", "import numpy as np\nnp.load('/etc/passwd', allow_pickle=True)"), "reaches-outside"),
    (("", ""), ""),
])  # fmt: skip
def test_models_have_what_training_asks_for_and_reach_nothing(
    change: tuple[str, str], code: str, guided: SmallModel, tracks: TrackCode
) -> None:
    reply = said("models", own_models(tracks).replace(*change) if change[0] else own_models(tracks))
    actor, asked = guided.make(ModelingCoder, models(Canned([reply]))), guided.input(ModelingCoder)
    made = actor.run(asked, guided.context()).output
    verdict = actor.check(asked, made, guided.context())
    assert set(codes(verdict)) == ({code} if code else set())
    assert [file for file in made.files if file.path != "models/traditional.py"] == [
        file for file in tracks.files if file.path != "models/traditional.py"
    ]


def test_nobody_is_asked_for_a_track_that_cannot_be_had(guided: SmallModel) -> None:
    asked = guided.input(ModelingCoder).model_copy(update={"track": "autogluon"})
    made = ModelingCoder(models(Canned([]))).run(asked, guided.context()).output
    assert made.unavailable and not made.files


# assembly


@pytest.fixture
def broken(guided: SmallModel, tracks: TrackCode, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The input of an assembler whose models ask for a feature that was not agreed."""
    monkeypatch.setattr(assembling, "FOREIGN_SECONDS", 2.0)
    text = own_models(tracks).replace('features["each"]', 'features["every"]')
    wrong = rewritten(tracks, "models/traditional.py", text)
    guided.input(Assembler)
    return guided.input(Assembler).model_copy(update={"models": (wrong,)})


LOCATED = {"kind": "contract-misused", "path": "models/traditional.py", "cause": "Shallow asks for 'every'."}


def test_a_failure_on_the_sample_is_located_repaired_and_then_trained(
    broken: Any, guided: SmallModel, tracks: TrackCode
) -> None:
    provider = Canned([
        f"```json\n{json.dumps(LOCATED)}\n```",
        said("code", own_models(tracks), reason="There is no such feature.", fix="It asks for 'each'."),
    ])  # fmt: skip
    (first, refused), (second, verdict) = attempts(guided, guided.make(Assembler, models(provider)), broken)
    assert refused and codes(refused) == ["contract-misused"]
    assert "KeyError: 'every' (models/traditional.py, line " in refused.violations[0].evidence
    assert first.output.tracks == () and verdict and verdict.ok, verdict
    (repair,) = second.output.repairs
    assert (repair.path, repair.failure, second.fix) == (LOCATED["path"], LOCATED["kind"], "It asks for 'each'.")
    assert second.output.tracks[0].candidates > 1
    assert text_of(second.output, LOCATED["path"]).rstrip() == own_models(tracks).rstrip()
    assert [prompt.role for prompt in provider.prompts] == ["error_analyser", "debugger"]


def test_without_a_model_the_planner_gets_the_failure_and_whose_it_is(
    broken: Any, guided: SmallModel, tracks: TrackCode
) -> None:
    (_, refused), (attempt, _) = attempts(guided, guided.make(Assembler), broken)
    (violation,) = attempt.violations
    assert (attempt.output, attempt.fix, violation.code) == (None, TERMINATE, "contract-misused") and refused
    assert ModelingCoder().implicated(violation, tracks)
    assert not ModelingCoder().implicated(violation, tracks.model_copy(update={"track": "neural", "files": ()}))
    assert not guided.make(PreprocessingCoder).implicated(violation, broken.preprocessing)


def test_the_same_repair_again_is_for_the_planner(broken: Any, guided: SmallModel, tracks: TrackCode) -> None:
    wrong = text_of(broken.models[0], "models/traditional.py")
    other = said("code", wrong.replace("every", "each_one"))
    located = f"```json\n{json.dumps(LOCATED)}\n```"
    actor = guided.make(Assembler, models(Canned([located, other, located, said("code", wrong)])))
    *_, (attempt, verdict) = attempts(guided, actor, broken)
    assert (verdict, attempt.fix) == (None, TERMINATE) and "was like that before" in attempt.reason


def test_preparation_that_fails_later_is_told_apart(guided: SmallModel, tracks: TrackCode) -> None:
    """An analysis on the wrong side of the contract does not count; what a model repairs is read before it is run."""
    asked = guided.input(Assembler)
    text = text_of(asked.preprocessing, "preprocess.py").replace('made["each"] =', 'made["each"] = rows["price"]  #')
    asked = asked.model_copy(update={"preprocessing": rewritten(asked.preprocessing, "preprocess.py", text)})
    hostile = "import subprocess\nsubprocess.run(['id'])\n"
    misplaced = f"```json\n{json.dumps({**LOCATED, 'path': 'preprocess.py'})}\n```"
    provider = Canned([misplaced, said("code", hostile), misplaced, '```json\n{"terminate": "It is the table."}\n```'])
    first, second, (attempt, _) = attempts(guided, guided.make(Assembler, models(provider)), asked)
    assert first[1] and codes(first[1]) == ["contract-unfulfilled"]
    before = len(guided.sandbox.started)
    assert second[1] and set(codes(second[1])) == {"reaches-outside"}
    assert (attempt.reason, attempt.violations[0].subject) == ("It is the table.", "preprocess.py")
    assert len(guided.sandbox.started) == before and "preprocess.py" in provider.prompts[1].messages[1].text


PEEKING = """

class Peeking(Shallow):
    def fit(self, features, target, valid_features, valid_target, deadline):
        return Shallow.fit(self, valid_features, valid_target, features, target, deadline)


class Unseeded(Shallow):
    def fit(self, features, target, valid_features, valid_target, deadline):
        few = np.random.rand(len(features)) < 0.3
        return Shallow.fit(self, features[few], target[few], valid_features, valid_target, deadline)


ALGORITHMS |= {"peeking": Peeking, "unseeded": Unseeded}
STARTS = [Candidate("peeking", "peeking", {}), Candidate("unseeded", "unseeded", {}), *STARTS]
"""


@pytest.mark.parametrize("sampled", [True, False])
def test_predictions_that_follow_what_is_predicted_are_refused(
    sampled: bool, guided: SmallModel, tracks: TrackCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a fit that is the same again are not, nor of one that stops early by the same rows; whether a sample
    comes first or training does."""
    monkeypatch.setattr(assembling, "FOREIGN_SECONDS", 2.0)
    wrong = rewritten(tracks, "models/traditional.py", own_models(tracks) + PEEKING)
    asked = guided.input(Assembler).model_copy(
        update={"models": (wrong,), "sampled": sampled, "settings": Settings(seconds=1.0)}
    )
    _, verdict = next(attempts(guided, guided.make(Assembler), asked))
    (violation,) = verdict.violations if verdict else ()
    assert (violation.code, violation.subject) == ("contract-misused", "models/traditional.py")
    told = r"peeking \(off by \d+% of their spread\), unseeded \(off by \d+% of their spread\)\. Only `rounds`"
    assert re.search(f"told other targets of them: {told}", violation.message)


@pytest.mark.parametrize(("budget", "due"), [(120.0, 9.0), (5.0, 5.0)])
def test_training_takes_no_longer_than_the_request_allows(budget: float, due: float, guided: SmallModel) -> None:
    asked, limit = guided.input(GuidelineWriter), {"quantity": "training time", "comparison": "<=", "words": "9 s"}
    told = asked.requirements.model_dump() | {"problem": {"task": "regression", "constraints": [limit | {"value": 9}]}}
    wanted = asked.model_copy(update={"requirements": Requirements.model_validate(told)})
    made = guided.make(GuidelineWriter).run(wanted, guided.context()).output
    known = {name: getattr(guided.input(Assembler), name) for name in ("dataset", "profile", "preprocessing", "models")}
    assert AssemblerInput(blueprint=made.root, settings=Settings(seconds=budget), **known).seconds == due


def test_whom_an_actor_asks_may_have_a_model_of_its_own() -> None:
    topology = load_topology(topology_file("iml")).value
    check_roles(ModelChoice(models={"error_analyser": "a:b", "debugger": "a:b"}), topology)
    with pytest.raises(UserError, match=r"'debuger'.*'debugger'"):
        check_roles(ModelChoice(models={"debuger": "a:b"}), topology)


# prompts


def inputs(small: SmallModel) -> dict[type[Agent], Any]:
    """What the prompts of the snapshots are rendered from."""
    failure = Violation(
        code="contract-misused",
        message="traditional fails on a sample: KeyError: 'every'",
        evidence="KeyError: 'every'",
        subject="models/traditional.py",
    )
    file = TextFile(path="models/traditional.py", text="x = 1\n")
    analysis = AnalysisInput(failure=failure, contract="{}", files=(file,))
    found = by_trace(analysis)
    debugging = DebuggerInput(failure=failure, analysis=found, contract="{}", file=file)
    asked = {actor: small.input(actor) for actor in (GuidelineWriter, PreprocessingCoder, ModelingCoder)}
    known = {name: getattr(asked[PreprocessingCoder], name) for name in ("blueprint", "dataset", "profile")}
    whole = PipelineCoder.Input(tracks=("traditional",), **known)
    return {**asked, PipelineCoder: whole, ErrorAnalyser: analysis, Debugger: debugging}


def shortened(text: str) -> str:
    """A prompt with the beginnings of its quotations only."""
    lines, inside = [], 0
    for line in text.splitlines():
        fence = line.startswith("```")
        inside = 0 if fence and inside else 1 if fence else inside + bool(inside)
        if inside <= SHOWN + 1:
            lines.append(line[:160])
    return "\n".join(lines)


def prompt(small: SmallModel, cls: type[Agent]) -> str:
    sent = small.make(cls, models(Canned([]))).render(inputs(small)[cls], small.context())
    system, user = (message.text for message in sent.messages)
    return f"{system}\n\n----------\n\n{shortened(user)}\n"


PROMPTED: tuple[type[Agent], ...] = (
    GuidelineWriter, PreprocessingCoder, ModelingCoder, PipelineCoder, ErrorAnalyser, Debugger
)  # fmt: skip


@pytest.mark.parametrize("cls", PROMPTED, ids=lambda cls: cls.name)
def test_the_prompt_is_the_one_that_was_reviewed(cls: type[Agent], guided: SmallModel) -> None:
    """`python tests/automl/actors/test_coding_actors.py` renews the snapshots."""
    assert prompt(guided, cls) == (SNAPSHOTS / f"{cls.name}.md").read_text("utf-8")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        made = shop(Path(name))
        made.known["blueprint"] = decide(made, DECIDED)[0].output.root
        for each in PROMPTED:
            (SNAPSHOTS / f"{each.name}.md").write_text(prompt(made, each), "utf-8")
