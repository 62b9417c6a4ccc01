"""The levels of isolation that work here."""

import os

import pytest

from palmette.errors import MachineError
from palmette.sandbox import Sandbox
from palmette.sandbox.isolation import best_isolation
from palmette.sandbox.process import _trial

LEVELS = ["bubblewrap", "landlock", *filter(None, [os.environ.get("PALMETTE_TEST_CONTAINER")])]
"""With `PALMETTE_TEST_CONTAINER=podman:IMAGE` that, too."""


@pytest.fixture(scope="module", params=LEVELS)
def isolated(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return Sandbox(best_isolation(_trial, request.param))
    except MachineError as error:
        pytest.skip(str(error))
