"""A plug-in of pytest: a team's whole test suite on a Spark that is warm, as its single tests are run elsewhere.

It is loaded in the process of the suite, by name, from the folders that `folders` gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

REMOTE = "PALMETTE_WARM_SPARK"
"""Environment variable with the address of the server."""


def environment(remote: str, path: str) -> Mapping[str, str]:
    """What a process of pytest needs to load this plug-in beside the modules on `path`."""
    here = Path(__file__).parent
    driver = Path(__file__).parents[2] / "features" / "harness"
    return {REMOTE: remote, "PYTEST_PLUGINS": Path(__file__).stem, "PYTHONPATH": f"{path}:{here}:{driver}"}


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    from palmette_driver.session import WarmSession  # type: ignore[import-not-found]  # of the folder `harness`

    with WarmSession(os.environ[REMOTE], resolve_paths=True) as session:
        session.reset()
        yield
