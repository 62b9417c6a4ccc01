"""Conventions of very different repositories."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from palmette.features.artefacts import FunctionShape
from palmette.features.repository import Checkout, oldest_spark, read_conventions
from palmette.features.signature import signature
from palmette.features.spec.run import Run
from palmette.features.spec.view import View

EXPECTED = yaml.safe_load((Path(__file__).parent / "expected.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_conventions(
    name: str, repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    found = read_conventions(repository(name), run_spec, user_offers())
    said = found.model_dump(mode="json", include=set(EXPECTED[name]) - {"functions", "rules"})
    said |= {"functions": [_line(shape) for shape in found.functions], "rules": len(found.rules)}
    assert said == EXPECTED[name]


def _line(shape: FunctionShape) -> str:
    parameters = [
        p.name + (f": {p.annotation}" if p.annotation else "") + (f" = {p.default}" if p.default else "")
        for p in shape.parameters
    ]
    return f"{shape.role}: {shape.name}({', '.join(parameters)}) -> {shape.returns}"


def test_readme_wins_over_neighbours(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    root = repository("layered")
    (root / "README.md").write_text(
        "- Every script defines `load_sources`, `assemble` and `main`.\n- Scripts live in `jobs/<view>.py`.\n",
        encoding="utf-8",
    )
    found = read_conventions(root, run_spec, user_offers())
    build = next(shape for shape in found.functions if shape.role == "build")
    assert (build.name, found.script_path) == ("assemble", "jobs/{view}.py")
    assert [parameter.name for parameter in build.parameters] == ["sources", "as_of"]


def test_prose_of_a_readme_that_only_looks_like_an_import(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    root = repository("layered")
    (root / "README.md").write_text("The nightly jobs import data as is.\n", encoding="utf-8")
    assert read_conventions(root, run_spec, user_offers()).style.imports


def test_single_neighbour_is_enough(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    root = repository("layered")
    (root / "src/offers/features/user_orders.py").unlink()
    (root / "README.md").unlink()
    found = read_conventions(root, run_spec, user_offers())
    assert [shape.name for shape in found.functions] == [
        "load_sources",
        "build_features",
        "write_output",
        "main",
    ]


def test_one_folder_shows_where_the_next_goes(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    """Its script is called by what it is; what writes is known by its name, whatever it calls."""
    root = repository("folders")
    for folder in (root / "views").iterdir():
        if folder.is_dir() and folder.name != "logins":
            shutil.rmtree(folder)
    job = root / "views/logins/job.py"
    save = "def save(df: DataFrame, cfg: Settings) -> None:\n    replace_days(df, cfg.sink)\n\n\n@click.command"
    text = job.read_text(encoding="utf-8").replace("@click.command", save)
    job.write_text(text.replace('"--run-date"', '"--at"').replace("as_of)", "at: datetime)"), encoding="utf-8")
    found = read_conventions(root, run_spec, user_offers())
    assert (found.script_path, found.config_path) == ("views/{view}/job.py", "views/{view}/config.yaml")
    assert "write: save(df: DataFrame, cfg: Settings) -> None" in map(_line, found.functions)
    assert found.as_of_option == "--at", "it is called like the cut-off"


def test_reading_never_runs_the_repository(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    root = repository("layered")
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "from __future__" not in text:
            path.write_text("raise SystemExit('imported')\n" + text, encoding="utf-8")
    assert read_conventions(root, run_spec, user_offers()).package == "offers.features"


@pytest.mark.parametrize("text", ["def broken(:\n", "\x00", "\ufeffx = 1\n"])
def test_files_that_do_not_parse_are_passed_over(
    text: str, repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    root = repository("layered")
    (root / "src/offers/broken.py").write_text(text, encoding="utf-8")
    (root / "pyproject.toml").write_text("[tool.ruff\n", encoding="utf-8")
    assert read_conventions(root, run_spec, user_offers()).script_path == "src/offers/features/{view}.py"


@pytest.mark.parametrize(("text", "oldest"), [
    ('dependencies = ["pydantic>=2", "pyspark>=3.5"]', (3, 5)), ('pyspark = "^3.4"', (3, 4)),
    ('["pyspark[connect]==4.0.1"]', (4, 0)), ('dependencies = ["pyspark-extension>=2"]', None),
    ('["pyspark<4,>=3.4"]', (3, 4)), ('pyspark = {version = "^3.4", extras = ["sql"]}', (3, 4)),
])  # fmt: skip
def test_the_oldest_spark_that_is_allowed(text: str, oldest: tuple[int, int] | None, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert oldest_spark(Checkout(tmp_path)) == oldest


def test_what_reads_and_writes_take_is_the_configuration_whatever_it_is_called(
    repository: Callable[[str], Path], run_spec: Run, user_offers: Callable[..., View]
) -> None:
    found = read_conventions(repository("studies"), run_spec, user_offers())
    meanings = {role: [one.meaning for one in signature(user_offers(), found, role)] for role in ("load", "write")}
    assert meanings == {"load": ["spark", "config"], "write": ["frame", "config"]}
