"""What the bench of hostile programs leaves behind."""

from pathlib import Path

import pytest

from palmette_bench.hostile.decoys import Decoys


def test_traces_of_a_program_are_removed_where_it_is_not_judged() -> None:
    with pytest.raises(RuntimeError), Decoys() as decoys:
        trace = Path("/tmp") / f"{decoys.mark}-left"
        trace.touch()
        raise RuntimeError
    assert not trace.exists()
