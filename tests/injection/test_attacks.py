"""Hostile texts, and models that obey them: nothing that the harness permits changes.

No test here trusts a model to resist. Each attack of `attacks.yaml` is planted, shown inside its quotation, obeyed in
full, and stopped by the harness; whatever is stopped as code is stopped before anything has been executed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pytest
import yaml
from canned import Canned, models
from markdown_it import MarkdownIt
from small_team import SmallTeam

from palmette.documents import Model
from palmette.engine import Context, PastAttempt, Violation, create
from palmette.llm.answers import code_fields
from palmette.llm.text import visible
from palmette.sandbox import ExecutionResult, Process, Sandbox, WarmSpark

FORMATTER = "ruff"
AGENTS = ("config_generator", "utils_retriever", "code_template_generator", "testcase_coder", "code_generator")
AS_USUAL = "as-usual"


class Attack(Model):
    """One attack; the file of attacks says what the fields mean."""

    name: str
    planted: Literal[
        "column", "feature", "neighbour_config", "neighbour_test", "readme", "reason", "script", "table", "traceback",
        "utility", "view",
    ]  # fmt: skip
    text: str
    role: str
    adds: str = ""
    answer: str = ""
    held: str


TABLE = Path(__file__).with_name("attacks.yaml").read_text("utf-8")
ATTACKS = [Attack.model_validate(one) for one in yaml.safe_load(TABLE)]


class Watched(Sandbox):
    """Remembers what it is asked to run, and leaves the formatter out, which executes nothing of what it formats."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], **options: Any) -> ExecutionResult:
        if FORMATTER in argv:
            return ExecutionResult(exit_code=0, stdout="", stderr="", seconds=0, ended="exited", isolation="none")
        self.asked.append(tuple(argv))
        return super().run(argv, **options)

    def start(self, argv: Sequence[str], **options: Any) -> Process:
        raise AssertionError(f"A server was started: {argv}")


def texts(place: str) -> list[str]:
    return [attack.text for attack in ATTACKS if attack.planted == place]


def commented(place: str) -> str:
    return "".join(f"# {line}\n" for text in texts(place) for line in text.split("\n"))


def infested(folder: Path, sandbox: Sandbox) -> SmallTeam:
    """A team in whose files, specification and registry all the texts stand."""
    team = SmallTeam(folder, sandbox, WarmSpark(sandbox))
    repository = team.repository
    added = {
        "README.md": "".join(f"\n{text}\n" for text in texts("readme")),
        "features/store_sales.py": commented("script"),
        "tests/test_store_sales.py": f"{commented('neighbour_test')}\ndef test_nothing(): ...\n",
        "conf/store_sales.yaml": commented("neighbour_config"),
    }
    for path, text in added.items():
        with (repository / path).open("a", encoding="utf-8") as file:
            file.write(text)
    module = (repository / "lib.py").read_text("utf-8")
    (repository / "lib.py").write_text(module.replace("Reads a configuration.", "\n".join(texts("utility"))), "utf-8")
    for name in ("dfr", "fsc"):
        file_ = folder / f"{name}.yaml"
        document = yaml.safe_load(file_.read_text("utf-8"))
        if name == "dfr":
            (table,) = document["tables"]
            table["description"] = "\n".join(texts("table"))
            next(one for one in table["columns"] if one["name"] == "amount")["description"] = "\n".join(texts("column"))
        else:
            document["description"] = " ".join(texts("view"))
            document["features"][0]["description"] = " ".join(texts("feature"))
        file_.write_text(yaml.safe_dump(document, sort_keys=False, width=10_000, allow_unicode=True), "utf-8")
    return team


class Field(NamedTuple):
    """Where the attacks are played out."""

    team: SmallTeam
    sandbox: Watched
    work: Path
    files: dict[str, str]
    """The team's, before any answer."""


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Field:
    sandbox, folder = Watched(), tmp_path_factory.mktemp("attacked")
    team = infested(folder / "team", sandbox)
    return Field(team, sandbox, folder / "work", team.files())


def context_of(role: str, folder: Path, evidence: Sequence[str] = (), reason: str = "") -> Context:
    """That of a second attempt; the first one ended with these traces."""
    failed = tuple(Violation(code="script-failed", message="It failed.", evidence=text) for text in evidence)
    past = PastAttempt(number=1, reason=reason, fix="", violations=failed)
    return Context(role, folder, attempt=2, attempts=(past,))


def agent(team: SmallTeam, name: str, *replies: str) -> Any:
    return create("actor", f"features.{name}", {**team.services, "models": models(Canned(replies))})


def obedient(attack: Attack, usual: Any, actor: Any) -> str:
    """The answer of a model that does what the text says."""
    if attack.answer:
        return attack.answer
    ((field, language),) = code_fields(actor.Answer).items()
    return f"```{language} {field}\n{usual.file.text}\n{attack.adds}\n```\n"


def outside_of_quotations(text: str) -> str:
    """What a reader of Markdown takes for the prompt's own words."""
    return "\n".join(token.content for token in MarkdownIt("commonmark").parse(text) if token.type != "fence")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_model_that_obeys_changes_nothing(attack: Attack, field: Field) -> None:
    context = context_of(attack.role, field.work)
    asked = field.team.input(f"features.{attack.role}")
    actor = agent(field.team, attack.role)
    usual = actor.offline(asked, context).output if attack.role != "utils_retriever" else None
    reply = obedient(attack, usual, actor)
    actor = agent(field.team, attack.role, reply, reply, reply)
    field.sandbox.asked.clear()
    attempt = actor.run(asked, context)
    if attempt.output is None:
        assert [found.code for found in attempt.violations] == [attack.held]
    elif attack.held == AS_USUAL:
        assert attempt.output.file.text != usual.file.text
        assert attempt.output.model_copy(update={"file": usual.file}) == usual
        assert attempt.output.file.path == usual.file.path
    else:
        verdict = actor.check(asked, attempt.output, context)
        assert not verdict.ok and {found.code for found in verdict.violations} == {attack.held}
        assert usual is None or attempt.output.file.path == usual.file.path
    if attack.role != "config_generator":  # the team's own class reads the configuration: that is the check
        assert field.sandbox.asked == [], "something was executed before it was refused"
    assert field.team.files() == field.files


def test_every_text_is_shown_in_quotations_only(field: Field) -> None:
    """In the user's turn only, too, and nothing of it is invisible."""
    shown: set[str] = set()
    for role in AGENTS:
        context = context_of(role, field.work, texts("traceback"), " ".join(texts("reason")))
        system, user = agent(field.team, role).render(field.team.input(f"features.{role}"), context).messages
        assert (system.speaker, user.speaker) == ("system", "user") and visible(user.text) == user.text
        own = f"{system.text}\n{outside_of_quotations(user.text)}"
        for attack in ATTACKS:
            lines = [line.strip() for line in visible(attack.text).splitlines() if len(line.strip()) > 12]
            assert lines and [line for line in lines if line in own] == []
            shown |= {attack.name for line in lines if line in user.text}
    # Of a README only what is about the task is shown, so some texts in it may not be.
    assert {attack.name for attack in ATTACKS if attack.planted != "readme"} <= shown


def test_there_are_enough_attacks_and_each_is_another() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 20
    assert len({attack.adds or attack.answer for attack in ATTACKS}) == len(ATTACKS)
    assert {attack.planted for attack in ATTACKS} == set(get_args(Attack.model_fields["planted"].annotation))
