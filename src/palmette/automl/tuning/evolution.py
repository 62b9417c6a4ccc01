"""Requests that a language model evolves, in depth or in breadth, and answers."""

from collections import Counter
from collections.abc import Sequence
from inspect import getfile
from pathlib import Path

from palmette.automl.actors.requirement_parser import actor as parser
from palmette.automl.tuning.instructions import CONTEXT, Pair, reader, task_fields
from palmette.engine import Pay
from palmette.errors import RunStopped, UserError
from palmette.llm import NEEDED, Answer, Answerer, BadAnswer, read_answer, section
from palmette.llm.agent import load_prompt


class EvolvedAnswer(parser.SentenceAnswer):
    request: str
    """The new request."""


def evolve(given: Sequence[Pair], model: Answerer, pay: Pay) -> tuple[list[Pair], str]:
    """The pairs, evolved where the model's answer is accepted and until a limit is reached; and how they were made."""
    made, known, outcomes = list(given), {one.request for one in given}, Counter[str]()
    try:
        for number, pair in enumerate(given):
            way = ("depth", "breadth")[(number + number // 10) % 2]  # every tenth is a test: each split has both ways
            found = _evolved(pair, way, model, pay)
            if isinstance(found, Pair) and found.request in known:
                found = "request-known"
            if isinstance(found, Pair):
                made[number] = found
                known.add(found.request)
            outcomes[found if isinstance(found, str) else "evolved"] += 1
    except RunStopped as stop:
        outcomes[f"not asked for ({stop.message})"] = len(given) - outcomes.total()
    counts = ", ".join(f"{count} {name}" for name, count in outcomes.items())
    origin = f"Made by a grammar, without real data, and evolved and answered by {model.name}: {counts}."
    return made, f"{origin} All but the evolved ones are the grammar's, with labels right by construction."


def _evolved(pair: Pair, way: str, model: Answerer, pay: Pay) -> Pair | str:
    """The pair that a model makes of another, or a code that says why it is refused."""
    file = load_prompt(Path(__file__).with_name("evolution.md"))
    shown = [one for one in reader().sections(pair.asked, CONTEXT) if one.name in file.front.inputs]
    task = section("task", pair.answer.model_dump_json(exclude_defaults=True), rank=NEEDED, language="json")
    parts = {"way": way, "reading": load_prompt(Path(getfile(parser)).with_name("prompt.md")).system}
    prompt = file.prompt(model.role, EvolvedAnswer, (*shown, task), model.settings.prompt_tokens, parts)
    answer = read_answer(model.reply(prompt, pay), EvolvedAnswer)
    if not isinstance(answer, EvolvedAnswer):
        return answer.code if isinstance(answer, BadAnswer) else "answer-handed-over"
    fields = answer.model_dump(exclude={"request", *Answer.model_fields}, exclude_unset=True)
    made = pair.model_copy(update={"request": answer.request, "answer": parser.SentenceAnswer(**fields)})
    if reader().objection(made.answer, made.asked):
        return "answer-impossible"
    try:
        read = reader().read(made.answer, made.asked, CONTEXT)
    except UserError as error:
        return error.code
    if wrong := reader().check(made.asked, read.output, CONTEXT).violations if read.output else read.violations:
        return wrong[0].code
    old, new = (task_fields(parser.reading_of(one.answer, one.request, one.data).task) for one in (pair, made))
    return made if old == new or (way == "depth" and old < new) else "request-departed"
