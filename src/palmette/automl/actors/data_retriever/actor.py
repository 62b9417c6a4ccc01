"""The actor `data_retriever`: from the data that a request names to samples, with every repair reported."""

from palmette.automl.actors.shared import Accountable, verdict
from palmette.automl.samples import DataSource, Samples
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Verdict, Violation
from palmette.errors import counted, did_you_mean

REMOVED = frozenset({"missing-files", "unreadable-files", "lost-labels", "no-file", "left-aside"})
"""Repairs that leave out files; the screen names these."""


class DataRetrieverInput(Model):
    places: DataSource
    task: TaskSpec | None = None
    """Its threshold makes classes of the target's numbers."""


class DataRetriever(Accountable, BaseActor):
    """Reads the data that a request names."""

    name = "data_retriever"
    description = "Reads the named files, folder or set into one table, and reports how each was read and repaired."
    produces = "samples"
    Input = DataRetrieverInput
    Output = Samples
    codes = ("target-missing", "no-rows")

    def run(self, input: DataRetrieverInput, context: Context) -> Attempt[Samples]:
        from palmette.automl.samples.load import in_classes, load

        loaded = load(input.places.named, input.places.table, input.places.arrays)
        if input.task and input.task.threshold:
            loaded = in_classes(loaded, input.task.threshold)
        samples = loaded.samples
        repaired = sum(repair.changed for repair in samples.repairs)
        context.progress(f"{_size(samples)}, {counted(repaired, 'repair')}")
        return Attempt(samples)

    def check(self, input: DataRetrieverInput, output: Samples, context: Context) -> Verdict:
        """There are rows, and the target has values."""
        found, target = list[Violation](), input.task.target if input.task else ""
        if not output.rows:
            message = "There is a header but no row to learn from."
            found.append(Violation(code="no-rows", message=message, subject=output.files[0].path))
        column = output.column(target) if target else None
        if target and column is None:
            hint = did_you_mean(target, [one.name for one in output.columns])
            listed = ", ".join(repr(one.name) for one in output.columns[:12])
            message = f"There is no column {target!r}.{hint} The columns are {listed}."
            found.append(Violation(code="target-missing", message=message, subject=target))
        if column is not None and output.rows and not column.distinct:
            message = f"The target {target!r} has no value in any row."
            found.append(Violation(code="target-missing", message=message, subject=target))
        lost = [one.text.rstrip(".") for one in output.repairs if one.code in REMOVED]
        return verdict("data", found, ". ".join([f"{_size(output)} of {counted(len(output.files), 'file')}", *lost]))


def _size(samples: Samples) -> str:
    return f"{counted(samples.rows, 'row')}, {counted(len(samples.columns), 'column')}"
