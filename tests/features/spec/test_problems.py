"""Every mistake that the code reports has a text, with all facts that the text mentions; no text is left over."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import yaml

SOURCE = Path(__file__).parents[3] / "src" / "palmette"
TEXTS: dict[str, list[str]] = yaml.safe_load((SOURCE / "problems.yaml").read_text("utf-8"))
FILES = [
    *(SOURCE / name for name in ("_validation.py", "_yaml.py", "documents.py", "engine/lint.py", "features/inputs.py")),
    *(SOURCE / "automl").rglob("*.py"),
    *(file for part in ("spec", "samples") for file in (SOURCE / "features" / part).glob("*.py")),
]
GIVEN = {"value", "known"}


def mentioned(problem: str) -> set[str]:
    """The facts that the texts of a problem mention."""
    names = {name for text in TEXTS[problem] for _, name, _, _ in string.Formatter().parse(text) if name}
    return {name.partition(".")[0] for name in names}


def calls() -> Iterator[tuple[ast.Call, str]]:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                problem = node.args[name == "error_of" :][:1]
                reports = name in ("report", "_report", "_refusal", "refusal", "fault", "error_of")
                if reports and problem and isinstance(problem[0], ast.Constant):
                    yield node, str(problem[0].value)


def test_calls_give_the_facts_that_the_texts_mention() -> None:
    lacking = set()
    for call, problem in calls():
        facts = {keyword.arg for keyword in call.keywords}
        named = {"table"} if ast.unparse(call.func) == "self._report" else set()
        if None not in facts:
            lacking |= {(problem, name) for name in mentioned(problem) - GIVEN - facts - named}
    assert lacking == set()


def test_every_text_is_used() -> None:
    code = "".join(file.read_text("utf-8") for file in FILES)
    prefixes = (
        "illegal-type/",
        "name-collision",
        "no-such-",
        "interval-form/",
    )  # variants that the code puts together
    unused = [problem for problem in TEXTS if f'"{problem}"' not in code and not problem.startswith(prefixes)]
    assert unused == []
