"""The agents that take up what a team has: its configuration, its utilities, the form of its scripts."""

import json
from pathlib import Path
from typing import Any

import pytest
from canned import Canned, models
from small_team import SmallTeam

from palmette.engine import TERMINATE, Attempt, Context, PastAttempt, Violation, create
from palmette.features.actors.config_generator.actor import ConfigGenerator, without_cases
from palmette.features.harness.connect import CaseResult, HarnessProbe
from palmette.features.repository import Checkout
from palmette.sandbox import Sandbox, WarmSpark

AGENTS = ("config_generator", "utils_retriever", "code_template_generator")
SNAPSHOTS = Path(__file__).with_name("snapshots")
RULE = "- Every script begins with the comment `# (c) shop`."
RATIO = '''import pyspark


def share(part: "Column", whole: "Column") -> "Column":
    """One column as a part of another."""
    return part / whole


def quotient_or_null(number, of_how_many):
    return number / of_how_many


def _private(a, b): ...
'''
ASKED = "Follow the README."
"""An instruction, with which every agent asks its model."""
TEMPLATE = '''# (c) shop
"""Sales of a buyer."""
import argparse
from lib import load_yaml


def load(spark, config):
    """Reads."""
    raise NotImplementedError


def build(tables, as_of):
    """Builds."""
    raise NotImplementedError


def write(df, config):
    """Writes."""
    raise NotImplementedError


def main(argv=None):
    """Runs."""
    raise NotImplementedError
'''
by_name = pytest.mark.parametrize("name", AGENTS)


class GivesNothing:
    """A harness that runs nothing, and remembers what it was to run."""

    def __init__(self) -> None:
        self.codes: list[str] = []

    def probes(self, root: Path, python_path: Any, probes: list[HarnessProbe]) -> list[CaseResult]:
        self.codes += [probe.code for probe in probes]
        return [CaseResult(probe.name) for probe in probes]


def a_team(folder: Path) -> SmallTeam:
    """A team whose README has a rule, and which has utilities; nothing here needs Spark."""
    sandbox = Sandbox()
    team = SmallTeam(folder, sandbox, WarmSpark(sandbox))
    readme = team.repository / "README.md"
    readme.write_text(f"{readme.read_text('utf-8')}\n{RULE}\n", "utf-8")
    (team.repository / "ratios.py").write_text(RATIO, "utf-8")
    return team


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> SmallTeam:
    return a_team(tmp_path_factory.mktemp("team"))


def agent(team: SmallTeam, name: str, *replies: str) -> Any:
    services = {**team.services, "harness": GivesNothing(), "models": models(Canned(replies))}
    return create("actor", f"features.{name}", services)


def context(team: SmallTeam, name: str, **options: Any) -> Context:
    return Context(name, team.folder / "work", **options)


def answered(team: SmallTeam, name: str, *replies: str) -> Attempt[Any]:
    found = agent(team, name, *replies).run(team.input(f"features.{name}"), context(team, name, instruction=ASKED))
    assert isinstance(found, Attempt)
    return found


def prompt(team: SmallTeam, name: str, **options: Any) -> str:
    sent = agent(team, name).render(team.input(f"features.{name}"), context(team, name, **options))
    return "\n\n----------\n\n".join(message.text for message in sent.messages) + "\n"


def judged(team: SmallTeam, name: str, reply: str) -> list[Violation]:
    actor = agent(team, name, reply)
    asked = team.input(f"features.{name}")
    output = actor.run(asked, context(team, name, instruction=ASKED)).output
    return list(actor.check(asked, output, context(team, name)).violations)


@by_name
def test_the_prompt_is_the_one_that_was_reviewed_on_any_machine(name: str, team: SmallTeam) -> None:
    """`python tests/features/actors/test_agents_of_the_team.py` renews the snapshots."""
    text = prompt(team, name)
    assert text == (SNAPSHOTS / f"{name}.md").read_text("utf-8")
    assert str(team.folder) not in text and "/tmp" not in text


@by_name
def test_what_is_shown_does_not_depend_on_where_and_when(name: str, team: SmallTeam, tmp_path: Path) -> None:
    assert prompt(a_team(tmp_path / "elsewhere"), name) == prompt(team, name)


@pytest.mark.parametrize(("name", "rule"), [
    ("config_generator", "Paths in configurations are relative."),
    ("utils_retriever", "Scripts import `share` from `ratios`."),
    ("code_template_generator", RULE),
])  # fmt: skip
def test_a_rule_of_the_readme_reaches_the_model_that_it_concerns(
    name: str, rule: str, team: SmallTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkout, "text", lambda self, path: f"# shop\n\nWelcome.\n\n{rule}\n")
    assert rule in prompt(team, name)


@by_name
def test_a_model_may_hand_the_task_back(name: str, team: SmallTeam) -> None:
    said = json.dumps({"terminate": "The class needs a cost centre."})
    attempt = answered(team, name, said)
    assert (attempt.output, attempt.reason, attempt.fix) == (None, "The class needs a cost centre.", TERMINATE)


@pytest.mark.parametrize(("name", "reply", "violation"), [
    ("config_generator", "The file is as usual.", "answer-incomplete"),
    ("config_generator", "```yaml config\na: [1\n```", "answer-broken-code"),
    ("utils_retriever", "None.", "answer-not-json"),
    ("utils_retriever", '{"utilities": [{"need": "sort", "module": "a"}]}', "answer-wrong-fields"),
    ("code_template_generator", "```python template\ndef build(:\n```", "answer-broken-code"),
])  # fmt: skip
def test_answers_that_cannot_be_used_are_asked_again_then_handed_over(
    name: str, reply: str, violation: str, team: SmallTeam
) -> None:
    attempt = answered(team, name, reply, reply, reply)
    assert attempt.output is None and attempt.fix == TERMINATE
    assert [found.code for found in attempt.violations] == [violation]


def yaml_of(team: SmallTeam, old: str = "", new: str = "") -> str:
    """A good configuration with one change."""
    written = agent(team, "config_generator").offline(team.input("features.config_generator"), context(team, "x"))
    text = written.output.file.text
    assert old in text
    return f"```yaml config\n{text.replace(old, new)}```"


def test_a_models_configuration_is_read_as_the_rules_read_theirs(team: SmallTeam) -> None:
    actor = agent(team, "config_generator")
    by_rules = actor.offline(team.input("features.config_generator"), context(team, "x")).output
    assert answered(team, "config_generator", yaml_of(team)).output == by_rules
    assert judged(team, "config_generator", yaml_of(team)) == []


def test_a_class_that_cannot_be_read_is_not_asked_about(team: SmallTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Violation(code="team-code-failed", message="It does not import.", evidence="ImportError: nowhere")
    monkeypatch.setattr(ConfigGenerator, "_team", lambda *_: (None, (broken,)))
    attempt = answered(team, "config_generator")
    assert (attempt.output, attempt.fix, attempt.violations) == (None, TERMINATE, (broken,))


@pytest.mark.parametrize(("old", "new", "subject"), [
    ("s3://lake/sales", "s3://lake/tales", "source:sales"),
    ("lake/buyer_sales", "lake/store_sales", "output"),
    ("view: buyer_sales", "view: store_sales", "view"),
])  # fmt: skip
def test_a_fact_that_a_model_alters_is_a_violation(old: str, new: str, subject: str, team: SmallTeam) -> None:
    (found,) = judged(team, "config_generator", yaml_of(team, old, new))
    assert (found.code, found.subject) == ("config-fact", subject)
    assert agent(team, "config_generator").implicated(found, team.input("features.utils_retriever").config)


def test_keys_that_a_model_adds_do_not_confuse_where_the_facts_are(team: SmallTeam) -> None:
    reply = yaml_of(team).replace("```yaml config\n", "```yaml config\naliases: [buyer_sales]\n")
    output = answered(team, "config_generator", reply).output
    assert output.accessors["view"] == 'config["view"]' and output.places["view"] == ("view",)


@pytest.mark.parametrize(("text", "rest"), [
    ("a: 1\ntests:\n  - name: x\n\n    # y\n  - z\nb: 2\n", "a: 1\nb: 2\n"),
    ("a: 1\ntests:\n- name: x\n  y: 1\n", "a: 1\n"),
    ("tests: []\na: {tests: 1}\n", "a: {tests: 1}\n"),
    ("a:\n  tests:\n  - 1\n", "a:\n  tests:\n  - 1\n"),
    ("a: 1\ntests:\n  - x", "a: 1\n"),
])  # fmt: skip
def test_the_cases_of_a_specification_are_left_out_whole(text: str, rest: str) -> None:
    assert without_cases(text) == rest


def picks(*found: tuple[str, str, str, str]) -> str:
    fields = ("need", "module", "name", "call")
    return json.dumps({"utilities": [dict(zip(fields, one, strict=True)) for one in found]})


LOAD = ("load_config", "lib", "load_yaml", "load_yaml({path})")


def test_what_a_model_picks_is_proven_like_any_other(team: SmallTeam) -> None:
    harness = GivesNothing()
    actor = create(
        "actor",
        "features.utils_retriever",
        {**team.services, "harness": harness, "models": models(Canned([picks(LOAD)]))},
    )
    asked = team.input("features.utils_retriever")
    output = actor.run(asked, context(team, "x")).output
    (chosen,) = output.chosen
    assert (chosen.name, chosen.doc) == ("load_yaml", "Reads a configuration.")
    (violation,) = actor.check(asked, output, context(team, "x")).violations
    assert violation.message.startswith("lib.load_yaml gave None") and "from lib import load_yaml" in harness.codes[0]


def test_what_failed_when_it_was_run_is_told_to_those_who_come_later(team: SmallTeam) -> None:
    """The README may name it all the same."""
    failed = Violation(code="utility-failed", message="lib.load_yaml gave None instead of {}.", subject="load_yaml")
    past = (PastAttempt(number=1, reason="", fix="", violations=(failed,)),)
    actor = agent(team, "utils_retriever", picks())
    output = actor.run(team.input("features.utils_retriever"), context(team, "x", attempts=past)).output
    (rejected,) = output.rejected
    assert (rejected.need, rejected.name, rejected.reason) == ("load_config", "load_yaml", "gave None instead of {}")
    for name in ("code_template_generator", "code_generator"):
        asked = team.input(f"features.{name}").model_copy(update={"utilities": output})
        sections = {one.name: one.items for one in agent(team, name).sections(asked, context(team, name))}
        assert sections["utilities"] == ("not lib.load_yaml for load_config: gave None instead of {}",)


@pytest.mark.parametrize(("pick", "stands"), [
    (("load_config", "lib", "load_yaml", "load_yaml(path={path})"), True),
    (("build_session", "ratios", "quotient_or_null", "quotient_or_null({app_name}, 2)"), True),
    (("load_config", "lib", "read_yaml", "read_yaml({path})"), False),
    (("load_config", "os", "system", "system({path})"), False),
    (("load_config", "lib", "load_yaml", "load_yaml(open({path}))"), False),
    (("load_config", "lib", "load_yaml", "load_yaml({path}) or exit()"), False),
    (("load_config", "lib", "load_yaml", "load_yaml('{path}', '{0}')"), False),
    (("load_config", "lib", "load_yaml", "load_yaml('x.yaml')"), False),
    (("load_config", "lib", "load_yaml", "load_yaml({path}, **{})"), False),
    (("latest_per_key", "ratios", "share", "share({df}, {keys}, {order})"), False),
])  # fmt: skip
def test_a_pick_that_no_rule_found_needs_a_function_and_a_plain_call(
    pick: tuple[str, str, str, str], stands: bool, team: SmallTeam
) -> None:
    harness = GivesNothing()
    services = {**team.services, "harness": harness, "models": models(Canned([picks(pick)]))}
    actor = create("actor", "features.utils_retriever", services)
    asked = team.input("features.utils_retriever")
    output = actor.run(asked, context(team, "x")).output
    harness.codes.clear()  # the rules' candidates were tried first
    (violation,) = actor.check(asked, output, context(team, "x")).violations
    assert ("is not a function that can be called as" in violation.message) != stands
    assert bool(harness.codes) == stands, "nothing else is executed"


def test_no_utilities_at_all_is_an_answer(team: SmallTeam) -> None:
    assert judged(team, "utils_retriever", picks()) == []


def template(text: str) -> str:
    return f"```python template\n{text}```"


def test_the_rules_write_the_skeleton_until_something_speaks_against_it(team: SmallTeam) -> None:
    actor, asked = agent(team, "code_template_generator"), team.input("features.code_template_generator")
    output = actor.run(asked, context(team, "x")).output
    assert actor.check(asked, output, context(team, "x")).ok


def test_a_models_skeleton_lies_where_the_conventions_say(team: SmallTeam) -> None:
    output = answered(team, "code_template_generator", f"I call it x/y.py.\n{template(TEMPLATE)}").output
    assert (output.file.path, output.file.text) == ("features/buyer_sales.py", TEMPLATE)
    by_rules = agent(team, "code_template_generator")
    asked = team.input("features.code_template_generator")
    assert output.conventions == by_rules.offline(asked, context(team, "x")).output.conventions
    assert judged(team, "code_template_generator", template(TEMPLATE)) == []


@pytest.mark.parametrize(("old", "new", "code"), [
    ("def build(tables, as_of)", "def build(frames)", "missing-function"),
    ("def write(df, config)", "def store(df, config)", "missing-function"),
    ("from lib import load_yaml", "from lib import load_toml", "unresolved-import"),
])  # fmt: skip
def test_a_skeleton_that_departs_is_a_violation(old: str, new: str, code: str, team: SmallTeam) -> None:
    (found,) = judged(team, "code_template_generator", template(TEMPLATE.replace(old, new)))
    assert found.code == code


@by_name
def test_without_a_model_the_rules_answer(name: str, team: SmallTeam) -> None:
    actor = create("actor", f"features.{name}", {**team.services, "harness": GivesNothing()})
    asked = team.input(f"features.{name}")
    assert actor.model is None and actor.run(asked, context(team, name)) == actor.offline(asked, context(team, name))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for one in AGENTS:
            (SNAPSHOTS / f"{one}.md").write_text(prompt(a_team(Path(folder) / one), one), "utf-8")
