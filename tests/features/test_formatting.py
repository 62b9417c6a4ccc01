"""Generated files are formatted as the team's are, also where its formatter is not installed."""

from pathlib import Path

import pytest

from palmette.engine.actor import TextFile
from palmette.features.artefacts import Conventions
from palmette.features.formatting import format_file
from palmette.sandbox import Sandbox

SOURCE = "import yaml\nfrom common import per\nimport os\ndef f(a): return per(yaml.safe_load(a), {'key': a})\n"
EXPECTED = """\
import yaml

from common import per


def f(a):
    return per(
        yaml.safe_load(a), {"key": a}
    )
"""


@pytest.mark.parametrize("formatter", [("ruff", "format"), ("not_installed_anywhere",), ()])
def test_own_modules_come_last_and_lines_keep_their_length(formatter: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text("", encoding="utf-8")
    conventions = Conventions(
        script_path="", test_path="", config_path="", functions=(), formatter=formatter, line_length=40
    )
    made = format_file(TextFile(path="jobs/x.py", text=SOURCE), conventions, Sandbox(), tmp_path)
    assert made.text == EXPECTED


@pytest.mark.parametrize("package", ["jobs", "src/jobs"])
def test_own_packages_come_last(package: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir(parents=True)
    (tmp_path / package / "__init__.py").write_text("", encoding="utf-8")
    conventions = Conventions(script_path="", test_path="", config_path="", functions=())
    source = "from jobs.x import build\nimport yaml\n\nprint(build, yaml)\n"
    made = format_file(TextFile(path="test/test_x.py", text=source), conventions, Sandbox(), tmp_path)
    assert made.text == "import yaml\n\nfrom jobs.x import build\n\nprint(build, yaml)\n"


@pytest.mark.parametrize(("python", "expected"), [("3.10", "timezone.utc"), ("3.11", "UTC")])
def test_new_names_only_where_all_pythons_of_the_team_have_them(python: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\nrequires-python = ">={python}"\n', "utf-8")
    conventions = Conventions(script_path="", test_path="", config_path="", functions=())
    source = "from datetime import datetime, timezone\n\nprint(datetime.now(timezone.utc))\n"
    made = format_file(TextFile(path="x.py", text=source), conventions, Sandbox(), tmp_path)
    assert f"now({expected})" in made.text


def test_long_texts_are_broken_where_words_end(tmp_path: Path) -> None:
    conventions = Conventions(script_path="", test_path="", config_path="", functions=(), line_length=40)
    source = 'column = F.expr("first_part_of(some_sql) + second_part_of(some_sql)")\n'
    made = format_file(TextFile(path="x.py", text=source), conventions, Sandbox(), tmp_path)
    assert made.text == ('column = F.expr(\n    "first_part_of(some_sql) + "\n    "second_part_of(some_sql)"\n)\n')
    assert format_file(made, conventions, Sandbox(), tmp_path) == made
