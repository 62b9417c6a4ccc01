"""An agent on a model: one path with the built-in rules, in a whole run."""

from dataclasses import replace
from pathlib import Path

import pytest
from canned import Canned, Writer, code, models

from palmette.engine import BaseActor, Remedy, RunBudget, RunResult, Setup, Topology, resume_run, run_topology
from palmette.engine.topology import Node
from palmette.errors import ModelError
from palmette.llm import NEEDED, OFFLINE, Reply, section
from palmette.llm.agent import shown
from palmette.planners.offline import OfflinePlanner

GOOD = code('print("hello")', reason="It was asked for.")
BAD = code('print("goodbye")')


def setup(*providers: Canned, budget: RunBudget | None = None, **settings: object) -> Setup:
    return Setup(
        topology=Topology(
            topology="words", start=("writer",), end=("writer",), actors={"writer": Node(use="canned:Writer")}
        ),
        actors={"writer": Writer(models(*providers, **settings) if providers else OFFLINE)},
        planner=OfflinePlanner(),
        budget=budget or RunBudget(),
    )


def script(result: RunResult) -> str:
    return str(result.value("script")["file"]["text"])


def test_the_built_in_rules_and_a_model_go_the_same_way(tmp_path: Path) -> None:
    assert script(run_topology(setup(), tmp_path / "offline")) == "print('hello')\n"
    result = run_topology(setup(Canned([GOOD])), tmp_path / "model")
    assert script(result) == 'print("hello")\n'
    ((who, cost),) = result.state.bill.items()
    assert who == ("writer", "writer") and cost.calls == 1 and cost.tokens == 120


class Unjudged(Writer):
    """Writes what nothing measures."""

    check = BaseActor.check  # type: ignore[assignment]  # the default


class Reader:
    """A person who wants another word."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, question: str) -> str | None:
        self.asked += 1
        return "yes" if "hello" in question else "Write hello."


@pytest.mark.parametrize(("answers", "asked"), [([BAD, GOOD], 2), ([], 0)], ids=["model", "rules"])
def test_a_person_confirms_what_a_model_wrote_where_nothing_measures_it(
    answers: list[str], asked: int, tmp_path: Path
) -> None:
    provider, reader = Canned(answers), Reader()
    models_ = models(provider) if answers else OFFLINE
    result = run_topology(replace(setup(), actors={"writer": Unjudged(models_)}, human=reader), tmp_path)
    assert result.status == "finished" and reader.asked == asked and "hello" in script(result)
    assert not answers or "[not-confirmed] A person asks for a change: Write hello." in str(provider.prompts[1])


def test_a_model_sees_what_was_tried_and_its_last_answer(tmp_path: Path) -> None:
    provider = Canned([BAD, GOOD])
    remedy = Remedy(actor="writer", fault="writer", fix="``` Say hello.")
    remembering = replace(setup(provider), recall=lambda code: [remedy] if code == "wrong-word" else [])
    assert run_topology(remembering, tmp_path).status == "finished"
    system, user = provider.prompts[1].messages
    assert system == provider.prompts[0].messages[0], "the same in every call, so that providers can cache it"
    assert "[wrong-word] It prints ['goodbye'], not 'hello'." in user.text
    assert 'script.py:\n```\nprint("goodbye")\n```' in user.text
    assert "In an earlier run, writer mended this at writer: ``` Say hello.\n````\n" in user.text
    assert str(tmp_path) not in user.text


def test_the_same_wrong_answer_again_is_handed_to_the_planner(tmp_path: Path) -> None:
    provider = Canned([BAD, BAD, BAD])
    result = run_topology(setup(provider), tmp_path)
    assert result.status == "stopped" and len(provider.prompts) == 2


def test_a_model_that_hands_over_is_believed(tmp_path: Path) -> None:
    provider = Canned(['{"terminate": "The word is missing."}'])
    result = run_topology(setup(provider), tmp_path)
    assert result.status == "stopped" and "The word is missing." in result.reason


@pytest.mark.parametrize(
    ("replies", "calls"),
    [
        (["no code at all", GOOD], 2),
        (["```scala\nval x = 1\n```", "```python\nx = (\n```", GOOD], 3),
        ([Reply(text="```python script\nprint(", finish="length", model="m", output_tokens=9), GOOD], 2),
        (["", GOOD], 2),
    ],
)
def test_what_cannot_be_used_is_sent_back_with_the_error(tmp_path: Path, replies: list[str], calls: int) -> None:
    provider = Canned(replies)
    result = run_topology(setup(provider), tmp_path)
    assert script(result) == 'print("hello")\n'
    assert len(provider.prompts) == result.state.bill["writer", "writer"].calls == calls
    assert provider.prompts[-1].messages[-1].text.startswith("Your answer could not be used.")


def test_after_two_further_tries_the_task_is_given_up(tmp_path: Path) -> None:
    provider = Canned(["nothing"] * 9)
    result = run_topology(setup(provider), tmp_path)
    assert result.status == "stopped" and len(provider.prompts) == 3
    assert "There is no python block" in result.reason


def test_a_refusal_is_not_argued_with(tmp_path: Path) -> None:
    provider = Canned([Reply(text="I cannot help with that.", finish="refused", model="canned:model")])
    result = run_topology(setup(provider), tmp_path)
    assert result.status == "stopped" and "declined to answer: I cannot help" in result.reason


def test_a_run_that_lost_its_model_is_resumed_without_paying_twice(tmp_path: Path) -> None:
    provider = Canned([BAD, ModelError("It is down.", "Resume later.", code="model-failed"), GOOD])
    with pytest.raises(ModelError, match="down"):
        run_topology(setup(provider), tmp_path)
    assert script(resume_run(tmp_path, setup=setup(provider))) == 'print("hello")\n'
    assert [len(prompt.messages) for prompt in provider.prompts] == [2, 2, 2], (
        "the first answer was not asked for again"
    )
    assert provider.prompts[1] == provider.prompts[2]


def test_a_model_out_of_reach_is_replaced_by_the_next(tmp_path: Path) -> None:
    down, up = Canned([ModelError("It is down.", code="model-failed")]), Canned([GOOD])
    assert run_topology(setup(down, up), tmp_path).status == "finished"
    assert len(down.prompts) == len(up.prompts) == 1


@pytest.mark.parametrize("budget", [RunBudget(tokens=1000), RunBudget(money=1.0)])
def test_a_call_that_could_lead_beyond_the_budget_is_not_made(tmp_path: Path, budget: RunBudget) -> None:
    provider = Canned([GOOD])
    result = run_topology(setup(provider, budget=budget, max_tokens=1000), tmp_path)
    assert result.status == "stopped" and "does not allow one more call" in result.reason
    assert not provider.prompts
    again = run_topology(setup(provider, budget=budget, max_tokens=50), tmp_path / "again")
    assert again.status == "finished"


def test_a_prompt_that_does_not_fit_is_the_planners_to_judge_and_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Writer, "sections", lambda *_: (section("word", "long " * 1000, rank=NEEDED),))
    provider = Canned([GOOD])
    result = run_topology(setup(provider, prompt_tokens=1700), tmp_path)
    assert result.status == "stopped" and not provider.prompts
    (violation,) = result.state.actor("writer").failure.violations
    assert violation.code == "prompt-too-long" and "with 'word'. Raise `prompt_tokens`." in violation.message


def test_an_output_is_shown_as_its_files() -> None:
    from canned import Script, TextFile

    text = shown(Script(file=TextFile(path="a.py", text="x = '```'\n")))
    assert text == '```json\n{\n "file": "a.py"\n}\n```\n\na.py:\n````\nx = \'```\'\n````'


def test_the_rendered_prompt_is_the_one_that_was_reviewed(tmp_path: Path) -> None:
    """`python tests/llm/test_agent.py` renews the snapshot."""
    assert rendered(tmp_path) == SNAPSHOT.read_text("utf-8")


SNAPSHOT = Path(__file__).with_name("snapshots") / "writer.md"


def rendered(folder: Path) -> str:
    """The second prompt of a run: with what was tried."""
    provider = Canned([BAD, code('print("hello")')])
    run_topology(setup(provider), folder)
    return "\n\n----------\n\n".join(message.text for message in provider.prompts[1].messages) + "\n"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        SNAPSHOT.parent.mkdir(exist_ok=True)
        SNAPSHOT.write_text(rendered(Path(name)), "utf-8")
