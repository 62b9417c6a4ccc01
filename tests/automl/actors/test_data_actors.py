"""The two actors of the data: they read, split and profile."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

from palmette.automl.actors.data_profiler.actor import DataProfiler, ProfilerInput, decide
from palmette.automl.actors.data_retriever.actor import DataRetriever, DataRetrieverInput
from palmette.automl.planning.columns import left_out
from palmette.automl.profile import Leak, Profile
from palmette.automl.samples import DataSource, Repairs
from palmette.automl.task_spec.spec import TaskSpec
from palmette.engine import Context
from palmette.errors import UserError


def context(**fields: Any) -> Context:
    return Context("data", Path(), **fields)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.csv"
    rows = [f"{n},{n % 17}.5,{'ab'[n % 2]},{n % 5 if n % 9 else 'NA'},{'yes' if n % 3 else 'no'}" for n in range(90)]
    path.write_text("\n".join(["id,size,colour,age,done", *rows]) + "\n", "utf-8")
    return path


def retrieved(path: Path, target: str = "done") -> tuple[DataRetrieverInput, Any]:
    input = DataRetrieverInput(places=DataSource(named=(str(path),)), task=TaskSpec(target=target))
    return input, DataRetriever().run(input, context()).output


def test_data_are_read(file: Path) -> None:
    input, samples = retrieved(file)
    verdict = DataRetriever().check(input, samples, context())
    assert verdict.ok and verdict.measurements[0].detail == "90 rows, 5 columns of 1 file"
    assert samples.rows == 90 and samples.column("age").missing == pytest.approx(1 / 9, abs=1e-5)


def test_files_that_were_left_out_are_named(file: Path) -> None:
    input, samples = retrieved(file)
    repairs = Repairs()
    repairs.add("unreadable-files", "photo", 1, shown="a.jpg")
    lost = samples.model_copy(update={"repairs": tuple(repairs)})
    shown = DataRetriever().check(input, lost, context()).measurements[0].detail
    assert shown.endswith("1 file. 1 file of 'photo' cannot be read and was left out: a.jpg")


def profiling(file: Path, **task: Any) -> ProfilerInput:
    return ProfilerInput(samples=retrieved(file)[1], task=TaskSpec(target="done", problem="classification", **task))


def test_a_column_known_after_the_outcome_is_dropped_by_request(file: Path) -> None:
    made = DataProfiler().run(profiling(file, known_after=("age",)), context()).output
    assert isinstance(made, Profile) and list(made.dropped) == ["age"]
    (decision,) = (one for one in made.decisions if one.code == "known-after")
    assert (decision.done, decision.by) == ("dropped", "request")


def test_a_column_that_rows_are_grouped_by_is_no_feature_unless_the_request_names_it(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    rows = [f"p{n % 30},{n * 7 % 11}.5,{'yes' if n % 30 * 13 % 7 > 3 else 'no'}" for n in range(150)]
    path.write_text("\n".join(["patient,size,done", *rows]) + "\n", "utf-8")
    for included in ((), ("patient", "size")):
        input = profiling(path, include=included)
        made = DataProfiler().run(input, context()).output
        assert isinstance(made, Profile) and made.split.group == made.holdout.entity == "patient"
        assert ("patient" in left_out(input.task, input.samples, made)) == (not included)


@pytest.mark.parametrize("field", ["known_after", "exclude", "include"])
def test_a_column_that_does_not_exist_is_refused(field: str, file: Path) -> None:
    with pytest.raises(UserError, match="Did you mean 'colour'") as caught:
        DataProfiler().run(profiling(file, **{field: ("color",)}), context())
    assert caught.value.code == "no-such-column"


def test_a_file_that_changed_since_is_not_profiled(file: Path) -> None:
    input = profiling(file)
    file.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(UserError, match="data-changed"):
        DataProfiler().run(input, context())


def test_leaks_that_matter_are_shown_with_what_was_done(file: Path) -> None:
    made = DataProfiler().run(profiling(file), context()).output
    assert isinstance(made, Profile)
    copy = leak("colour", "drop").model_copy(update={"text": "It repeats the target.", "evidence": "in 90 rows"})
    found = [copy, copy.model_copy(update={"columns": ("size",)}), copy.model_copy(update={"severity": "low"})]
    for leaks, shown in (((), ["leaks"]), (found, ["leak", "leak"])):
        decisions = tuple(decide(leaks[:1], ["colour", "size"], lambda _: None))
        profile = made.model_copy(update={"leaks": tuple(leaks), "decisions": decisions})
        measured = DataProfiler().check(profiling(file), profile, context()).measurements
        assert [one.name for one in measured] == ["hold-out", *shown]
        assert "18 of 90 rows are the hold-out" in measured[0].detail
    details = [one.detail for one in measured[1:]]
    assert details == [f"It repeats the target (in 90 rows): {done}" for done in ("dropped, by default", "reported")]


def leak(name: str, default: Any) -> Leak:
    return Leak(code="target-copy", severity="high", columns=(name,), text="", action="ask", default=default)


@pytest.mark.parametrize(
    ("answer", "done", "by"),
    [(None, ["dropped", "kept"], "default"), ("no", ["kept", "kept"], "person"), ("Yes", ["dropped"] * 2, "person")],
)
def test_a_leak_in_question_is_decided_by_a_person_or_by_its_default(answer: Any, done: list[str], by: str) -> None:
    """Without an answer, the last column to learn from is kept."""
    made = list(decide([leak("a", "drop"), leak("b", "drop")], ["a", "b"], lambda _: answer))
    assert [one.done for one in made] == done and {one.by for one in made} == {by}
