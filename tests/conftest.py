"""What tests share: one sandbox, one warm Spark for the whole session, the harness over both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palmette.errors import MachineError
from palmette.features.harness.connect import ConnectHarness
from palmette.sandbox import Sandbox, WarmSpark, find_java


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    return Sandbox()


@pytest.fixture(scope="session")
def warm_spark(sandbox: Sandbox) -> Iterator[WarmSpark]:
    """A Spark that starts at its first use; tests that need it are skipped on a machine without Java."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        find_java()
    except MachineError as error:
        pytest.skip(str(error))
    with WarmSpark(sandbox) as spark:
        yield spark


@pytest.fixture(scope="session")
def harness(sandbox: Sandbox, warm_spark: WarmSpark) -> ConnectHarness:
    return ConnectHarness(sandbox, warm_spark)
