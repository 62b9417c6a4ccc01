"""The request as prompts show it: its words, limits and wishes. Data, never an instruction."""

from __future__ import annotations

from collections.abc import Iterator

from palmette.automl.planning.drafting import PlanContext
from palmette.llm import NEEDED, Section, section

MEANING = {
    "latency": "seconds to answer a request for one row",
    "batch_time": "seconds to predict all hold-out rows",
    "size": "bytes of the delivered model",
    "training_time": "seconds of search and final fit",
    "parameters": "parameters of the delivered model",
}


def request_section(known: PlanContext) -> Section:
    """Words, limits, wishes, and what earlier rounds measured."""
    return section("request", "\n".join(_request(known)), rank=NEEDED)


def _request(known: PlanContext) -> Iterator[str]:
    task, wanted = known.task, known.constraints
    if task.sentence:
        yield f"in words: {task.sentence}"
    for one in task.constraints:
        meaning = MEANING.get(one.quantity, "on rows that training has not seen")
        yield f"must hold: {one} ({meaning})"
    if wanted.required:
        yield f"the delivered model must be one of: {', '.join(wanted.required)}"
    yield from (f"tried first: {one}" for one in wanted.preferred)
    yield from (f"trained for comparison: {one}" for one in wanted.compared)
    yield from (f"preferred: a model that is {_ADJECTIVES[one]}" for one in task.prefer)
    if task.ensemble is not None:
        yield "several models together are wanted" if task.ensemble else "one model is wanted"
    for number, done in enumerate(known.rounds, 1):
        scores = ", ".join(f"{one.candidate.name} {one.score:.5g} in {one.seconds:.0f} s" for one in done.candidates)
        latency = "" if done.milliseconds is None else f"{done.milliseconds:.1f} ms, "
        delivered = f"delivered {', '.join(done.members)}: {latency}{done.megabytes:.2f} MB"
        yield f"measured in round {number} ({done.plan}): {scores}; {delivered}"
        yield f"missed in round {number}: {', '.join(map(str, done.missed))}"


def leak_lines(known: PlanContext) -> Iterator[str]:
    """Leaks that are reported and kept, about columns that are used."""
    used = {one.name for one in known.blueprint.columns}
    return (one.text for one in known.profile.leaks if not one.columns or used.issuperset(one.columns))


_ADJECTIVES = {"speed": "fast", "small": "small", "explainable": "explainable", "simple": "simple"}
