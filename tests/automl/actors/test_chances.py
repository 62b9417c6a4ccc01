"""A project by one hand, the words of each modality for those who write one, and who writes what no model could."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the extra automl is not installed")

from actor_cases import profiler_input
from canned import Canned, models
from report_cases import findings_of
from small_coding import DECIDED, attempts, codes, decide, own_models, rewritten, said, shop, text_of
from small_model import SmallModel

from palmette.automl import report
from palmette.automl.actors.assembler import actor as assembling
from palmette.automl.actors.assembler.actor import Assembler
from palmette.automl.actors.modeling_coder.actor import ModelingCoder
from palmette.automl.actors.pipeline_coder.actor import PipelineCoder
from palmette.automl.actors.preprocessing_coder.actor import PreprocessingCoder
from palmette.automl.artefacts import Repair
from palmette.automl.modalities import modality_of
from palmette.automl.reach import objections
from palmette.engine import PastAttempt, TextFile, Violation

TRADITIONAL = "models/traditional.py"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembling, "FOREIGN_SECONDS", 1.0)


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> SmallModel:
    """Orders that are returned for the price of a piece, which is derived."""
    small = shop(tmp_path_factory.mktemp("orders"))
    small.known["blueprint"] = decide(small, DECIDED)[0].output.root
    small.input(Assembler)
    return small


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> SmallModel:
    """Three groups of visits, by two numbers and a word."""
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    rows = [f"{n % 3 * 40 + n % 7},{n % 3 * 9 + n % 5},{'abc'[n % 3]}" for n in range(90)]
    path.write_text("\n".join(["minutes,pages,source", *rows, ""]), "utf-8")
    small = SmallModel(path.parent / "model", dict(profiler_input(path, "Cluster the visits.")))
    small.input(Assembler)
    return small


@pytest.fixture(params=["orders", "visits"])
def small(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


# the words of a modality


def test_the_example_of_a_modality_keeps_to_its_words(small: SmallModel) -> None:
    """It has the names of the draft, and reaches nothing: whoever follows it is not refused."""
    modality = modality_of(small.known["blueprint"])
    drafts = {file.path: file.text for file in (*modality.preparation_files(), *modality.track_files("traditional"))}
    for path, words in {"preprocess.py": modality.PREPARATION, TRADITIONAL: modality.MODELS}.items():
        example = TextFile(path=path, text=words.example)
        assert objections([example]) == [] and exported(example.text) == exported(drafts[path])
        assert "{{" not in words.rules + words.example


def exported(text: str) -> set[str]:
    (found,) = [one for one in ast.parse(text).body if "__all__" in ast.unparse(one)] or [ast.parse("()").body[0]]
    return {one.value for one in ast.walk(found) if isinstance(one, ast.Constant)}


# one hand

ODD = '''
from models import UndividedError


class Odd(Chance):
    """Finds that the rows are not to be divided."""

    def fit(self, features):
        raise UndividedError("there is nothing to divide")


ALGORITHMS = {**ALGORITHMS, "odd": Odd}
usual = following


def following(found):
    yield Candidate("odd-2", "odd", {"clusters": 2})
    yield from usual(found)
'''


def given(small: SmallModel) -> Any:
    known = small.input(Assembler)
    fields = {name: getattr(known, name) for name in ("dataset", "profile", "blueprint", "settings")}
    return PipelineCoder.Input(tracks=("traditional",), **fields)


def whole(small: SmallModel, models_text: str) -> str:
    draft = text_of(small.known["preprocessing"], "preprocess.py")
    return said("preprocess", f"{draft}\n# Looked at.\n", reason="Said.") + said("traditional", models_text)


def test_clusters_are_written_by_one_hand(visits: SmallModel) -> None:
    """What cannot be divided so is no mistake; any other error comes back, with the trace, to whoever wrote it."""
    text = f"{modality_of(visits.known['blueprint']).MODELS.example}\n{ODD}"
    wrong = whole(visits, text.replace("raise UndividedError", "raise KeyError"))
    provider = Canned([said("preprocess", "x = 1"), wrong, whole(visits, text)])
    (first, refused), (second, verdict) = attempts(visits, visits.make(PipelineCoder, models(provider)), given(visits))
    assert "There is no block for traditional" in provider.prompts[1].messages[-1].text
    assert refused and codes(refused) == ["contract-misused"] and not first.output.tracks
    shown = provider.prompts[2].messages[-1].text
    assert "KeyError: 'there is nothing to divide'" in shown and "class Odd(Chance)" in shown
    assert verdict and verdict.ok and second.reason == "Said.", verdict
    assert text_of(second.output, "preprocess.py").endswith("# Looked at.\n")
    (run,) = second.output.tracks
    assert run.candidates > 2 and not run.failed and not second.output.repairs


def test_what_one_hand_writes_wrongly_twice_is_written_by_the_rules(orders: SmallModel) -> None:
    outside = whole(orders, "import requests\n" + own_models(orders.known["models"][0]))
    actor = orders.make(PipelineCoder, models(Canned([outside, outside.replace("requests", "socket")])))
    *refused, (made, verdict) = attempts(orders, actor, given(orders))
    assert [codes(one) for _, one in refused if one] == [["reaches-outside"]] * 2
    assert verdict and verdict.ok and made.output.tracks[0].candidates
    assert {(one.path, one.by) for one in made.output.repairs} == {("preprocess.py", "rules"), (TRADITIONAL, "rules")}


# the rules in a model's place

SPOILT = Violation(code="contract-unfulfilled", message="It fails.")
AT_WORK = Violation(code="prediction-failed", message="It fails at work.", subject=TRADITIONAL)
TWICE = {"attempt": 3, "attempts": [PastAttempt(number=n, reason="", fix="", violations=(SPOILT,)) for n in (1, 2)]}


@pytest.mark.parametrize(("cls", "path"), [(PreprocessingCoder, "preprocess.py"), (ModelingCoder, TRADITIONAL)])
@pytest.mark.parametrize("past", [TWICE, {"evidence": (AT_WORK,)}], ids=["refused twice", "failed at work"])
def test_what_no_model_could_write_is_the_rules_own(
    cls: Any, path: str, past: dict[str, Any], orders: SmallModel
) -> None:
    asked, actor = orders.input(cls), orders.make(cls, models(Canned([])))
    made = actor.run(asked, orders.context(**past)).output
    due = orders.make(cls).run(asked, orders.context(**past)).output
    assert (made.files, due.repairs) == (due.files, ())
    (repair,) = made.repairs
    failure = AT_WORK if "evidence" in past else SPOILT
    assert (repair.path, repair.by, repair.reason) == (path, "rules", failure.message)


def test_a_coder_whose_code_failed_is_asked_again_once_before_that(orders: SmallModel) -> None:
    """The first failure that nobody can mend is the planner's; after the next one the rules write the file."""
    asked, tracks = orders.input(Assembler), orders.known["models"][0]
    text = own_models(tracks).replace('features["each"]', 'features["every"]')
    asked = asked.model_copy(update={"models": (rewritten(tracks, TRADITIONAL, text),)})
    first = list(attempts(orders, orders.make(Assembler), asked))
    assert first[-1][0].violations[0].code == "contract-misused" and first[-1][1] is None
    past = PastAttempt(number=1, reason="", fix="", violations=first[-1][0].violations)
    _, (made, verdict) = attempts(orders, orders.make(Assembler), asked, past=(past,))
    assert verdict and verdict.ok and "written by the rules" in made.fix
    (repair,) = made.output.repairs
    assert (repair.path, repair.by) == (TRADITIONAL, "rules") and "'every'" in repair.reason
    assert text_of(made.output, TRADITIONAL) == text_of(tracks, TRADITIONAL)


def test_a_report_says_whose_the_code_is() -> None:
    told = [{"path": f"{by}.py", "failure": "other", "reason": f"<{by}> fails.", "by": by} for by in ("model", "rules")]
    texts = report.written(replace(findings_of(), repairs=tuple(map(Repair.model_validate, told))))
    for text in texts.values():
        assert "rules.py is as the built-in rules write it" in text.replace("\\", "")
        assert "model.py is as" not in text
    assert "by a language model" in texts["report.html"] and "&lt;model&gt; fails." in texts["report.html"]
