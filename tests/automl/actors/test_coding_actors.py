"""Own code of a model: features and learners, what is refused, what is repaired, and what is left out."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from canned import Canned, models
from small_coding import FEATURES, LEARNER, PROPOSED, Shop, attempts, codes, own, said

from palmette.automl.actors.assembler import actor as assembler
from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.debugger.actor import Debugger, DebuggerInput
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import WrittenCode
from palmette.automl.composition import candidate_track
from palmette.automl.own_code import composed, module_of
from palmette.automl.search.results import CandidateLoad
from palmette.automl.search.runs import Search
from palmette.engine import TERMINATE, PastAttempt, Violation
from palmette.llm import Agent
from palmette.llm.text import estimate_tokens
from palmette.sandbox import ExecutionResult

SNAPSHOTS = Path(__file__).with_name("snapshots")
BROKEN = FEATURES.replace('.where(X["items"] > 0)', "")
"""Passes where no order is without items."""
REFUSED = Violation(code="contract-unfulfilled", message="It fails.", subject="own_features.py")
TWICE = {
    "attempt": 3,
    "attempts": tuple(PastAttempt(number=n, reason="", fix="", violations=(REFUSED,)) for n in (1, 2)),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


# features


def test_by_the_rules_there_is_no_own_code(shop: Shop) -> None:
    before = shop.sandbox.started
    assert shop.made(PreprocessingCoder) == WrittenCode()
    assert shop.made(ModelingCoder) == WrittenCode()
    assert shop.sandbox.started == before


def test_features_of_a_model_are_tried_beside_the_plans_candidates(shop: Shop) -> None:
    actor, asked = shop.make(PreprocessingCoder, own()), shop.input(PreprocessingCoder)
    made = actor.run(asked, shop.context()).output
    assert actor.check(asked, made, shop.context()).ok
    first, second = asked.blueprint.candidates[:2]
    assert [one.name for one in made.candidates] == [f"{first.name}-own", f"{second.name}-own"]
    assert {one.features for one in made.candidates} == {"own_features.OrderFeatures"}
    names = [one.name for one in composed(asked.blueprint, made.candidates, made.modules).candidates]
    assert names == [first.name, second.name, f"{first.name}-own", f"{second.name}-own"]
    assert composed(asked.blueprint, made.candidates, ()) == asked.blueprint


def test_a_model_may_have_nothing_to_add(shop: Shop) -> None:
    actor = shop.make(PreprocessingCoder, models(Canned([said(reason="The columns have no meaning.")])))
    asked = shop.input(PreprocessingCoder)
    made = actor.run(asked, shop.context()).output
    assert made == WrittenCode()
    assert not actor.check(asked, made, shop.context()).measurements, "nothing was checked, so nothing is shown"


@pytest.mark.parametrize(("old", "new", "told"), [
    ('{"each":', '{"total":', "return the added ones only"),
    ('X["items"]', 'X["pieces"]', "KeyError: 'pieces'"),
])  # fmt: skip
def test_features_that_break_the_contract_come_back_with_their_trace(old: str, new: str, told: str, shop: Shop) -> None:
    actor, asked = shop.make(PreprocessingCoder, own(FEATURES.replace(old, new))), shop.input(PreprocessingCoder)
    made = actor.run(asked, shop.context()).output
    (violation,) = actor.check(asked, made, shop.context()).violations
    assert (violation.code, violation.subject) == ("contract-unfulfilled", "own_features.py")
    assert told in violation.evidence and actor.implicated(violation, made)
    assert not actor.implicated(violation, WrittenCode())


def test_a_module_without_a_transformer_is_asked_for_again(shop: Shop) -> None:
    provider = Canned([said("own_features", "x = 1"), said("own_features", FEATURES)])
    made = shop.make(PreprocessingCoder, models(provider)).run(shop.input(PreprocessingCoder), shop.context()).output
    assert made.modules[0].classes == ("OrderFeatures",)
    assert "exactly one public class" in provider.prompts[1].messages[-1].text


# models


def proposing(*candidates: Any, learner: str = "") -> Any:
    return models(Canned([said("own_learner" if learner else "", learner, candidates=candidates)] * 3))


def test_candidates_of_a_model_are_named_by_their_learner(shop: Shop) -> None:
    features = shop.make(PreprocessingCoder, own()).run(shop.input(PreprocessingCoder), shop.context()).output
    one = {"learner": "linear", "own_features": True, "balance": "oversample", "tuned": True, "reason": "Few rows."}
    asked = shop.input(ModelingCoder, preprocessing=features)
    made = shop.make(ModelingCoder, proposing(one)).run(asked, shop.context()).output
    (found,) = made.candidates
    assert (found.name, found.features, found.strategy.balance) == (
        "linear-own-1", "own_features.OrderFeatures", "oversample"
    )  # fmt: skip
    assert found.tuned and not made.modules


@pytest.mark.parametrize(("candidate", "told"), [
    ({"learner": "transformer", "reason": "?"}, "'transformer' is not a listed learner"),
    ({"learner": "lightgbm", "settings": {"leaves": 3}, "reason": "?"}, "has no setting 'leaves'"),
])  # fmt: skip
def test_what_no_learner_accepts_is_asked_for_again(candidate: dict[str, Any], told: str, shop: Shop) -> None:
    provider = Canned([said(candidates=[candidate]), said(candidates=[])])
    made = shop.make(ModelingCoder, models(provider)).run(shop.input(ModelingCoder), shop.context()).output
    assert made.candidates == () and told in provider.prompts[1].messages[-1].text


def test_an_own_learner_is_executed_at_once(shop: Shop) -> None:
    asked = shop.input(ModelingCoder)
    actor = shop.make(ModelingCoder, proposing(PROPOSED, learner=LEARNER))
    made = actor.run(asked, shop.context()).output
    assert actor.check(asked, made, shop.context()).ok
    (found,) = made.candidates
    assert (found.name, found.learner) == ("own_traditional-own-1", "own_traditional.Shares")
    assert candidate_track(found) == "traditional"
    wrong = LEARNER.replace("return np.where(low[:, None], *self.shares_)", "return self.shares_[0]")
    refused = actor.check(asked, made.model_copy(update={"modules": (module_of("own_traditional.py", wrong, "fit"),)}),
                          shop.context())  # fmt: skip
    assert codes(refused) == ["contract-misused"] and "own_traditional.py" in refused.violations[0].message


def test_nobody_is_asked_for_a_track_that_the_plan_does_not_use(shop: Shop) -> None:
    actor = shop.make(ModelingCoder, models(Canned([])))
    assert not actor.run(shop.input(ModelingCoder, track="neural"), shop.context()).output.modules


# what is left out


@pytest.mark.parametrize(
    ("cls", "path"), [(PreprocessingCoder, "own_features.py"), (ModelingCoder, "own_traditional.py")]
)
@pytest.mark.parametrize("code", ["contract-unfulfilled", "prediction-failed"])
def test_code_that_no_model_could_write_is_left_out(cls: Any, path: str, code: str, shop: Shop) -> None:
    failure = REFUSED.model_copy(update={"code": code})
    past: Any = TWICE if code == "contract-unfulfilled" else {"evidence": (failure,)}
    made = shop.make(cls, models(Canned([]))).run(shop.input(cls), shop.context(**past)).output
    (repair,) = made.repairs
    assert (repair.path, repair.by, repair.reason, made.modules) == (path, "rules", "It fails.", ())


# assembly


@pytest.fixture(scope="module")
def assembling(shop: Shop) -> Any:
    """The input of an assembler whose features fail in the search."""
    wrong = FEATURES.replace('X["total"] /', 'X["price"] /')
    features = shop.make(PreprocessingCoder, own(wrong)).run(shop.input(PreprocessingCoder), shop.context()).output
    return shop.input(Assembler, preprocessing=features, models=(WrittenCode(),))


@pytest.fixture(scope="module")
def refused(assembling: Any, shop: Shop) -> tuple[Any, PastAttempt]:
    """What a first attempt makes of it, and why it is refused."""
    context, actor = shop.context(), shop.make(Assembler)
    made = actor.run(assembling, context).output
    violations = actor.check(assembling, made, context).violations
    assert [one.code for one in violations] == ["contract-unfulfilled"] and not made.tracks
    assert "KeyError: 'price'" in violations[0].evidence
    return made, PastAttempt(number=1, reason="", fix="", violations=violations)


def second(shop: Shop, actor: Any, asked: Any, made: Any, past: tuple[PastAttempt, ...]) -> tuple[Any, Any]:
    """The second attempt, and the verdict on it."""
    context = shop.context(attempt=2, last=made, attempts=past)
    attempt = actor.run(asked, context)
    return attempt, actor.check(asked, attempt.output, context) if attempt.output else None


PATCH = '<<<<<<< old\nX["price"] /\n=======\nX["total"] /\n>>>>>>> new'


def test_a_failure_on_the_sample_is_repaired_by_a_patch_and_then_trained(
    assembling: Any, refused: tuple[Any, PastAttempt], shop: Shop
) -> None:
    patch = PATCH.replace(
        'X["price"] /', '        return pd.DataFrame({"each": X["price"] / X["items"].where(X["items"] > 0)})'
    )
    patch = patch.replace(
        'X["total"] /', '        return pd.DataFrame({"each": X["total"] / X["items"].where(X["items"] > 0)})'
    )
    provider = Canned([said("code", patch, reason="There is no price.", fix="It takes the total.")])
    made, past = refused
    attempt, verdict = second(shop, shop.make(Assembler, models(provider)), assembling, made, (past,))
    assert verdict and verdict.ok, verdict
    (repair,) = attempt.output.repairs
    assert (repair.path, repair.failure, repair.by) == ("own_features.py", "contract-unfulfilled", "model")
    assert attempt.output.modules[0].text == FEATURES and attempt.fix == "It takes the total."
    assert [prompt.role for prompt in provider.prompts] == ["debugger"]


@pytest.mark.parametrize(("coder", "repairs"), [(PreprocessingCoder, 9), (PipelineCoder, 0)])
def test_what_nobody_repairs_is_the_coders_once_and_then_left_out(
    coder: Any, repairs: int, assembling: Any, refused: tuple[Any, PastAttempt], shop: Shop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    provider, (made, past) = Canned([]), refused
    actor = shop.make(Assembler) if repairs else shop.make(Assembler, models(provider))
    asked = assembling.model_copy(update={"repairs": repairs})
    attempt, _ = second(shop, actor, asked, made, (past,))
    (violation,) = attempt.violations
    assert (attempt.output, attempt.fix, violation.code) == (None, TERMINATE, "contract-unfulfilled")
    assert shop.make(coder).implicated(violation, assembling.preprocessing)
    monkeypatch.setattr(Search, "run", lambda *_: CandidateLoad())
    attempt, _ = second(shop, actor, asked, made, (past, past))
    assert "left out" in attempt.fix and not attempt.output.modules and not provider.prompts
    assert {(one.path, one.by) for one in attempt.output.repairs} == {("own_features.py", "rules")}


def test_a_check_of_own_code_takes_no_training_time(
    assembling: Any, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []

    def slow(*_: object) -> list[Violation]:
        time.sleep(1.0)
        return []

    def run(self: Search, given: float, *_: object) -> CandidateLoad:
        seconds.append(given)
        return CandidateLoad()

    monkeypatch.setattr(assembler, "_on_sample", slow)
    monkeypatch.setattr(Search, "run", run)
    made = shop.make(Assembler).run(assembling, shop.context()).output
    assert seconds[0] > assembler.search_seconds(assembling.blueprint) - 0.9 and made.seconds < 0.9


@pytest.mark.parametrize(("exit_code", "blamed"), [(0, []), (1, ["own_features.py"])])
def test_own_code_that_the_sample_had_no_time_for_is_not_blamed(
    exit_code: int, blamed: list[str], assembling: Any, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ExecutionResult(exit_code=exit_code, stdout="", stderr="", seconds=20.0, ended="exited", isolation="")
    monkeypatch.setattr(Search, "run_fold", lambda *_: (CandidateLoad(), done))
    monkeypatch.setattr(Search, "run", lambda *_: CandidateLoad())
    made = shop.make(Assembler).run(assembling, shop.context()).output
    assert [one.subject for one in made.failures if one.code == "contract-unfulfilled"][:1] == blamed


def test_without_a_sample_own_code_that_fails_is_only_reported(assembling: Any, shop: Shop) -> None:
    asked = assembling.model_copy(update={"sampled": False})
    ((made, verdict),) = attempts(shop, shop.make(Assembler), asked)
    assert verdict and verdict.ok and made.output.tracks[0].candidates >= 2


def test_a_repair_may_change_another_module_than_the_traceback_names(shop: Shop) -> None:
    modules = (module_of("own_features.py", FEATURES, "transform"), module_of("own_traditional.py", LEARNER, "fit"))
    patch = "<<<<<<< old\n        low = X[:, 0] < self.cut\n=======\n        low = X[:, 0] <= self.cut\n>>>>>>> new"
    provider = Canned([said("code", patch, path="own_models.py"), said("code", patch, path="own_traditional.py")])
    asked = DebuggerInput(failure=REFUSED, modules=modules)
    made = shop.make(Debugger, models(provider)).run(asked, shop.context()).output
    assert made.path == "own_traditional.py" and "<= self.cut" in made.text
    assert "'own_models.py' is not a module that may be changed" in provider.prompts[1].messages[-1].text


def test_hostile_repairs_are_refused_before_they_run(
    assembling: Any, refused: tuple[Any, PastAttempt], shop: Shop
) -> None:
    patch = "<<<<<<< old\nimport pandas as pd\n=======\nimport os\nimport pandas as pd\n>>>>>>> new"
    actor = shop.make(Assembler, models(Canned([said("code", patch)])))
    made, past = refused
    _, verdict = second(shop, actor, assembling, made, (past,))
    assert verdict and set(codes(verdict)) == {"reaches-outside"}


def test_one_hand_writes_features_and_candidates(shop: Shop) -> None:
    answer = said(
        "own_features", FEATURES, candidates=[{"learner": "linear", "own_features": True, "reason": "Prices."}]
    )
    actor, asked = shop.make(PipelineCoder, models(Canned([answer]))), shop.input(PipelineCoder)
    ((written, verdict),) = attempts(shop, actor, asked)
    assert verdict and verdict.ok and written.output.modules
    assert actor.implicated(Violation(code="prediction-failed", message="?"), written.output)
    assembling = shop.input(Assembler, preprocessing=written.output, repairs=0)
    ((made, verdict),) = attempts(shop, shop.make(Assembler), assembling)
    assert verdict and verdict.ok and made.output.tracks[0].candidates >= 2


# prompts


def inputs(shop: Shop) -> dict[type[Agent], Any]:
    """What the prompts of the snapshots are rendered from."""
    features = module_of("own_features.py", FEATURES, "transform")
    learner = module_of("own_traditional.py", LEARNER, "fit")
    failure = REFUSED.model_copy(update={"evidence": 'File "own_features.py", line 14'})
    debugging = DebuggerInput(failure=failure, modules=(features, learner))
    coders = {cls: shop.input(cls) for cls in (PreprocessingCoder, ModelingCoder, PipelineCoder)}
    return {**coders, Debugger: debugging}


def prompt(shop: Shop, cls: type[Agent]) -> str:
    sent = shop.make(cls, models(Canned([]))).render(inputs(shop)[cls], shop.context())
    return "\n\n----------\n\n".join(message.text for message in sent.messages) + "\n"


PROMPTED: tuple[type[Agent], ...] = (PreprocessingCoder, ModelingCoder, PipelineCoder, Debugger)


@pytest.mark.parametrize("cls", PROMPTED, ids=lambda cls: cls.name)
def test_the_prompt_is_the_one_that_was_reviewed(cls: type[Agent], shop: Shop) -> None:
    """`python tests/automl/actors/test_coding_actors.py` renews the snapshots."""
    due = (SNAPSHOTS / f"{cls.name}.md").read_text("utf-8")
    lists = re.compile(r"^[a-z_]+ \((tree|dense|sparse)\): .*\n", re.MULTILINE)  # other learners may be installed
    assert lists.sub("", prompt(shop, cls)) == lists.sub("", due)


def test_both_coders_together_take_few_tokens(shop: Shop) -> None:
    assert sum(estimate_tokens(prompt(shop, cls)) for cls in (PreprocessingCoder, ModelingCoder)) < 7000


def test_excluded_columns_do_not_occur(tmp_path: Path) -> None:
    small = Shop(tmp_path, exclude=["colour"])
    assert "colour" not in prompt(small, PreprocessingCoder) + prompt(small, ModelingCoder)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        made = Shop(Path(name))
        for each in PROMPTED:
            (SNAPSHOTS / f"{each.name}.md").write_text(prompt(made, each), "utf-8")
