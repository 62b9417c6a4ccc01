"""Words that no phrasing of the rules covers: a model's reading is held to the resolver, or a person is asked."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canned import Canned, models
from click.testing import CliRunner
from toys import ScriptedHuman

from palmette.cli.check import check
from palmette.engine import Human, NoHuman, Paid, Spend, pay_unrecorded
from palmette.errors import InputError
from palmette.features import environment
from palmette.features.actors.pull_request.body import BodyFacts, ChangeClass, pull_request_body
from palmette.features.inputs import RunInputs, read_inputs
from palmette.features.questions import answered, understood, understood_view
from palmette.features.spec.phrases import definition
from palmette.features.spec.view import View
from palmette.llm.answerer import Models

WORDS = "how much bigger the typical order of the last month was than usual"
FSC = f"""fsc: 1
feature_view: user_orders
entities: [{{name: user, keys: [user_id]}}]
features:
  - {{name: orders_30d, dtype: bigint, words: number of orders in the last 30 days}}
  - {{name: growth, dtype: double, words: {WORDS}}}
"""
DFR = """dfr: 1
tables:
  - name: orders
    kind: event
    path: tables/orders.csv
    format: csv
    keys: [order_id]
    event_time: ordered_at
    columns:
      - {name: order_id, type: bigint}
      - {name: user_id, type: bigint}
      - {name: amount, type: double, description: Euros.}
      - {name: ordered_at, type: timestamp}
"""
RUN = """run: 1
fsc: ../fsc.yaml
dfr: ../dfr.yaml
repository: {path: ../team, base: main}
interval: {as_of: "2025-03-31T00:00:00Z"}
output: {path: ../team/lake/user_orders}
"""
TEST = """tests:
  - name: no change
    as_of: 2025-03-31T00:00:00Z
    given:
      orders: [{order_id: 1, user_id: 1, amount: 5, ordered_at: 2025-03-30T00:00:00Z}]
    expect: [{user_id: 1, growth: 1.0}]
"""


def median(name: str, window: str, of: str = "amount") -> dict[str, Any]:
    aggregate = {"function": "percentile", "p": 0.5, "source": "orders", "of": of, "window": window}
    return {"name": name, "dtype": "double", "aggregate": aggregate}


def reading(of: str = "amount", derive: str = "recent / usual", **more: Any) -> str:
    growth = {"name": "growth", "derive": derive, "helpers": [median("recent", "30d", of), median("usual", "all", of)]}
    return said(features=[growth], **more)


def said(**answer: Any) -> str:
    return f"```json\n{json.dumps(answer)}\n```"


def reread(recent: str = "50 % percentile of amount over orders in the 30 days before the cut-off", **more: str) -> str:
    """A second reading of `growth`."""
    found = {"growth": "recent / usual", "usual": "50 % percentile of amount over orders in all history", **more}
    return said(definitions={**found, "recent": recent})


QUESTION = said(questions=[{"feature": "growth", "question": "Bigger in euros, or how many times?"}])


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    texts = {
        "fsc.yaml": FSC,
        "dfr.yaml": DFR,
        "runs/run.yaml": RUN,
        "tables/orders.csv": "order_id,user_id,amount,ordered_at\n",
        "team/README.md": "# Jobs\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "The team's code"]):
        author = ["-c", "user.name=team", "-c", "user.email=team@localhost"]
        subprocess.run(["git", *author, *command], cwd=tmp_path / "team", check=True)
    return tmp_path / "runs" / "run.yaml"


def read(run_file: Path, *replies: str, human: Human | None = None, second: str = reread()) -> tuple[View, Canned]:
    provider = Canned([*replies, second])
    model = models(provider).of("words")
    assert model is not None
    with pytest.raises(InputError) as raised:
        read_inputs(run_file)
    answers = understood(run_file, {}, raised.value, model, human or NoHuman(), pay_unrecorded)
    return read_inputs(run_file, answers).view, provider


def test_a_reading_becomes_the_view_with_its_internal_helpers(run_file: Path) -> None:
    view, provider = read(run_file, reading())
    growth = view.feature("growth")
    assert (growth.derive, growth.words, growth.dtype.name) == ("recent / usual", WORDS, "double")
    assert list(view.output) == ["user_id", "as_of", "orders_30d", "growth"]
    assert view.feature("recent").internal and view.lineage["growth"] == ("orders.amount", "orders.ordered_at")
    assert len(provider.prompts) == 2 and not view.doubts


def test_two_files_alone_are_read_the_same_way(run_file: Path) -> None:
    """As `palmette check` reads them."""
    fsc, dfr = run_file.parents[1] / "fsc.yaml", run_file.parents[1] / "dfr.yaml"
    model = models(Canned([reading(of="amuont"), reading(), reread()])).of("words")
    view = understood_view(fsc, dfr, model, NoHuman(), pay_unrecorded)
    assert view.feature("growth").derive == "recent / usual"
    assert {one.name: definition(one, view) for one in view.features} == {
        "orders_30d": "number of rows of orders in the 30 days before the cut-off",
        "growth": "recent / usual",
        "recent": "50 % percentile of amount over orders in the 30 days before the cut-off",
        "usual": "50 % percentile of amount over orders in all history",
    }
    done = CliRunner().invoke(check, [str(fsc), f"--fsc={fsc}", f"--dfr={dfr}"])
    assert "unknown-words" in str(done.exception) and "--model PROVIDER:NAME" in done.stderr


def test_the_model_is_shown_words_tables_and_vocabulary_and_only_what_is_open(run_file: Path) -> None:
    _, provider = read(run_file, reading())
    system, user = (message.text for message in provider.prompts[0].messages)
    assert "```\ngrowth\n```" in user and WORDS in user and "- amount double: Euros." in user
    assert '"days_since_last"' in system and "- PreparingStep: filter?" in system and "terminate?" in system
    assert str(run_file.parents[1]) not in system + user


@pytest.mark.parametrize(("name", "number"), [("words", 1), ("second_reading", 2)])
def test_the_prompt_is_the_one_that_was_reviewed(name: str, number: int, run_file: Path) -> None:
    """To accept a change on purpose, write the new text into the file and read the diff."""
    _, provider = read(run_file, reading(of="amuont"), reading())
    text = "\n\n----------\n\n".join(message.text for message in provider.prompts[number].messages) + "\n"
    assert text == Path(__file__).with_name("snapshots").joinpath(f"{name}.md").read_text("utf-8")


def test_a_reading_may_bring_a_source(run_file: Path) -> None:
    big = {"name": "big_orders", "table": "orders", "steps": [{"filter": "amount > 100"}]}
    feature = {"name": "growth", "aggregate": {"function": "avg", "source": "big_orders", "of": "amount"}}
    view, _ = read(run_file, said(features=[feature], sources=[big]))
    assert {source.name: source.table.name for source in view.sources} == {"orders": "orders", "big_orders": "orders"}


@pytest.mark.parametrize(("reply", "told"), [
    (reading(of="amuont"), "There is no column 'amuont'"),
    (reading(derive="recent / typical"), "'typical'"),
    (said(features=[]), "are not understood"),
    (said(features=[{"name": "growth"}]), "'growth' has no computation"),
    (said(features=[{"name": "growth", "derive": "1.0", "lookup": {"table": "orders", "column": "amount"}}]),
     "'growth' has lookup and derive"),
])  # fmt: skip
def test_what_the_resolver_refuses_goes_back_to_the_model(reply: str, told: str, run_file: Path) -> None:
    view, provider = read(run_file, reply, reading())
    assert view.feature("growth").derive == "recent / usual"
    assert told in " ".join(message.text for message in provider.prompts[1].messages)


TWO = FSC + "  - {name: largest, dtype: double, words: the dearest order of all}\n"
LARGEST = {"name": "largest", "aggregate": {"function": "max", "source": "orders", "of": "amount"}}
LARGEST_AGAIN = "largest amount in orders in all history"


def test_only_what_was_refused_is_asked_for_again_and_each_error_is_shown_once(run_file: Path) -> None:
    (run_file.parents[1] / "fsc.yaml").write_text(TWO, encoding="utf-8")
    growth = json.loads(reading(of="amuont")[8:-4])["features"]
    both, extra = said(features=[*growth, LARGEST]), json.loads(reading()[8:-4])["features"]
    unasked = said(features=[*extra, {**LARGEST, "aggregate": {**LARGEST["aggregate"], "function": "min"}}])
    view, provider = read(run_file, both, reading(of="amuont"), unasked, second=reread(largest=LARGEST_AGAIN))
    assert view.feature("growth").derive == "recent / usual"
    assert definition(view.feature("largest"), view) == LARGEST_AGAIN
    again, last = (prompt.messages[1].text for prompt in provider.prompts[1:3])
    assert "```\ngrowth\n```" in again and '{"name": "largest"' not in again
    assert last.count("There is no column 'amuont'") == 1 and last.count("You answered:") == 2


def test_what_two_readings_differ_in_is_asked_for_and_the_answer_decides(run_file: Path) -> None:
    other = reread(recent="50 % percentile of amount over orders in the 29 days before the cut-off")
    human = ScriptedHuman(["1."])
    view, provider = read(run_file, reading(), second=other, human=human)
    assert not view.doubts and len(provider.prompts) == 2
    assert "Which is meant: 1, 2, or what in other words?" in human.questions[0] and WORDS in human.questions[0]
    view, provider = read(run_file, reading(), other, second=reading(derive="recent"), human=ScriptedHuman(["Recent."]))
    assert (view.feature("growth").derive, view.doubts) == ("recent", {})
    assert "The author answered: Recent." in provider.prompts[2].messages[1].text


def test_without_an_answer_the_first_reading_stands_and_the_reviewer_is_warned(run_file: Path) -> None:
    for second, warned in (
        (reread(usual="mean of amount over orders in all history"), "A second reading differs. (1) recent / usual"),
        (said(definitions={}), "A second reading was skipped: it gives no definition."),
        (said(terminate="Too vague."), "A second reading was skipped: Too vague."),
    ):
        view, _ = read(run_file, reading(), second=second)
        assert view.feature("growth").derive == "recent / usual"
        body = pull_request_body(BodyFacts(view=view, files=(), change=ChangeClass("new view")))
        asked = body.partition("Were the words read as they were meant?\n  - `")[2]
        assert f". {warned}" in asked


def test_the_authors_examples_decide_too(run_file: Path) -> None:
    path = run_file.parents[1] / "fsc.yaml"
    path.write_text(FSC + TEST, encoding="utf-8")
    view, provider = read(run_file, reading(derive="recent - usual"), reading())
    assert view.feature("growth").derive == "recent / usual"
    assert "expects what the definitions do not give" in provider.prompts[1].messages[1].text


def test_after_some_rounds_the_words_are_a_mistake_where_they_are_written(run_file: Path) -> None:
    with pytest.raises(InputError) as raised:
        read(run_file, *[reading(of="amuont")] * 4)
    (problem,) = raised.value.problems
    assert (problem.code, problem.line, problem.field) == ("unknown-words", 6, "features[1].words")
    assert "amuont" in problem.message and WORDS in problem.message


def test_a_question_goes_to_the_author_and_the_answer_to_the_model(run_file: Path) -> None:
    human = ScriptedHuman(["How many times."])
    view, provider = read(run_file, QUESTION, reading(), human=human)
    assert view.feature("growth").derive == "recent / usual"
    (question,) = human.questions
    assert WORDS in question and "Bigger in euros, or how many times?" in question
    assert "The author answered: How many times." in provider.prompts[1].messages[1].text


def test_a_question_that_nobody_answers_is_a_mistake_in_the_file(run_file: Path) -> None:
    with pytest.raises(InputError) as raised:
        read(run_file, QUESTION)
    (problem,) = raised.value.problems
    assert (problem.code, problem.line) == ("ambiguous-words", 6)
    assert "Bigger in euros, or how many times?" in problem.message


def test_a_model_that_hands_over_says_why(run_file: Path) -> None:
    with pytest.raises(InputError, match="No table has returns"):
        read(run_file, said(reason="No table has returns.", fix="TERMINATE"))


def test_what_was_understood_is_for_the_reviewer_to_confirm(run_file: Path) -> None:
    view, _ = read(run_file, reading())
    body = pull_request_body(BodyFacts(view=view, files=(), change=ChangeClass("new view")))
    asked = body.partition("Open questions")[2]
    assert (
        WORDS in asked and "read as `recent / usual`, where `recent` is `50 % percentile of amount over orders" in asked
    )


class Opening:
    """The environment as it opens, with a model in every role and a journal of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *replies: str) -> None:
        self.provider, self.paid = Canned(replies), dict[str, Any]()
        monkeypatch.setattr(environment, "open_models", lambda choice, folder: self.opened(choice))

    def opened(self, choice: Any) -> Models:
        return Models() if choice.is_offline else models(self.provider)

    def payer(self, budget: object) -> Any:
        def pay(request: Any, estimate: Spend, make: Callable[[], Paid], role: str = "") -> Any:
            key = json.dumps(request)
            if key not in self.paid:
                self.paid[key] = make().answer
            return self.paid[key]

        return pay

    def inputs(self, run_file: Path, **arguments: Any) -> RunInputs:
        human = environment.human_of("none", run_file.parent)
        return environment._open_run(run_file, arguments, run_file.parent, self.payer, human)[0]


def test_the_environment_reads_words_as_it_opens_and_pays_once(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = Opening(monkeypatch, QUESTION, reading(), reread())
    monkeypatch.setattr(environment, "human_of", lambda *_: ScriptedHuman(["How many times."]))
    first = opening.inputs(run_file, model="canned:model")
    monkeypatch.setattr(environment, "human_of", lambda *_: ScriptedHuman())
    again = opening.inputs(run_file, model="canned:model")
    assert first.view.features == again.view.features and first.run.model == "canned:model"
    assert len(opening.provider.prompts) == 3 and len(opening.paid) == 4, "the answer of the author is remembered, too"


def test_without_a_model_words_are_as_they_were(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="are not understood"):
        Opening(monkeypatch).inputs(run_file)
    view = Opening(monkeypatch).inputs(run_file, answers={"growth": "average amount"}).view
    assert view.feature("growth").derive is None


def test_mistakes_beside_the_questions_are_reported_before_anybody_is_asked(
    run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run_file.parents[1] / "fsc.yaml"
    path.write_text(FSC.replace("keys: [user_id]", "keys: [usr_id]"), encoding="utf-8")
    with pytest.raises(InputError, match="usr_id"):
        Opening(monkeypatch).inputs(run_file, model="canned:model")


def test_before_a_run_a_person_is_asked_only_where_no_model_reads_words(run_file: Path) -> None:
    human = ScriptedHuman(["average amount"])
    assert answered(run_file, human, "canned:model") == {} and human.questions == []
    assert answered(run_file, human) == {"growth": "average amount"}
