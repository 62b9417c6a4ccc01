"""What the contracts are held on: one small team for the whole session."""

import pytest
from small_team import SmallTeam

from palmette.sandbox import Sandbox, WarmSpark


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox, warm_spark: WarmSpark) -> SmallTeam:
    return SmallTeam(tmp_path_factory.mktemp("team"), sandbox, warm_spark)
