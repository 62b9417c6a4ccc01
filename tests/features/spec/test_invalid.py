"""Every kind of mistake is reported by its code, on its line, with the name that was meant."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from palmette.errors import InputError, Mistake
from palmette.features.spec.resolve import load_view

CASES = Path(__file__).with_name("cases")
BASE = {"fsc": (CASES / "base.yaml").read_text("utf-8"), "dfr": (CASES / "registry.yaml").read_text("utf-8")}
INVALID: list[dict[str, Any]] = yaml.safe_load((CASES / "invalid.yaml").read_text("utf-8"))


def problems_of(texts: dict[str, str], folder: Path) -> tuple[Mistake, ...]:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        load_view(folder / "fsc.yaml", folder / "dfr.yaml")
    return raised.value.problems


@pytest.mark.parametrize("case", INVALID, ids=lambda case: f"{case['code']}: {case['now'].strip()[:60]}")
def test_mistake(case: dict[str, Any], tmp_path: Path) -> None:
    which = case.get("in", "fsc")
    texts = dict(BASE)
    for edit in (case, case["also"]) if "also" in case else (case,):
        assert edit["was"] in texts[which], "the case edits text that is not there"
        texts[which] = texts[which].replace(edit["was"], edit["now"], 1)
    found = problems_of(texts, tmp_path)
    mine = [problem for problem in found if problem.code == case["code"]]
    assert mine, [str(problem) for problem in found]
    number = line_of(case, BASE[which], texts[which])
    assert number in [problem.line for problem in mine], [str(problem) for problem in mine]
    problem = next(problem for problem in mine if problem.line == number)
    assert problem.file == str(tmp_path / f"{which}.yaml")
    assert problem.message
    if "nearest" in case:
        assert problem.nearest == case["nearest"]


def line_of(case: dict[str, Any], before: str, text: str) -> int:
    """The line with the mistake: that of the edit, or the nearest to it that contains `line`."""
    edited = before.count("\n", 0, before.index(case["was"])) + 1
    if "line" not in case:
        return edited
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if case["line"] in line]
    return min(numbers, key=lambda number: abs(number - edited))


@pytest.mark.parametrize(("was", "now", "code"), [
    ("name: ratio", "name: orders_30d", "name-collision"),
    ("keys: [user_id]}", "keys: [user_ids]}", "unknown-key-column"),
])  # fmt: skip
def test_what_follows_from_a_mistake_is_not_reported(was: str, now: str, code: str, tmp_path: Path) -> None:
    assert was in BASE["fsc"]
    codes = {problem.code for problem in problems_of({**BASE, "fsc": BASE["fsc"].replace(was, now, 1)}, tmp_path)}
    assert code in codes and not codes & {"derivation-cycle", "lookup-outside-grain"}


def test_a_column_of_a_wrong_step_is_known(tmp_path: Path) -> None:
    steps = "[{gap: {column: days, by: [user_id]}}, {filter: days > 1}]"
    text = BASE["fsc"].replace("features:\n", f"  - {{name: people, table: users, steps: {steps}}}\nfeatures:\n", 1)
    assert [problem.code for problem in problems_of({**BASE, "fsc": text}, tmp_path)] == ["not-events"]


def test_base_is_valid() -> None:
    view = load_view(CASES / "base.yaml", CASES / "registry.yaml")
    assert view.name == "user_shop"


def test_all_mistakes_of_both_files_at_once(tmp_path: Path) -> None:
    texts = {"fsc": BASE["fsc"].replace("fsc: 1", "fsc: 2"), "dfr": BASE["dfr"].replace("dfr: 1", "dfr: 2")}
    assert {problem.file.rsplit("/")[-1] for problem in problems_of(texts, tmp_path)} == {"fsc.yaml", "dfr.yaml"}


def test_one_mistake_is_one_problem(tmp_path: Path) -> None:
    """A feature that cannot be resolved does not make its users, nor the author's tests, wrong as well."""
    texts = dict(BASE, fsc=BASE["fsc"].replace("source: orders, window: 30d", "source: order, window: 30d"))
    assert [problem.code for problem in problems_of(texts, tmp_path)] == ["unknown-source"]


def test_several_mistakes_come_in_the_order_of_lines(tmp_path: Path) -> None:
    text = BASE["fsc"].replace("amount > 0", "amout > 0").replace("of: amount, window", "of: amont, window")
    text = text.replace("column: tier}", "column: teir}")
    found = problems_of(dict(BASE, fsc=text), tmp_path)
    assert [problem.nearest for problem in found] == ["amount", "amount", "tier"]
    assert [problem.line for problem in found] == sorted(problem.line or 0 for problem in found)
