"""What is kept of every run of a study."""

from collections.abc import Iterable

from palmette.documents import Model
from palmette.knowledge.memory import RunMemory


class Cell(Model):
    """A run that a table needs: who runs on what, how."""

    study: str
    set: str
    setting: str = "free"
    wording: str = "full"
    system: str = "palmette"
    """`palmette`, or the name of a peer."""
    topology: str = "automl"
    plans: int = 3
    track: str = ""
    """Empty for all."""
    budget: float = 60.0
    seed: int = 0
    model: str = "offline"
    knowledge: str = "library"
    """`none`: nothing is retrieved; `memory`: also runs on other sets; `noise`: also wrong and irrelevant insights."""
    faults: bool = False
    """Whether a program writes own features, with faults at iML's rates."""
    repairs: int | None = None
    """Most repairs of own code on the sample, before which nothing is executed; None for what the topology says."""


class Record(Model):
    """What was measured in one run."""

    cell: Cell
    outcome: str
    """`delivered`, `refused` (with its code) or `failed`."""
    reason: str = ""
    success: float = 0.0
    score: float | None = None
    normalised: float = 0.0
    constraints: str = ""
    """pass, partly or fail; empty without a constraint."""
    better: bool | None = None
    """Than the best baseline, by the run's own verdict."""
    chosen: str = ""
    seconds: float = 0.0
    training_seconds: float = 0.0
    calls: int = 0
    tokens: int = 0
    money: float = 0.0
    own: str = ""
    """`kept` or `left out`; empty where no own code was written."""
    repairs: int = 0
    """Of own code."""
    remembered: RunMemory | None = None
    """What the run leaves for later ones."""
    commit: str = ""
    machine: str = ""
    date: str = ""

    @property
    def comprehensive(self) -> float:
        return (self.success + self.normalised) / 2


def open_cells(cells: Iterable[Cell], records: Iterable[Record]) -> list[Cell]:
    """The cells that have no record yet."""
    done = {record.cell for record in records}
    return [cell for cell in cells if cell not in done]
