"""The offers example: its tables fit its registry, its specifications resolve, its repository is sound."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from palmette.documents import read_located
from palmette.features.checks.examples import examples, unlike
from palmette.features.oracle import expected
from palmette.features.spec.dfr import Registry
from palmette.features.spec.resolve import check_run, load_view
from palmette.features.spec.run import Run

OFFERS = Path(__file__).parents[2] / "examples" / "offers"
SPECS = sorted(path.stem for path in (OFFERS / "specs").glob("*.yaml"))


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"offers_{name}", OFFERS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


def content(folder: Path) -> dict[str, list[dict[str, object]]]:
    dataset = pytest.importorskip("pyarrow.dataset", reason="pyarrow is not installed")
    places = sorted(folder.iterdir())
    return {place.name: dataset.dataset(place, partitioning="hive").to_table().to_pylist() for place in places}


@pytest.mark.parametrize("name", SPECS)
def test_specifications_resolve(name: str) -> None:
    view = load_view(OFFERS / "specs" / f"{name}.yaml", OFFERS / "registry.yaml")
    assert view.name == name and view.features
    assert not check_run(read_located(OFFERS / "runs" / f"{name}.yaml", Run), OFFERS / "runs")


@pytest.mark.parametrize("name", SPECS)
def test_the_authors_cases_agree_with_the_definitions(name: str) -> None:
    view = load_view(OFFERS / "specs" / f"{name}.yaml", OFFERS / "registry.yaml")
    for case in examples(view):
        assert not unlike(view, case, expected(view, case.frames, case.as_of)), case.name


def test_the_demo_has_eight_features_over_three_tables() -> None:
    view = load_view(OFFERS / "specs" / "user_offer_redemptions.yaml", OFFERS / "registry.yaml")
    assert len(view.features) == 8 and len(view.tables) == 3
    assert len(view.tests) >= 3 and any(feature.words for feature in view.features)


def test_the_sample_is_what_the_generator_makes(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    module("generate").generate(3000, 0, tmp_path)
    assert content(tmp_path) == content(OFFERS / "tables")
    size = sum(path.stat().st_size for path in (OFFERS / "tables").rglob("*.parquet"))
    assert size < 1_000_000


def test_the_registry_names_the_columns_and_types_of_the_sample() -> None:
    dataset = pytest.importorskip("pyarrow.dataset", reason="pyarrow is not installed")
    from palmette.features.frame import spark_type

    for table in read_located(OFFERS / "registry.yaml", Registry).value.tables:
        schema = dataset.dataset(OFFERS / str(table.path), partitioning=None).schema
        partitions = {partition.column for partition in table.partitions}
        registered = {column.name: column.type.parsed for column in table.columns if column.name not in partitions}
        assert {field.name: spark_type(field.type) for field in schema} == registered, table.name


def test_the_sample_is_as_unpleasant_as_real_data() -> None:
    tables = content(OFFERS / "tables")
    interactions, redemptions = tables["interactions"], tables["redemptions.parquet"]
    ids = [row["interaction_id"] for row in interactions]
    assert len(ids) > len(set(ids)), "repeated deliveries"
    assert any(row["user_id"] is None for row in interactions)
    lateness = [row["available_at"] - row["redeemed_at"] for row in redemptions]
    assert sum(late.days >= 1 for late in lateness) > 10
    assert any(row["redeemed_at"].strftime("%H%M%S") == "000000" for row in redemptions)
    per_user = sorted([row["user_id"] for row in redemptions].count(user) for user in range(1, 121))
    assert sum(per_user[-12:]) > 0.25 * len(redemptions), "a tenth of the users has more than a quarter of the rows"


def test_preparing_twice_keeps_what_runs_have_left(tmp_path: Path) -> None:
    prepare = module("prepare").prepare
    prepare(tmp_path)
    first = git(tmp_path / "repository", "rev-parse", "main")
    git(tmp_path / "repository", "branch", "features/left-by-a-run")
    prepare(tmp_path)
    assert git(tmp_path / "repository", "rev-parse", "main", "features/left-by-a-run").split() == [
        first,
        first,
    ]
    assert git(tmp_path / "repository", "status", "--porcelain") == ""
    assert not check_run(read_located(tmp_path / "runs" / "user_offer_redemptions.yaml", Run), tmp_path / "runs")


def test_the_repository_is_formatted_and_clean(tmp_path: Path) -> None:
    repository = module("prepare").prepare(tmp_path) / "repository"
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
            cwd=repository,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout
