"""The actor `data_retriever`: from the data that a request names to samples, with every repair reported."""

from palmette.automl.actors.shared import verdict
from palmette.automl.samples import DataSource, Samples
from palmette.automl.samples.load import as_asked, load
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Verdict
from palmette.errors import counted

SHOWN = frozenset({
    "missing-files", "unreadable-files", "lost-labels", "no-file", "left-aside", "same-names",
    "unix-times", "no-header",
})  # fmt: skip
"""Repairs that leave out files, or read what may not be meant; the screen names these."""


class DataRetrieverInput(Model):
    places: DataSource
    task: TaskSpec | None = None
    """Its threshold makes classes of the target's numbers; its time may be numbers."""


class DataRetriever(BaseActor):
    """Reads the data that a request names."""

    name = "data_retriever"
    description = "Reads the named files, folder or set into one table, and reports how each was read and repaired."
    produces = "samples"
    Input = DataRetrieverInput
    Output = Samples

    def run(self, input: DataRetrieverInput, context: Context) -> Attempt[Samples]:
        loaded = load(input.places.named, input.places.table, input.places.arrays)
        if input.task:
            loaded = as_asked(loaded, input.task.threshold, input.task.time)
        samples = loaded.samples
        repaired = sum(repair.changed for repair in samples.repairs)
        context.progress(f"{_size(samples)}, {counted(repaired, 'repair')}")
        return Attempt(samples)

    def check(self, input: DataRetrieverInput, output: Samples, context: Context) -> Verdict:
        """Files that were left out are named."""
        lost = [one.text.rstrip(".") for one in output.repairs if one.code in SHOWN]
        return verdict("data", (), ". ".join([f"{_size(output)} of {counted(len(output.files), 'file')}", *lost]))


def _size(samples: Samples) -> str:
    return f"{counted(samples.rows, 'row')}, {counted(len(samples.columns), 'column')}"
