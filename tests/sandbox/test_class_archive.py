"""Spark's classes are kept once, where there is room for them, and every later Java is told of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from palmette.errors import MachineError
from palmette.sandbox import Sandbox, WarmSpark, class_work, java

Starts = Callable[[str], Sequence[str]]

WRITES = """\
import re, sys
open(re.search('ArchiveClassesAtExit="(.*)"', sys.argv[2])[1], "w").write(sys.argv[1])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setattr(java, "FOLDER", tmp_path / "share" / "of palmette")
    monkeypatch.setattr(java, "_WORK", tmp_path / "work.py")
    (tmp_path / "work.py").write_text(WRITES)
    return tmp_path / "share" / "of palmette"


def test_it_is_made_once_in_the_place_of_others(folder: Path, sandbox: Sandbox) -> None:
    folder.mkdir(parents=True)
    (folder / "spark-0.jsa").write_text("of another version")
    assert "SharedArchiveFile" not in java.quick_options()
    made = java.make_archive(sandbox, lambda options: [options], "a line")
    assert [*folder.iterdir()] == [made] and made.read_text() == "a line"
    assert f'-XX:SharedArchiveFile="{made}"' in java.quick_options()
    assert java.make_archive(sandbox, lambda options: [options], "another") == made
    assert made.read_text() == "a line"


@pytest.mark.parametrize(
    ("work", "told"), [("raise SystemExit('no room')", "no room"), ("", "wrote none"), (WRITES, "cannot be kept in")]
)
def test_spark_works_without_one(folder: Path, sandbox: Sandbox, tmp_path: Path, work: str, told: str) -> None:
    (tmp_path / "work.py").write_text(work)
    (tmp_path / "share").write_text("a file where a folder would be")
    with pytest.raises(MachineError, match=told) as caught:
        java.make_archive(sandbox, lambda options: [options], "a line")
    assert caught.value.code == "no-class-archive"
    assert "SharedArchiveFile" not in java.quick_options()


def test_spark_can_do_what_it_is_asked(warm_spark: WarmSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.chdir(tmp_path)
    session = SparkSession.builder.remote(warm_spark.remote).create()
    class_work._ask(session)
    session.stop()
    assert [*tmp_path.glob("rows/*.parquet")]
