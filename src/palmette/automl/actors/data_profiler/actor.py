"""The actor `data_profiler`: the harness computes every figure; a model may add remarks in words."""

from __future__ import annotations

import re

from palmette.automl.actors.data_profiler.offline import ProfilerInput, compute, figures, settle, shown_column
from palmette.automl.profile import Profile
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, Agent, Answer, Section, section

MOST_REMARKS = 8
LONGEST = 300
QUOTED = re.compile(r"`([^`]+)`")


class RemarksAnswer(Answer):
    remarks: tuple[str, ...]
    """At most 8 sentences on what the figures mean for this task; column names in backquotes, no figures."""


class DataProfiler(Agent):
    """Computes the profile of the training rows; whoever remarks on it adds no figure."""

    name = "data_profiler"
    description = "Profiles the training rows: columns, target, meta-features, suggestions and leaks, all computed."
    produces = "profile"
    Input = ProfilerInput
    Output = Profile
    Answer = RemarksAnswer
    has_criterion = True

    def offline(self, input: ProfilerInput, context: Context) -> Attempt[Profile]:
        made = compute(input)
        context.progress(f"{made.holdout.training_rows} training rows profiled, {len(made.leaks)} leaks in doubt")
        return Attempt(_settled(made, context))

    def brief(self, input: ProfilerInput, context: Context) -> tuple[Section, ...]:
        made = compute(input)
        ordered = sorted(made.columns, key=lambda column: (column.rank, column.name))
        return (
            section("aim", made.aim.model_dump_json(), rank=NEEDED, language="json"),
            section("target", made.target.model_dump_json() if made.target else "", rank=NEEDED, language="json"),
            section("columns", *map(shown_column, ordered), rank=2),
            section("findings", *figures(made), rank=1),
            section("repairs", *(repair.text for repair in input.dataset.repairs), rank=3),
        )

    def read(self, answer: RemarksAnswer, input: ProfilerInput, context: Context) -> Attempt[Profile]:
        made = compute(input)
        remarks = tuple(" ".join(remark.split()) for remark in answer.remarks)
        return Attempt(_settled(made, context).model_copy(update={"remarks": remarks}), answer.reason, answer.fix)

    def check(self, input: ProfilerInput, output: Profile, context: Context) -> Verdict:
        """Every figure is the one that the harness computes; remarks have none, and name columns that exist."""
        again = compute(input)
        differing = [
            name
            for name in Profile.model_fields
            if name not in ("remarks", "settled") and getattr(again, name) != getattr(output, name)
        ]
        violations = [
            Violation(code="figures-differ", message=f"Computed again, the {name} of the profile differ.", subject=name)
            for name in differing
        ]
        violations += _of_remarks(output.remarks, {column.name for column in input.dataset.columns})
        detail = f"{len(output.columns)} columns and {len(output.meta)} meta-features, computed again"
        measured = Measurement(name="profile", status="failed" if violations else "passed", detail=detail)
        return Verdict.of(violations, [measured])

    def implicated(self, violation: Violation, output: Profile) -> str | None:
        """To blame for a leak that is found later, and for what a model remarked wrongly."""
        own = violation.code in ("figures-differ", "leak-found") or violation.code.startswith("remark")
        return f"Compute the profile again: {violation.message}" if own else None


def _settled(made: Profile, context: Context) -> Profile:
    usable = [column.name for column in made.columns if column.kind not in ("identifier", "constant")]
    return made.model_copy(update={"settled": tuple(settle(made.leaks, usable, context.ask))})


def _of_remarks(remarks: tuple[str, ...], columns: set[str]) -> list[Violation]:
    found = []
    if len(remarks) > MOST_REMARKS:
        message = f"There are {len(remarks)} remarks; {MOST_REMARKS} at most are read."
        found.append(Violation(code="remarks-too-many", message=message))
    for remark in remarks:
        unknown = [name for name in QUOTED.findall(remark) if name not in columns]
        if re.search(r"\d|%", QUOTED.sub("", remark)):
            message = "A remark has a figure; figures are computed, never written."
            found.append(Violation(code="remark-with-figure", message=message, evidence=remark[:LONGEST]))
        if unknown:
            message = f"A remark names {unknown[0]!r}, which is no column."
            found.append(Violation(code="remark-on-nothing", message=message, evidence=remark[:LONGEST]))
        if len(remark) > LONGEST or not remark:
            message = f"A remark has {len(remark)} characters; one sentence of at most {LONGEST} is meant."
            found.append(Violation(code="remark-too-long", message=message, evidence=remark[:LONGEST]))
    return found
