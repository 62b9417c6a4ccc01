"""Which function builds the features: found by what it takes and gives, or a clear question."""

import re
from functools import cache, partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from palmette.cli.check import check
from palmette.errors import UserError
from palmette.features import script_check
from palmette.features.harness.binding import find_entry
from palmette.features.script_check import repository_of
from palmette.sandbox import WarmSpark

HERE = Path(__file__).parent

TABLES = {"orders", "customers"}


def test_a_decorated_function_is_checked_in_its_own_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a source is named."""

    @cache
    def build(tables: object) -> object:
        return tables

    seen: list[script_check.FeatureScript] = []
    monkeypatch.setattr(script_check, "check_script", lambda script, *_, **__: seen.append(script))
    offers = Path(__file__).parents[3] / "examples" / "offers"
    files = (offers / "specs" / "offer_daily.yaml", offers / "registry.yaml")
    script_check.check_features(build, *files)
    assert [(one.path, one.entry) for one in seen] == [(Path(__file__), "build")]
    with pytest.raises(UserError, match="is not known"):
        script_check.check_features(partial(build, {}), *files)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("def make(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame: ...", "make"),
        ("def f(orders: DataFrame, customers: DataFrame, as_of: datetime) -> DataFrame: ...\ndef main(): ...", "f"),
        ("def helper(orders: DataFrame) -> DataFrame: ...\ndef build(sources, as_of): ...", "build"),
        (
            "def write(orders: DataFrame) -> None: ...\ndef compute(spark, orders: DataFrame) -> DataFrame: ...",
            "compute",
        ),
        ("def _all(orders) -> DataFrame: return _some(orders)\ndef _some(orders) -> DataFrame: ...", "_all"),
        (
            "class View:\n    def compute(self, orders: DataFrame, customers: DataFrame) -> DataFrame: ...",
            "View.compute",
        ),
    ],
)
def test_it_is_found(text: str, entry: str) -> None:
    assert find_entry(text, TABLES) == entry


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("def a(orders): ...\ndef b(orders): ...", None, "'a', 'b' could all be it"),
        ("def main(argv): ...", None, "none of 'main' takes the view's tables"),
        ("def build(orders): ...", "biuld", "Did you mean 'build'"),
        ("def build(:", None, "is not Python"),
    ],
)
def test_what_is_not_clear_is_asked(text: str, name: str | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_entry(text, TABLES, name=name)


@pytest.mark.parametrize("marks", [(), ("pyproject.toml",), ("views/pyproject.toml", ".git/HEAD")])
def test_the_repository_is_where_imports_resolve(marks: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "team/views/jobs/spend.py"
    for path in ("lib/shared.py", *marks):
        (tmp_path / "team" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "team" / path).write_text("", encoding="utf-8")
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("from lib.shared import x\nimport json\n", encoding="utf-8")
    assert repository_of(script) == tmp_path / "team"


def test_the_line_of_the_readme_checks_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    line = re.search(r"`palmette (check [^`]+)`", (HERE.parents[2] / "README.md").read_text(encoding="utf-8"))
    assert line is not None
    files = {name: str(HERE / "activity" / name.lower()) for name in ("FSC.yaml", "DFR.yaml")}
    words = [files.get(word, word) for word in line[1].split()[1:]]
    words[words.index("SCRIPT.py")] = str(HERE / "activity/activity.py")
    monkeypatch.setattr(WarmSpark, "_start", lambda _: pytest.fail("it started Spark"))
    done = CliRunner().invoke(check, [*words, "--quick"])
    assert done.exit_code == 0 and "static" in done.output, done.output
