"""The checks that run scripts, together: each mistake is caught by the check that is meant to."""

import importlib
import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from palmette.cli.check import check
from palmette.engine.actor import Verdict
from palmette.errors import UserError
from palmette.features.adoption.query import write_query
from palmette.features.checks import ALL, ScriptUnderTest, run_checks
from palmette.features.harness.connect import ConnectHarness
from palmette.features.script_check import FeatureScript, check_script, chosen_checks
from palmette.features.spec.resolve import load_view
from palmette.sandbox import WarmSpark

pytestmark = pytest.mark.usefixtures("few_scenarios")
ACTIVITY = Path(__file__).parent / "activity"
SCRIPT = (ACTIVITY / "activity.py").read_text(encoding="utf-8")
NO_SUITE = [check for check in ALL if check.code not in ("tests", "mutation")]


def subject_of(harness: ConnectHarness, folder: Path, text: str) -> ScriptUnderTest:
    script = folder / "activity.py"
    script.write_text(text, encoding="utf-8")
    view = load_view(ACTIVITY / "fsc.yaml", ACTIVITY / "dfr.yaml")
    return ScriptUnderTest(view=view, script=script, root=folder, entry="build", harness=harness, python_path=(folder,))


def failed(verdict: Verdict) -> dict[str, str]:
    return {item.name: item.detail for item in verdict.measurements if item.status == "failed"}


@pytest.mark.parametrize(
    ("old", "new", "check", "code"),
    [
        ('"customer_id", "left"', '"customer_id", "inner"', "differential", "differential"),
        ('        & (F.col("loaded_at") < as_of)\n', "", "differential", "differential"),
        ('        F.col("order_day").between(start.date(), as_of.date())\n        & ', "        ", "plan", "unpruned"),
        ("return customers.join", "orders = None.columns\n    return customers.join", "plan", "crash"),
    ],
)
def test_a_mistake_is_caught(
    old: str, new: str, check: str, code: str, harness: ConnectHarness, tmp_path: Path
) -> None:
    assert old in SCRIPT
    verdict = run_checks(subject_of(harness, tmp_path, SCRIPT.replace(old, new)), NO_SUITE)
    assert check in failed(verdict)
    found = [violation for violation in verdict.violations if violation.code == code]
    assert found
    assert found[0].evidence


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("recent(orders, as_of)\n", "recent(orders, as_of).where(F.rand() < 0.5)\n", "run-twice"),
        ('    orders.sparkSession.conf.set("spark.sql.session.timeZone", "UTC")\n', "", "session-zone"),
        ('F.sum("amount")', 'F.sum(F.coalesce("gross", "amount"))', "unused-columns"),
        ("return customers.join", "return customers.union(customers).join", "spine-rows"),
        ('("ordered_at") < as_of', '("ordered_at") < as_of + timedelta(days=1)', "future-rows"),
    ],
)
def test_a_relation_needs_no_oracle(old: str, new: str, code: str, harness: ConnectHarness, tmp_path: Path) -> None:
    assert old in SCRIPT
    only = [check for check in ALL if check.code == "metamorphic"]
    verdict = run_checks(subject_of(harness, tmp_path, SCRIPT.replace(old, new)), only)
    assert code in {violation.code for violation in verdict.violations}, verdict.measurements


def test_the_command_prints_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    from palmette.cli import main

    with pytest.raises(SystemExit) as ended:
        main(
            [
                "check",
                str(ACTIVITY / "activity.py"),
                "--fsc",
                str(ACTIVITY / "fsc.yaml"),
                "--dfr",
                str(ACTIVITY / "dfr.yaml"),
                "--only",
                "static",
                "--only",
                "spec",
                "--json",
            ]
        )
    printed = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert (printed["entry"], printed["ok"]) == ("build", True)
    assert [item["name"] for item in printed["measurements"]] == ["static", "spec"]


@pytest.mark.parametrize(
    ("script", "helper", "settings"),
    [
        ("src/shop/views/activity.py", "src/shop/recency.py", ""),
        ("jobs/activity.py", "lib/py/shop/recency.py", "[tool.pytest.ini_options]\npythonpath = ['lib/py']\n"),
    ],
)
def test_the_command_finds_the_repository_of_a_script(
    script: str, helper: str, settings: str, tmp_path: Path, warm_spark: WarmSpark, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, body = SCRIPT.split("def recent", 1)
    imported = "from shop.recency import recent\n\n\ndef build"
    imports = head[: head.index("def build")].partition('"""\n')[2].lstrip()
    texts = {
        "pyproject.toml": settings,
        script: head.replace("def build", imported),
        helper: f"{imports}\ndef recent{body}",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    importlib.import_module("palmette.features.script_check")  # its annotations need the class
    monkeypatch.setattr("palmette.sandbox.WarmSpark", lambda: nullcontext(warm_spark))
    files = [f"--fsc={ACTIVITY / 'fsc.yaml'}", f"--dfr={ACTIVITY / 'dfr.yaml'}", "--json"]
    files += ["--only=static", "--only=spec", "--only=plan"]
    done = CliRunner().invoke(check, [str(tmp_path / script), *files])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["measurements"]
    assert {one["name"]: one["status"] for one in found}.items() >= {"static": "passed", "plan": "passed"}.items()
    assert {one["name"] for one in found} == {"static", "spec", "plan"}


def test_a_query_in_a_file(tmp_path: Path, warm_spark: WarmSpark) -> None:
    """Its parameter is the cut-off, and its session has the view's zone."""
    view, query = load_view(ACTIVITY / "fsc.yaml", ACTIVITY / "dfr.yaml"), tmp_path / "activity.sql"
    query.write_text(text := write_query(view, "cutoff"), encoding="utf-8")
    checks = chosen_checks(skip=["tests", "mutation"])
    checked = check_script(FeatureScript(query), view, checks, spark=warm_spark)
    assert checked and repr(checked).startswith("the query in zone UTC builds "), checked
    query.write_text(text.replace("loaded_at < :cutoff", "loaded_at <= :cutoff"), encoding="utf-8")
    assert "differential" in failed(check_script(FeatureScript(query), view, checks, spark=warm_spark).verdict)
    for wrong, message in {
        "SELECT (": "activity.sql is not one SELECT of Spark: .+",
        "DELETE FROM orders": "activity.sql is not one SELECT of Spark",
        f"{text} WHERE :least < 1": "parameters :cutoff, :least; only one",
    }.items():
        query.write_text(wrong, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            check_script(FeatureScript(query), view)
