"""Every prompt shows the shortest answer that its own reader takes."""

import inspect
from pathlib import Path
from typing import Literal

import pytest
from canned import Canned, models

from palmette.automl.actors.debugger.actor import Debugger
from palmette.automl.tuning.evolution import EvolvedAnswer
from palmette.engine import load, names
from palmette.features.words.reader import WordsAnswer
from palmette.features.words.second_reading import SecondAnswer
from palmette.llm import Agent, Answer, Reply, read_answer
from palmette.llm.agent import fill, load_prompt
from palmette.planners import model

PACKAGE = Path(model.__file__).parents[1]


def prompts() -> dict[str, tuple[Path, type[Answer]]]:
    """By task: the file and what an answer is read into."""
    actors = [load("actor", name) for name in names("actor") if name.startswith(("features.", "automl."))]
    actors += [Debugger]  # the assembler asks it; it stands in no topology
    agents = [one for one in actors if isinstance(one, type) and issubclass(one, Agent)]
    found = {one.name: (Path(inspect.getfile(one)).parent / one.prompt, one.Answer) for one in agents}
    found["words"] = (PACKAGE / "features" / "words" / "prompt.md", WordsAnswer)
    found["second_reading"] = (PACKAGE / "features" / "words" / "second_reading.md", SecondAnswer)
    found["request_evolver"] = (PACKAGE / "automl" / "tuning" / "evolution.md", EvolvedAnswer)
    return found


@pytest.mark.parametrize("task", prompts())
def test_the_example_is_an_answer(task: str) -> None:
    path, answer = prompts()[task]
    file = load_prompt(path)
    assert (file.front.task, file.front.answer) == (task, answer.__name__)
    for example in file.example.split("or, instead:"):
        found = read_answer(Reply(text=example, model="m"), answer)
        assert isinstance(found, answer), found


@pytest.mark.parametrize(("calls", "answer"), [("route", model.DecisionAnswer), ("step", model.StepAnswer)])
def test_the_planners_example_is_an_answer(calls: Literal["route", "step"], answer: type[Answer]) -> None:
    planner = model.LanguageModelPlanner(models(Canned([])), calls)
    text = planner.file.instructions(planner.answer, planner.parts)
    found = read_answer(Reply(text=fill(planner.file.example, planner.parts), model="m"), answer)
    assert isinstance(found, answer) and planner.answer is answer, found
    assert planner.parts["asked"] in text


def test_no_prompt_is_left_out() -> None:
    files = {path for path in PACKAGE.rglob("*.md") if path.read_text("utf-8").startswith("---\ntask:")}
    assert {path for path, _ in prompts().values()} == files - {PACKAGE / "planners" / "model.md"}
