"""What tests share: one sandbox, one warm Spark for the whole session, the harness over both."""

import gc
import os
import shutil
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from palmette.errors import MachineError
from palmette.features.harness.connect import ConnectHarness
from palmette.sandbox import Access, Sandbox, WarmSpark, find_java

os.environ.setdefault("PALMETTE_ISOLATION", "none")
"""So that tests need no kernel of a certain kind; those of isolation choose each level that works themselves."""

os.environ.setdefault("PALMETTE_MEMORY", "off")
"""Runs of tests neither remember nor recall; those of the memory name a file of their own."""

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
"""Set before numpy and torch load. Workers share the cores; more threads than cores wait for each other."""

ssl.create_default_context = cache(ssl.create_default_context)
"""Each HTTP client would read all certificates again, for 25 ms; tests talk to this machine only."""

MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free > 8 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))  # thousands of small journals wait for no disk there


gc.set_threshold(50_000, 20, 100)
"""Garbage collections would visit the imported packages again and again: a twelfth of the time of all tests."""


def pytest_collection_finish() -> None:
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return Sandbox()


@pytest.fixture(scope="session")
def warm_spark(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSpark]:
    """A Spark that starts at its first use; tests that need it are skipped on a machine without Java.

    It reads and writes the folders of the tests, and reads the examples.
    """
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        find_java()
    except MachineError as error:
        pytest.skip(str(error))
    access = Access(read=(Path(__file__).parents[1] / "examples",), write=(tmp_path_factory.getbasetemp(),))
    with WarmSpark(sandbox, access=access) as spark:
        yield spark


@pytest.fixture(scope="session")
def harness(warm_spark: WarmSpark) -> ConnectHarness:
    return ConnectHarness(warm_spark)


@pytest.fixture
def few_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts are checked on the first three scenarios of their views, which find most faults."""
    from palmette.features.checks import ScriptUnderTest
    from palmette.features.frames import scenarios

    some = property(lambda subject: scenarios(subject.view, seed=subject.seed)[:3])
    monkeypatch.setattr(ScriptUnderTest, "scenarios", some)
