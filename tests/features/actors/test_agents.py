"""The agents that write cases, tests and scripts: what a model is shown, and what becomes of its answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from canned import Canned, models
from small_team import SmallTeam

from palmette.engine import TERMINATE, Attempt, Context, PastAttempt, TextFile, Violation, create
from palmette.features.actors.testcase_generator.actor import TestcaseGenerator
from palmette.features.actors.testcase_generator.offline import CaseSelector
from palmette.features.artefacts import Tests, Utilities, Utility
from palmette.features.repository import Checkout
from palmette.sandbox import Sandbox, WarmSpark

AGENTS = ("testcase_generator", "testcase_coder", "code_generator")
ANSWERS = Path(__file__).with_name("answers")
SNAPSHOTS = Path(__file__).with_name("snapshots")
RULE = "- Every script begins with the comment `# (c) shop`, and every test file, too."
DIVIDE = Utility(
    need="divide", name="ratio", module="lib", call="ratio({numerator}, {denominator})", doc="Null on zero."
)
TESTS = Tests(file=TextFile(path="tests/test_buyer_sales.py", text="def test_of_the_team(): ...\n"))
AS_OF = "2024-05-17T14:30:05Z"
by_name = pytest.mark.parametrize("name", AGENTS)


def a_team(folder: Path) -> SmallTeam:
    """A team whose README has a rule; nothing here needs Spark."""
    sandbox = Sandbox()
    team = SmallTeam(folder, sandbox, WarmSpark(sandbox))
    readme = team.repository / "README.md"
    readme.write_text(f"{readme.read_text('utf-8')}\n{RULE}\n", "utf-8")
    return team


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> SmallTeam:
    return a_team(tmp_path_factory.mktemp("team"))


def asked(team: SmallTeam, name: str) -> Any:
    found = team.input(f"features.{name}")
    if name == "testcase_coder":
        reply = (ANSWERS / "testcase_generator.md").read_text("utf-8")
        return found.model_copy(update={"cases": answered(team, "testcase_generator", reply).output})
    if name == "testcase_generator":
        return found
    return found.model_copy(update={"utilities": Utilities(chosen=(DIVIDE,)), "tests": TESTS})


def agent(team: SmallTeam, name: str, *replies: str) -> Any:
    return create("actor", f"features.{name}", {**team.services, "models": models(Canned(replies))})


def answered(team: SmallTeam, name: str, *replies: str, **context: Any) -> Attempt[Any]:
    """What becomes of the replies; with an instruction, every agent asks its model."""
    context.setdefault("instruction", "Follow the README.")
    found = agent(team, name, *replies).run(asked(team, name), Context(name, Path(), **context))
    assert isinstance(found, Attempt)
    return found


def prompt(team: SmallTeam, name: str, **context: Any) -> str:
    sent = agent(team, name).render(asked(team, name), Context(name, team.folder / "work", **context))
    return "\n\n----------\n\n".join(message.text for message in sent.messages) + "\n"


@by_name
def test_the_prompt_is_the_one_that_was_reviewed_on_any_machine(name: str, team: SmallTeam) -> None:
    """`python tests/features/actors/test_agents.py` renews the snapshots."""
    text = prompt(team, name)
    assert text == (SNAPSHOTS / f"{name}.md").read_text("utf-8")
    assert str(team.folder) not in text and "/tmp" not in text


@by_name
def test_what_is_shown_does_not_depend_on_where_and_when(name: str, team: SmallTeam, tmp_path: Path) -> None:
    assert prompt(a_team(tmp_path / "elsewhere"), name) == prompt(team, name)


FIELDS = {"code_template_generator": "template", "testcase_coder": "tests", "code_generator": "script"}
STORY = "".join(f"- What happened in year {year} is told at length, lest it be forgotten.\n" for year in range(300))
PLACES = {
    "at the end": f"{{readme}}\n{RULE}\n",
    "far below": f"{{readme}}\n## History\n\n{STORY}\n## Style\n\n{RULE}\n",
    "out of place": f"## Installing\n\n{RULE}\n- Ask for a key.\n\n{{readme}}\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", FIELDS)
def test_a_rule_of_the_readme_reaches_every_coder_and_its_answer_the_file(
    name: str, place: str, team: SmallTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (team.repository / "README.md").read_text("utf-8").replace(RULE, "")
    monkeypatch.setattr(Checkout, "text", lambda self, path: PLACES[place].format(readme=readme))
    assert RULE in prompt(team, name)
    output = answered(team, name, f"```python {FIELDS[name]}\n# (c) shop\nx = 1\n```\n").output
    assert output.file.text.startswith("# (c) shop")


def test_rules_of_the_readme_that_the_built_in_rules_know_change_what_they_write(tmp_path: Path) -> None:
    """Lines of 72, and another name of a predefined function: in the skeleton, the script and the tests."""
    plain, ruled = (SmallTeam(tmp_path / name, Sandbox(), WarmSpark(Sandbox())) for name in ("plain", "ruled"))
    readme = ruled.repository / "README.md"
    rules = ["- Every script defines `compute(tables, as_of)`.", "- Lines have at most 72 characters."]
    readme.write_text("\n".join([readme.read_text("utf-8"), *rules]), "utf-8")
    for name in FIELDS:
        before, after = (
            create("actor", f"features.{name}", team.services)
            .offline(team.input(f"features.{name}"), Context(name, team.folder))
            .output.file.text
            for team in (plain, ruled)
        )
        assert "compute(" in after and "compute(" not in before
        if name != "code_template_generator":  # nobody but the next actor reads it, so nothing formats it
            texts = (before, after)
            lines = [[one for one in text.splitlines() if '"""' not in one and "#" not in one] for text in texts]
            assert max(map(len, lines[0])) > 72 >= max(map(len, lines[1]))


def test_who_writes_tests_never_sees_a_script_and_who_writes_the_script_no_tests(team: SmallTeam) -> None:
    script = agent(team, "code_generator").offline(asked(team, "code_generator"), Context("x", Path())).output.file
    coder, generator = prompt(team, "testcase_coder"), prompt(team, "testcase_generator")
    template = asked(team, "code_generator").template.file
    for text in (coder, generator):
        assert "groupBy" not in text and "spark.read" not in text
        lines = [line for line in (*script.text.splitlines(), *template.text.splitlines()) if len(line) > 30]
        own = [line for line in lines if line in text]
        assert not own, own
    writer = prompt(team, "code_generator")
    assert TESTS.file.text not in writer and "def test_" not in writer
    assert all(case.name not in writer for case in asked(team, "testcase_coder").cases.cases)


def test_rows_and_helpers_are_put_where_a_model_marks_them_and_are_marks_when_it_sees_them_again(
    team: SmallTeam,
) -> None:
    reply = (ANSWERS / "testcase_coder.md").read_text("utf-8")
    output = answered(team, "testcase_coder", reply).output
    text = output.file.text
    assert "# ready-made" not in text and text.count("given = frames(") == 2
    assert "sold_at=AS_OF - 30 * DAY - MICROSECOND" in text
    again = prompt(team, "testcase_coder", instruction="Correct it.", last=output)
    last = again[again.index("# Your last answer") :]
    names = ("HELPERS", "edges_of_both_windows", "several_sales_and_nulls")
    assert all(f"# ready-made: {name}\n" in last for name in names)
    assert "sold_at" not in last and "def frames(" not in last and "def test_several_sales_and_nulls(spark):" in last
    cases = answered(team, "testcase_generator", (ANSWERS / "testcase_generator.md").read_text("utf-8")).output
    again = prompt(team, "testcase_generator", instruction="Correct it.", last=cases)
    last = again[again.index("# Your last answer") :]
    assert '{"columns": {"sales": ["sale_id", "buyer_id", "amount", "sold_at"]}, "cases": [' in last
    assert '[2, 2, 1.5, "2024-04-17T14:30:04.999999Z"]' in last and "sales_30d" not in last, "without expectations"


LINE = 'F.sum("amount").alias("total")'


@pytest.mark.parametrize(("name", "violation", "kept"), [
    ("testcase_generator", Violation(
        code="mutant-survived", subject="totals", message=f"no test notices `{LINE}` -> `F.max` (agg).",
        evidence=f"- {LINE}\n+ F.max\nin scenario 'ties':\nbuyer 7: total is 3, not 5",
    ), "buyer 7: total is 3, not 5"),
    ("testcase_coder", Violation(
        code="test-failed", subject="test_edges", message="The test test_edges fails in the team's suite.",
        evidence=f"jobs/buyer_sales.py:7: in build\n    {LINE}\nE   AnalysisException: no such column",
    ), "AnalysisException: no such column"),
])  # fmt: skip
def test_what_a_failure_quotes_of_the_script_stays_with_the_planner(
    name: str, violation: Violation, kept: str, team: SmallTeam
) -> None:
    output = answered(team, name, (ANSWERS / f"{name}.md").read_text("utf-8")).output
    instruction = agent(team, name).implicated(violation, output)
    text = prompt(team, name, instruction=instruction, evidence=(violation,), last=output)
    assert kept in text and LINE not in text


def test_the_test_writer_is_not_told_how_the_view_is_computed(team: SmallTeam) -> None:
    text = prompt(team, "testcase_coder")
    assert "30 days before the cut-off" not in text and "aggregate:" not in text
    assert "from features.buyer_sales import build" in text and "Every test takes `spark`, the team's fixture" in text


def test_the_script_writer_is_shown_configuration_and_utilities(team: SmallTeam) -> None:
    text = prompt(team, "code_generator")
    assert 'source:sales: `config["inputs"]["sales"]` (parquet)' in text and "`--as-of`" in text
    assert "from lib import ratio\ncall: ratio({numerator}, {denominator})\nNull on zero." in text
    assert 'groupBy("store_id")' in text and "Sales of a store." not in text, "a neighbouring script without its head"


@pytest.mark.parametrize(("name", "reply", "violation"), [
    ("code_generator", "I would group the sales by buyer and then join them.", "answer-incomplete"),
    ("code_generator", "```sql\nselect 1\n```", "answer-wrong-language"),
    ("code_generator", "```python script\ndef build(:\n```", "answer-broken-code"),
    ("testcase_coder", "Here are the tests: all pass.", "answer-incomplete"),
    ("testcase_generator", '```json\n{"cases": [{"name": "No", "why": "", "given": {}}]}\n```', "answer-wrong-fields"),
    ("testcase_generator", '```json\n{"cases": 3}\n```', "answer-wrong-fields"),
])  # fmt: skip
def test_answers_that_cannot_be_used_are_asked_again_then_handed_over(
    name: str, reply: str, violation: str, team: SmallTeam
) -> None:
    attempt = answered(team, name, reply, reply, reply)
    assert attempt.output is None and attempt.fix == TERMINATE
    assert [found.code for found in attempt.violations] == [violation]


@by_name
def test_a_model_may_hand_the_task_back(name: str, team: SmallTeam) -> None:
    said = json.dumps({"terminate": "The registry has no refunds."})
    attempt = answered(team, name, f"```json\n{said}\n```")
    assert (attempt.output, attempt.reason, attempt.fix) == (None, "The registry has no refunds.", TERMINATE)


@pytest.mark.parametrize(("name", "field", "path"), [
    ("code_generator", "script", "features/buyer_sales.py"), ("testcase_coder", "tests", "tests/test_buyer_sales.py"),
])  # fmt: skip
def test_where_a_file_lies_is_not_the_models_choice(name: str, field: str, path: str, team: SmallTeam) -> None:
    prose = (
        f"Sure! I put it into ../../etc/passwd.py:\n\n```python {field} file=../x.py\nx = 1\n```\nRun it with pytest."
    )
    output = answered(team, name, prose).output
    assert (output.file.path, output.file.text) == (path, "x = 1\n")


def test_what_went_wrong_and_the_last_script_are_shown_on_a_repeated_attempt(team: SmallTeam) -> None:
    output = answered(team, "code_generator", "```python script\nx = 1\n```").output
    wrong = Violation(code="missing-function", message="There is no function build.", subject="build")
    text = prompt(team, "code_generator", instruction="Define build.", evidence=(wrong,), last=output)
    assert "Define build." in text and "[missing-function] There is no function build." in text
    assert text.rstrip().endswith("```\nx = 1\n```")


def sale(number: int, at: str, **values: Any) -> dict[str, Any]:
    return {"sale_id": number, "buyer_id": number, "amount": 1.5, "sold_at": at, **values}


def cases(*rows: dict[str, Any], as_of: str | None = AS_OF, table: str = "sales") -> str:
    one = {"name": "edges", "why": "Both sides.", "given": {table: rows}, **({"as_of": as_of} if as_of else {})}
    return f"```json\n{json.dumps({'cases': [one]})}\n```"


def judged(team: SmallTeam, reply: str) -> tuple[Any, list[Violation]]:
    actor: TestcaseGenerator = agent(team, "testcase_generator", reply)
    given, context = asked(team, "testcase_generator"), Context("testcase_generator", Path())
    output = actor.run(given, context).output
    assert output is not None
    return output, list(actor.check(given, output, context).violations)


def test_what_must_come_out_is_the_oracles_whatever_a_model_says(team: SmallTeam) -> None:
    rows = [sale(1, "2024-05-10T14:30:05Z"), sale(2, "2024-05-10T14:30:04.999999Z"), sale(3, AS_OF)]
    output, violations = judged(team, cases(*rows))
    (case,) = output.cases
    assert [(row["buyer_id"], row["sales_30d"], row["amount_7d"]) for row in case.expect] == [(1, 1, 1.5), (2, 1, None)]
    assert {found.code for found in violations} == {"boundary-not-covered"}, "that of 30 days"


@pytest.mark.parametrize(("reply", "said"), [
    (cases(sale(1, "yesterday")), "'yesterday' in column 'sold_at' is not a timestamp"),
    (cases(sale(1, AS_OF, refunded=True)), "there is no column 'refunded'"),
    (cases(sale(1, AS_OF), table="refunds"), "the view reads no table 'refunds', but sales"),
    (cases(sale(1, AS_OF), as_of=None), "it needs an as_of"),
    (cases(sale(1, AS_OF), as_of="noon"), "Invalid isoformat string"),
    (cases(sale(1, AS_OF), as_of="0001-01-01T00:00:00Z"), "is outside 1700 to 2200"),
])  # fmt: skip
def test_a_case_that_cannot_be_computed_is_a_violation_that_says_why(reply: str, said: str, team: SmallTeam) -> None:
    _, violations = judged(team, reply)
    found = [one for one in violations if one.code == "case-not-computable"]
    assert len(found) == 1 and said in found[0].message


def test_a_view_that_no_case_can_test_is_not_asked_about(team: SmallTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CaseSelector, "possible", frozenset())
    attempt = answered(team, "testcase_generator")
    assert (attempt.output, attempt.fix) == (None, TERMINATE)
    assert [found.code for found in attempt.violations] == ["no-oracle"]


def test_without_a_model_the_rules_answer(team: SmallTeam) -> None:
    for name in AGENTS:
        actor = create("actor", f"features.{name}", team.services)
        given, context = asked(team, name), Context(name, Path())
        assert actor.model is None and actor.run(given, context) == actor.offline(given, context)


@pytest.mark.parametrize(("codes", "is_asked"), [
    (("test-failed",), False),
    (("test-failed", "mutation"), False),
    (("test-failed", "differential"), True),
    (("actor-crashed",), True),
])  # fmt: skip
def test_a_model_is_not_paid_for_what_others_have_to_mend(
    codes: tuple[str, ...], is_asked: bool, team: SmallTeam
) -> None:
    found = tuple(Violation(code=code, message=f"{code}: no.") for code in codes)
    past = (PastAttempt(number=1, reason="", fix="", violations=found),)
    canned = Canned([(ANSWERS / "code_generator.md").read_text("utf-8")])
    actor = create("actor", "features.code_generator", {**team.services, "models": models(canned)})
    attempt = actor.run(asked(team, "code_generator"), Context("code_generator", Path(), attempt=2, attempts=past))
    assert bool(canned.prompts) == is_asked == (attempt.output is not None)
    if not is_asked:
        assert (attempt.fix, attempt.violations) == (TERMINATE, found)


def test_the_evidence_of_many_failures_is_that_of_the_first_few(team: SmallTeam) -> None:
    found = tuple(Violation(code="differential", message=f"{n}.", evidence=f"proof {n}") for n in range(1, 9))
    past = (PastAttempt(number=1, reason="", fix="", violations=found),)
    text = prompt(team, "code_generator", attempt=2, attempts=past)
    assert [f"proof {n}" in text for n in range(1, 9)] == [True] * 3 + [False] * 5
    assert all(f"[differential] {n}." in text for n in range(1, 9))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        SNAPSHOTS.mkdir(exist_ok=True)
        written = a_team(Path(place) / "team")
        for each in AGENTS:
            (SNAPSHOTS / f"{each}.md").write_text(prompt(written, each), "utf-8")
