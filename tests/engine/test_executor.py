"""The loop: routing, attempts, budgets, people, and what ends a run."""

import io
from pathlib import Path
from typing import Any

import pytest
from toys import Each, Gather, ListMaker, Part, ScriptedHuman, Toy, chain, part

from palmette.engine import (
    END,
    TERMINATE,
    Attempt,
    ConsoleHuman,
    Context,
    Decision,
    Node,
    NoHuman,
    RunBudget,
    Situation,
    Verdict,
    Violation,
    fold,
    read_journal,
    resume_run,
    run_topology,
)
from palmette.errors import MachineError, RunError, RunStopped


def test_a_latent_upstream_fault_is_mended_where_it_is_and_nowhere_else(tmp_path: Path) -> None:
    toys = [Toy("a"), Toy("b", ["a"], faulty=True), Toy("c", ["a"]), Toy("d", ["b", "c"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    assert result.status == "finished"
    assert [len(toy.runs) for toy in toys] == [1, 2, 1, 3]
    assert toys[1].runs == ["", "mend b"]
    assert (result.path("d_part") / "parts/d.txt").read_text() == "d(b(a()), c(a()))\n"


def test_two_faults_are_sent_back_at_once(tmp_path: Path) -> None:
    toys = [Toy("a", faulty=True), Toy("b", ["a"], faulty=True), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    decided = [entry.event for entry in read_journal(tmp_path / "run") if entry.event.kind == "decided"]
    (orders,) = [[order.actor for order in event.orders] for event in decided if event.orders]
    assert result.status == "finished" and orders == ["a", "b"], "the most upstream first"


def test_a_start_actor_is_re_entered_when_no_edge_leads_back(tmp_path: Path) -> None:
    toys = [Toy("a"), Toy("b", faulty=True), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    kinds = [
        (entry.event.kind, entry.event.actor)
        for entry in read_journal(tmp_path / "run")
        if entry.event.kind in {"actor_reused", "actor_succeeded"}
    ]
    assert kinds == [
        ("actor_succeeded", "a"),
        ("actor_succeeded", "b"),
        ("actor_reused", "a"),
        ("actor_succeeded", "b"),
        ("actor_succeeded", "c"),
    ]
    assert result.status == "finished"


def test_an_actor_that_declines_keeps_its_output_and_the_next_suspect_is_asked(tmp_path: Path) -> None:
    class Innocent(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            if context.instruction:
                self.runs.append(context.instruction)
                return Attempt(None, reason="It is not me.", fix=TERMINATE)
            return super().run(input, context)

        def implicated(self, violation: Violation, output: Any) -> str | None:
            return "perhaps you"

    toys = [Innocent("a"), Toy("b", ["a"], faulty=True), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    assert result.status == "finished"
    assert toys[0].runs == ["", "perhaps you"] and toys[1].runs == ["", "mend b"]


def test_an_optional_input_is_taken_on_a_second_walk(tmp_path: Path) -> None:
    toys = [Toy("a", wants=["b"]), Toy("b", ["a"], strict=True)]
    result = run_topology(chain(*toys, budget=RunBudget(steps=9)), tmp_path / "run")
    assert result.status == "stopped", "b's text contains a's, which contains b's: this never settles"
    toys = [Toy("a", wants=["b"]), Toy("b", strict=True)]
    result = run_topology(chain(*toys), tmp_path / "settles")
    assert result.status == "finished" and result.value("a_part")["of"] == ["b"]


class Clumsy(Toy):
    """Succeeds on its third attempt."""

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        self.runs.append(",".join(past.violations[0].code for past in context.attempts))
        if len(self.runs) == 1:
            raise ValueError("oh")
        return Attempt(part(self.name, faults=["x"] if len(self.runs) == 2 else []), reason="r", fix="f")


def test_attempts_see_all_earlier_failures_and_a_crash_is_one(tmp_path: Path) -> None:
    toy = Clumsy("a", strict=True)
    result = run_topology(chain(toy), tmp_path / "run")
    assert toy.runs == ["", "actor-crashed", "actor-crashed,fault"]
    past = result.state.actor("a").attempts
    assert "oh" in past[0].violations[0].message and "ValueError" in past[0].violations[0].evidence
    assert (past[1].reason, past[1].fix) == ("r", "f")


@pytest.mark.parametrize(
    "attempt", [Attempt(None, reason="no way"), Attempt(part("a"), reason="no way", fix=TERMINATE)]
)
def test_giving_up_hands_over_at_once_and_the_human_is_asked(tmp_path: Path, attempt: Attempt[Any]) -> None:
    class Quitter(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append(context.instruction)
            return attempt if len(self.runs) == 1 else Attempt(part(self.name))

    toy, human = Quitter("a", strict=True), ScriptedHuman(["try harder"])
    result = run_topology(chain(toy, human=human), tmp_path / "run")
    assert result.status == "finished" and toy.runs == ["", "try harder"]
    assert "no way" in human.questions[0]


def test_without_help_the_run_stops_and_says_what_was_tried(tmp_path: Path) -> None:
    class Stubborn(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append(context.instruction)
            return Attempt(part(self.name, faults=[self.name]))

    toys = [Stubborn("a"), Toy("b", ["a"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    assert (
        result.status == "stopped" and "b failed" in result.reason and "Sent back without success: a" in result.reason
    )
    assert toys[0].runs == ["", "mend a"] and len(toys[1].runs) == 2, "the same is not tried again"
    with pytest.raises(RunStopped, match="can be resumed"):
        result.raise_if_stopped()


def test_resuming_a_stopped_run_tries_the_failed_actor_once_more_and_asks_again(tmp_path: Path) -> None:
    cured: list[bool] = []

    class Moody(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append(context.instruction)
            return Attempt(part(self.name)) if cured else Attempt(None, reason="The machine is ill.")

    toy, human = Moody("a", strict=True), ScriptedHuman([None, None])
    assert run_topology(chain(toy, human=human), tmp_path / "run").status == "stopped"
    assert resume_run(tmp_path / "run", setup=chain(toy, human=human)).status == "stopped"
    assert len(toy.runs) == 2 and len(human.questions) == 2
    cured.append(True)
    assert resume_run(tmp_path / "run", setup=chain(toy, human=human)).status == "finished"


def test_a_used_up_budget_does_not_keep_a_run_from_ending(tmp_path: Path) -> None:
    assert run_topology(chain(Toy("a", strict=True), budget=RunBudget(steps=1)), tmp_path / "run").status == "finished"


def test_a_bug_in_a_planner_is_journaled_before_it_propagates(tmp_path: Path) -> None:
    class Buggy:
        def decide(self, situation: Situation) -> Decision:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_topology(chain(Toy("a", strict=True), planner=Buggy()), tmp_path / "run")
    assert read_journal(tmp_path / "run")[-1].event.kind == "run_ended"


def test_the_human_may_tell_another_actor(tmp_path: Path) -> None:
    class Secret(Toy):
        def implicated(self, violation: Violation, output: Any) -> str | None:
            return None

    toys = [Secret("a", faulty=True), Toy("b", ["a"], strict=True)]
    human = ScriptedHuman(["a: leave the fault out"])
    assert run_topology(chain(*toys, human=human), tmp_path / "run").status == "finished"
    assert toys[0].runs == ["", "leave the fault out"]
    assert "Nothing measures the output of a" in human.questions[0]


@pytest.mark.parametrize(
    ("budget", "limit"),
    [(RunBudget(steps=2), "2 steps"), (RunBudget(attempts=1), "1 attempts"), (RunBudget(seconds=0.0), "0 seconds")],
)
def test_each_budget_ends_the_run_cleanly_and_a_resume_goes_on(tmp_path: Path, budget: RunBudget, limit: str) -> None:
    toys = [Toy("a"), Toy("b", ["a"]), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys, budget=budget), tmp_path / "run")
    assert result.status == "stopped" and limit in result.reason and len(toys[2].runs) == 0
    setup = chain(*toys)
    assert resume_run(tmp_path / "run", setup=setup).status == "finished"
    assert [len(toy.runs) for toy in toys] == [1, 1, 1]


@pytest.mark.parametrize(("answers", "status"), [(["yes"], "finished"), (["no"], "stopped"), ([], "stopped")])
def test_policy_asks_before_an_actor_runs(tmp_path: Path, answers: list[str | None], status: str) -> None:
    toys = [Toy("a"), Toy("b", ["a"], strict=True)]
    result = run_topology(chain(*toys, approve=("b_part",), human=ScriptedHuman(answers)), tmp_path / "run")
    assert result.status == status and len(toys[1].runs) == (status == "finished")
    if status == "stopped":
        again = resume_run(tmp_path / "run", setup=chain(*toys, approve=("b",), human=ScriptedHuman(["Yes"])))
        assert again.status == "finished"


@pytest.mark.parametrize("how", [{"human": ScriptedHuman(["yes"])}, {"agreed": ("b",)}, {"agreed": ("b_part",)}])
def test_who_resumes_may_agree_to_what_nobody_was_there_to_agree_to(tmp_path: Path, how: dict[str, Any]) -> None:
    toys = [Toy("a"), Toy("b", ["a"], strict=True)]
    setup = chain(*toys, approve=("b",), human=NoHuman())
    stopped = run_topology(setup, tmp_path / "run")
    assert "resume with --approve b" in stopped.reason and "artefacts/a_part" in stopped.reason
    with pytest.raises(RunError, match=r"no approval of 'bb'\. Did you mean 'b'"):
        resume_run(tmp_path / "run", setup=setup, agreed=("bb",))
    assert resume_run(tmp_path / "run", setup=setup).status == "stopped", "who agrees to nothing has not agreed"
    again = resume_run(tmp_path / "run", setup=setup, **how)
    assert again.status == "finished" and [len(toy.runs) for toy in toys] == [1, 1]
    assert resume_run(tmp_path / "run", setup=setup).status == "finished", "agreed once is agreed"


class Unjudged(Toy):
    """Has no criterion; takes what a person says."""

    needs_person = True

    def run(self, input: Any, context: Context) -> Attempt[Part]:
        said = [one.message for past in context.attempts for one in past.violations]
        return Attempt(part(said[-1] if said else self.name))


def test_a_person_confirms_what_no_criterion_judges(tmp_path: Path) -> None:
    """What the person says is the next attempt's evidence; an output that was confirmed is not asked about again."""
    toys = [Unjudged("a"), Toy("b", ["a"], strict=True)]
    human = ScriptedHuman(["make it blue", " Yes "])
    result = run_topology(chain(*toys, human=human), tmp_path)
    assert result.artefact("a_part", Part).maker == "A person asks for a change: make it blue"
    first, second = human.questions
    assert first.startswith("a has no success criterion") and '"maker": "a"' in first and "make it blue" in second
    assert [one.violations[0].code for one in result.state.actor("a").attempts] == ["not-confirmed"]
    again = ScriptedHuman()
    assert resume_run(tmp_path, setup=chain(*toys, human=again)).status == "finished" and not again.questions


@pytest.mark.parametrize("human", [NoHuman(), ScriptedHuman()], ids=["none", "away"])
def test_where_nobody_can_be_asked_the_output_stands(human: Any, tmp_path: Path) -> None:
    result = run_topology(chain(Unjudged("a"), Toy("b", ["a"], strict=True), human=human), tmp_path)
    assert result.status == "finished" and not result.state.actor("a").attempts


def test_a_fan_out_runs_each_element_and_keeps_its_order(tmp_path: Path) -> None:
    toys = [ListMaker("list"), Each("each"), Gather("all", "each", strict=True)]
    nodes = {"each": Node(next=("all",), for_each="list_part as element")}
    budget = RunBudget(attempts=4)  # of the elements that do well only the first counts
    result = run_topology(chain(*toys, nodes=nodes, budget=budget), tmp_path / "run")
    assert [one["file"]["text"] for one in result.value("each_part")] == [
        "each(list0())\n",
        "each(list1())\n",
        "each(list2())\n",
    ]
    view = result.path("list_part") / "value.json"
    view.write_text(view.read_text().replace('"list1"', '"other"'))
    (result.path("list_part") / "parts/list1.txt").write_text("other()\n")
    again = resume_run(tmp_path / "run", setup=chain(*toys, nodes=nodes, budget=budget))
    assert again.status == "finished" and len(toys[1].runs) == 4, "only the edited element is redone"
    assert again.value("all_part")["file"]["text"] == "all(each(list0()), each(other()), each(list2()))\n"


def test_an_element_that_is_sent_back_comes_with_what_was_made_of_it(tmp_path: Path) -> None:
    class Seeing(Each):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.seen = {**getattr(self, "seen", {}), input.element.maker: context.last and context.last.of}
            return super().run(input, context)

    toys = [ListMaker("list"), Seeing("each", faulty=True), Gather("all", "each", strict=True)]
    nodes = {"each": Node(next=("all",), for_each="list_part as element")}
    assert run_topology(chain(*toys, nodes=nodes), tmp_path / "run").status == "finished"
    assert toys[1].seen == {name: (name,) for name in ("list0", "list1", "list2")} and len(toys[1].runs) == 6


def test_errors_of_the_machine_propagate_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    class Broken(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            raise MachineError("no disk")

    with pytest.raises(MachineError):
        run_topology(chain(Toy("a"), Broken("b", ["a"], strict=True)), tmp_path / "run")
    last = read_journal(tmp_path / "run")[-1].event
    assert last.kind == "run_ended" and last.status == "failed" and "no disk" in last.reason
    toys = [Toy("a"), Toy("b", ["a"], strict=True)]
    assert resume_run(tmp_path / "run", setup=chain(*toys)).status == "finished"
    assert [len(toy.runs) for toy in toys] == [0, 1]


def test_ctrl_c_leaves_a_run_that_can_be_resumed_and_closes_the_setup(tmp_path: Path) -> None:
    class Interrupted(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            raise KeyboardInterrupt

    closed: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_topology(chain(Interrupted("a", strict=True), close=lambda: closed.append("closed")), tmp_path / "run")
    assert closed == ["closed"]
    assert resume_run(tmp_path / "run", setup=chain(Toy("a", strict=True))).status == "finished"


class Wilful:
    """Makes one decision, always."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def decide(self, situation: Situation) -> Decision:
        return self._decision


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (Decision("b"), "b needs a_part, which does not exist yet."),
        (Decision("c"), "c may not follow the start; permitted are a."),
        (Decision("aa"), "There is no actor 'aa'. Did you mean 'a'?"),
        (Decision(END), "No end actor (c) has succeeded."),
        (Decision("a", target="bb", instruction="x"), "There is no actor 'bb' to instruct. Did you mean 'b'?"),
    ],
)
def test_what_the_topology_forbids_is_refused_a_bounded_number_of_times(
    tmp_path: Path, decision: Decision, reason: str
) -> None:
    setup = chain(Toy("a"), Toy("b", ["a"]), Toy("c", strict=True), planner=Wilful(decision))
    result = run_topology(setup, tmp_path / "run")
    assert result.status == "stopped" and reason in result.reason
    assert len(result.state.refusals) == 5


def test_actors_see_the_verdicts_of_others_and_can_ask(tmp_path: Path) -> None:
    class Curious(Toy):
        def run(self, input: Any, context: Context) -> Attempt[Any]:
            self.runs.append(f"{sorted(context.verdicts)} {context.ask('which?')} {context.ask('which?')}")
            return Attempt(part(self.name))

    toy, human = Curious("b", ["a"], strict=True), ScriptedHuman(["that"])
    run_topology(chain(Toy("a"), toy, human=human), tmp_path / "run")
    assert toy.runs == ["['a'] that that"] and human.questions == ["which?"], "an answered question is not asked again"


def test_state_is_the_fold_of_the_journal(tmp_path: Path) -> None:
    toys = [Toy("a"), Toy("b", ["a"], faulty=True), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    assert fold(read_journal(tmp_path / "run")) == result.state


def test_the_same_setup_gives_the_same_bytes(tmp_path: Path) -> None:
    def files(name: str) -> dict[str, bytes]:
        toys = [ListMaker("list"), Each("each"), Gather("all", "each", strict=True)]
        nodes = {"each": Node(next=("all",), for_each="list_part as element")}
        run_topology(chain(*toys, nodes=nodes), tmp_path / name)
        root = tmp_path / name / "artefacts"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert files("one") == files("two") != {}


def test_a_verdict_with_tolerated_violations_still_passes(tmp_path: Path) -> None:
    class Tolerant(Toy):
        def check(self, input: Any, output: Any, context: Context) -> Verdict:
            return Verdict(ok=True, violations=(Violation(code="meh", message="tolerated"),))

    result = run_topology(chain(Tolerant("a", strict=True)), tmp_path / "run")
    verdict = result.state.actor("a").verdict
    assert result.status == "finished" and verdict and verdict.violations[0].code == "meh"


class Littering(Toy):
    """Leaves a file in its workspace, and fails at first."""

    def run(self, input: Any, context: Context) -> Attempt[Any]:
        (context.workspace / "left.txt").write_text("left", encoding="utf-8")
        return super().run(input, context)


def test_workspaces_are_kept_only_where_something_failed(tmp_path: Path) -> None:
    toys = [Littering("a"), Littering("b", ["a"], faulty=True), Toy("c", ["b"], strict=True)]
    result = run_topology(chain(*toys), tmp_path / "run")
    assert result.status == "finished"
    assert [path.name for path in (tmp_path / "run/work").iterdir()] == ["001-c"]


def test_a_question_on_the_console_leaves_standard_output_to_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO("  the answer \n\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    asked = ["Which?", "And then?", "And at the end?"]
    assert [ConsoleHuman().ask(question) for question in asked] == ["the answer", None, None]
    told = capsys.readouterr()
    assert not told.out and all(question in told.err for question in asked)
