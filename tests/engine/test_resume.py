"""Resuming, editing and locking: one mechanism, freshness."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model
from test_kill import in_child
from toys import Each, Gather, ListMaker, ScriptedHuman, Toy, chain, part

from palmette.engine import (
    Attempt,
    Context,
    Journal,
    Node,
    Setup,
    Verdict,
    Violation,
    find_run,
    new_run_folder,
    read_journal,
    register,
    resume_run,
    run_environment,
    run_topology,
)
from palmette.errors import DeveloperError, InputError, RunError


def diamond() -> list[Toy]:
    return [Toy("a"), Toy("b", ["a"]), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)]


def runs(toys: list[Toy]) -> list[int]:
    return [len(toy.runs) for toy in toys]


def edit(folder: Path, maker: str, text: str) -> None:
    (folder / "artefacts" / f"{maker}_part" / "parts" / f"{maker}.txt").write_text(text)


def test_resuming_a_finished_run_does_nothing(tmp_path: Path) -> None:
    toys = diamond()
    run_topology(chain(*toys), tmp_path)
    assert resume_run(tmp_path, setup=chain(*toys)).status == "finished"
    assert runs(toys) == [1, 1, 1, 1]


@pytest.mark.parametrize(("maker", "again"), [("a", [0, 1, 1, 1]), ("b", [0, 0, 0, 1]), ("d", [0, 0, 0, 0])])
def test_an_edit_redoes_exactly_what_depends_on_it(tmp_path: Path, maker: str, again: list[int]) -> None:
    run_topology(chain(*diamond()), tmp_path)
    edit(tmp_path, maker, f"edited {maker}\n")
    toys = diamond()
    result = resume_run(tmp_path, setup=chain(*toys))
    assert result.status == "finished" and runs(toys) == again
    assert f"edited {maker}" in (result.path("d_part") / "parts/d.txt").read_text()
    assert result.state.artefacts[f"{maker}_part"].by == "person"


def test_an_edit_that_changes_nothing_downstream_stops_there(tmp_path: Path) -> None:
    class Constant(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append("")
            return Attempt(part("b"))

    def toys() -> list[Toy]:
        return [Toy("a"), Constant("b", ["a"]), Toy("c", ["b"], strict=True)]

    run_topology(chain(*toys()), tmp_path)
    edit(tmp_path, "a", "edited\n")
    again = toys()
    assert resume_run(tmp_path, setup=chain(*again)).status == "finished"
    assert runs(again) == [0, 1, 0]


def test_an_edit_of_the_value_itself_counts_too(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    view = tmp_path / "artefacts/b_part/value.json"
    view.write_text(view.read_text().replace('"maker": "b"', '"maker": "z"'))
    toys = diamond()
    assert resume_run(tmp_path, setup=chain(*toys)).value("d_part")["of"] == ["c", "z"]


def test_an_edited_output_must_meet_the_criterion(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    view = tmp_path / "artefacts/d_part/value.json"
    view.write_text(view.read_text().replace('"faults": []', '"faults": ["mine"]'))
    with pytest.raises(RunError, match="d has the fault of mine"):
        resume_run(tmp_path, setup=chain(*diamond()))
    view.write_text(view.read_text().replace('"faults": ["mine"]', '"faults": []'))
    assert resume_run(tmp_path, setup=chain(*diamond())).status == "finished"


def test_a_measured_output_cannot_be_edited(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    view, toys = tmp_path / "artefacts/d_part/value.json", diamond()
    before = view.read_text()
    view.write_text(before.replace('"maker": "d"', '"maker": "z"'))
    toys[-1].is_measured = True
    with pytest.raises(RunError, match="The artefact 'd_part' is measured, so editing it changes nothing"):
        resume_run(tmp_path, setup=chain(*toys))
    assert view.read_text() == before and resume_run(tmp_path, setup=chain(*toys)).status == "finished"


@pytest.mark.parametrize(
    ("text", "message"), [("{", "cannot be read"), ('{"maker": 3}', "value.json"), ("[]", "value.json")]
)
def test_an_unreadable_edit_is_an_error_that_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    run_topology(chain(*diamond()), tmp_path)
    (tmp_path / "artefacts/b_part/value.json").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        resume_run(tmp_path, setup=chain(*diamond()))
    assert "b_part" in caught.value.problems[0].file


@pytest.mark.parametrize(
    ("artefact", "field"), [("a_part", "parts[1].makr"), ("b_part", "[1].makr")], ids=["one value", "a fan-out"]
)
def test_a_mistake_in_an_edit_is_on_its_line_with_what_was_meant(tmp_path: Path, artefact: str, field: str) -> None:
    fan_out = {"b": Node(next=("c",), for_each="a_part as element")}
    setup = chain(ListMaker("a"), Each("b"), Gather("c", "b", strict=True), nodes=fan_out)
    run_topology(setup, tmp_path)
    path = tmp_path / "artefacts" / artefact / "value.json"
    lines = path.read_text().splitlines()
    place = [index for index, line in enumerate(lines) if '"maker"' in line][1]
    lines[place] = lines[place].replace("maker", "makr")
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        resume_run(tmp_path, setup=setup)
    found = {(one.file, one.line, one.field, one.nearest) for one in caught.value.problems}
    assert (str(path), place + 1, field, "maker") in found


def test_a_deleted_file_of_an_artefact_is_named(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    (tmp_path / "artefacts/b_part/parts/b.txt").unlink()
    with pytest.raises(InputError, match=r"b\.txt"):
        resume_run(tmp_path, setup=chain(*diamond()))


def test_edited_given_artefacts_and_changed_sources_count(tmp_path: Path) -> None:
    class Reader(Toy):
        def __init__(self) -> None:
            super().__init__("a", strict=True)
            self.Input = create_model("AInput", word=(str, ...))

        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append(input.word)
            return Attempt(part("a"))

    run_topology(chain(Reader(), given={"word": "one"}), tmp_path)
    (tmp_path / "artefacts/word/value.json").write_text('"two"')
    reader = Reader()
    resume_run(tmp_path, setup=chain(reader, given={"word": "one"}))
    resume_run(tmp_path, setup=chain(reader, given={"word": "three"}))
    resume_run(tmp_path, setup=chain(reader, given={"word": "three"}))
    assert reader.runs == ["two", "three"]


def test_a_copy_says_where_its_source_is(tmp_path: Path) -> None:
    def setup() -> Setup:
        return replace(chain(*diamond()), given={"order": {"what": "tea"}}, copied={"order": "order.yaml"})

    run_topology(setup(), tmp_path)
    (tmp_path / "artefacts/order/value.json").write_text('{"what": "milk"}')
    with pytest.raises(RunError, match=r"Edit order\.yaml and resume"):
        resume_run(tmp_path, setup=setup())
    assert resume_run(tmp_path, setup=setup()).status == "finished"


def test_edits_made_while_a_person_is_asked_are_seen(tmp_path: Path) -> None:
    class Editing(ScriptedHuman):
        def ask(self, question: str) -> str | None:
            edit(tmp_path, "a", "edited\n")
            return super().ask(question)

    toys = diamond()
    result = run_topology(chain(*toys, approve=("d",), human=Editing(["yes"])), tmp_path)
    assert result.status == "stopped", "the inputs have changed: it is asked again, and nobody answers"
    assert runs(toys) == [1, 2, 2, 0]


def test_a_changed_parameter_or_class_makes_an_actor_stale(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    toys = diamond()
    resume_run(tmp_path, setup=chain(*toys, nodes={"c": Node(next=("d",), use="other.c")}))
    assert runs(toys) == [0, 0, 1, 0], "c is redone; its output is the same, so d is not"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    with Journal(tmp_path), pytest.raises(RunError, match=f"in use by process {os.getpid()}"):
        resume_run(tmp_path, setup=chain(*diamond()))


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    def die() -> None:
        Journal(tmp_path)
        os.kill(os.getpid(), 9)

    run_topology(chain(*diamond()), tmp_path)
    assert in_child(die) == -9
    assert resume_run(tmp_path, setup=chain(*diamond())).status == "finished"


def test_a_run_is_not_started_over_another(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    with pytest.raises(RunError, match="palmette resume"):
        run_topology(chain(*diamond()), tmp_path)


def test_a_changed_object_is_noticed(tmp_path: Path) -> None:
    result = run_topology(chain(*diamond()), tmp_path)
    (tmp_path / "objects" / result.state.artefacts["b_part"].digest).write_text("{}")
    with pytest.raises(RunError, match="was changed"):
        result.value("b_part")


def test_an_environment_is_opened_again_from_the_journal(tmp_path: Path) -> None:
    opened: list[object] = []

    @register("environment", "test_diamond")
    def open_diamond(arguments: dict[str, Any]) -> Any:
        opened.append(arguments)
        return chain(*diamond())

    run_environment("test_diamond", {"x": 1}, tmp_path)
    assert resume_run(tmp_path).status == "finished"
    assert opened == [{"x": 1}, {"x": 1}]
    first = read_journal(tmp_path)[0].event
    assert first.kind == "run_opened" and first.environment == "test_diamond"


def test_a_run_put_together_in_code_needs_its_setup(tmp_path: Path) -> None:
    run_topology(chain(*diamond()), tmp_path)
    with pytest.raises(RunError, match="setup="):
        resume_run(tmp_path)


def test_a_fan_out_edited_as_a_whole_is_checked_by_length(tmp_path: Path) -> None:
    def toys() -> list[Toy]:
        return [ListMaker("list"), Each("each"), Gather("all", "each", strict=True)]

    nodes = {"each": Node(next=("all",), for_each="list_part as element")}
    run_topology(chain(*toys(), nodes=nodes), tmp_path)
    (tmp_path / "artefacts/each_part/value.json").write_text("[]")
    with pytest.raises(RunError, match="0 outputs for 3 inputs"):
        resume_run(tmp_path, setup=chain(*toys(), nodes=nodes))


class Brittle(Toy):
    """Its methods that the engine asks may fail."""

    broken: tuple[str, ...] = ()

    def check(self, input: Any, output: Any, context: Context) -> Verdict:
        if "check" in self.broken:
            raise ZeroDivisionError("oops")
        return super().check(input, output, context)

    def implicated(self, violation: Violation, output: Any) -> str | None:
        if "implicated" in self.broken:
            raise ZeroDivisionError("oops")
        return super().implicated(violation, output)


def test_a_criterion_that_crashes_on_an_edit_refuses_it(tmp_path: Path) -> None:
    toys = [Brittle("a", strict=True)]
    run_topology(chain(*toys), tmp_path)
    toys[0].broken = ("check",)
    edit(tmp_path, "a", "A")
    with pytest.raises(RunError, match=r"actor-crashed: a raised ZeroDivisionError: oops"):
        resume_run(tmp_path, setup=chain(*toys))


def test_an_actor_that_cannot_say_whether_it_is_to_blame_is_named(tmp_path: Path) -> None:
    brittle = Brittle("a", faulty=True)
    brittle.broken = ("implicated",)
    with pytest.raises(DeveloperError, match=r"a raised ZeroDivisionError, asked whether it is to blame for 'fault'"):
        run_topology(chain(brittle, Toy("b", ["a"], strict=True)), tmp_path)


@pytest.mark.parametrize(
    ("what", "name"), [("offer_daily", "offer_daily"), ("my run/../x", "my-run-..-x"), ("größe 2.0", "größe-2.0")]
)
def test_a_run_is_called_after_what_it_is_about(
    what: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "runs"))
    folder = new_run_folder(what)
    assert folder.parent == tmp_path / "runs" and re.fullmatch(rf"\d{{8}}-\d{{6}}-{name}-[0-9a-f]{{8}}", folder.name)
    run_topology(chain(*diamond()), folder)
    assert find_run(folder.name[:16]) == find_run("latest") == folder
