"""A run survives `kill -9` at every point at which it touches the disk."""

import itertools
import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toys import Each, Gather, ListMaker, Toy, chain

from palmette.engine import Journal, Node, Setup, fold, read_journal, resume_run, run_state, run_topology
from palmette.engine.artefacts import ArtefactStore
from palmette.errors import RunError


def a_run(log: Path) -> Setup:
    """A fan-out, a latent fault that is mended, and an end that depends on both."""
    toys = [
        ListMaker("list", log=log),
        Each("each", log=log),
        Toy("flaw", faulty=True, log=log),
        Gather("all", "each", log=log),
        Toy("end", ["all", "flaw"], strict=True, log=log),
    ]
    nodes = {
        "list": Node(next=("each", "flaw")),
        "each": Node(next=("all",), for_each="list_part as element"),
        "flaw": Node(next=("each", "all")),
        "all": Node(next=("end",)),
    }
    return chain(*toys, nodes=nodes)


def in_child(work: Callable[[], object]) -> int:
    """Runs in a forked process; gives the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except Exception:  # noqa: BLE001 - the child's own end
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killing(target: Any, name: str, at: int, *, before: bool) -> None:
    """Makes the process kill itself at the n-th call of a method."""
    original, calls = getattr(target, name), itertools.count(1)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        now = next(calls) == at
        if before and now:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(self, *arguments, **options)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(target, name, call)


def artefacts(folder: Path) -> dict[str, bytes]:
    root = folder / "artefacts"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def successes(folder: Path) -> Counter[tuple[str, int | None]]:
    """Successful attempts by actor and element."""
    return Counter(
        (entry.event.actor, entry.event.item)
        for entry in read_journal(folder)
        if entry.event.kind == "attempt_succeeded"
    )


@pytest.mark.parametrize(
    ("target", "method", "before"),
    [
        (Journal, "append", True),
        (Journal, "append", False),
        (ArtefactStore, "publish", False),
        (ArtefactStore, "put", False),
    ],
)
def test_killed_at_every_point(tmp_path: Path, target: Any, method: str, before: bool) -> None:
    undisturbed = tmp_path / "undisturbed"
    run_topology(a_run(tmp_path / "log"), undisturbed)
    expected, once = artefacts(undisturbed), successes(undisturbed)
    runs = len((tmp_path / "log").read_text().split())
    killed = 0
    for at in range(1, 100, 6 if before else 1):  # what is before one event is also after another
        folder, log = tmp_path / f"{at}", tmp_path / f"{at}.log"

        def work(folder: Path = folder, log: Path = log, at: int = at) -> None:
            killing(target, method, at, before=before)
            run_topology(a_run(log), folder)

        status = in_child(work)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1
        if run_state(folder).opened is None:
            with pytest.raises(RunError, match="before it began"):
                resume_run(folder, setup=a_run(log))
            run_topology(a_run(log), folder)
        else:
            resume_run(folder, setup=a_run(log))
        assert artefacts(folder) == expected, at
        assert run_state(folder) == fold(read_journal(folder)) and not list(folder.rglob("*.draft")), at
        assert successes(folder) == once, f"killed at {at}: no completed attempt may run again"
        interrupted = len(log.read_text().split()) - runs
        assert interrupted <= 2, f"killed at {at}: only the invocation under way may run again"
    assert killed > 5
