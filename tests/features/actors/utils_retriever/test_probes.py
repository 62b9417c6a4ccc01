"""Which probes are run again."""

from collections.abc import Sequence
from pathlib import Path

from palmette.features.actors.utils_retriever.offline import RememberedProbes
from palmette.features.harness.connect import CaseResult, HarnessProbe

HERE = Path()
GOOD, BAD = HarnessProbe("good", "result = 1"), HarnessProbe("bad", "result = 1 / 0")


class Counting:
    """Answers every probe, and notes which it was given."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def probes(self, root: Path, python_path: Sequence[Path], probes: Sequence[HarnessProbe]) -> list[CaseResult]:
        self.asked += [probe.name for probe in probes]
        return [CaseResult(probe.name, value=1, error="Died" if probe is BAD else "") for probe in probes]


def test_an_answer_is_remembered_and_an_error_is_not() -> None:
    counting = Counting()
    remembered = RememberedProbes(counting)
    for _ in range(2):
        results = remembered.probes(HERE, (), [BAD, GOOD])
        assert [(result.name, result.error) for result in results] == [("bad", "Died"), ("good", "")]
    assert counting.asked == ["bad", "good", "bad"]


def test_the_same_probe_in_another_checkout_is_another() -> None:
    counting = Counting()
    remembered = RememberedProbes(counting)
    remembered.probes(HERE, (), [GOOD])
    remembered.probes(Path("elsewhere"), (), [GOOD])
    assert counting.asked == ["good", "good"]
