"""The actor `data_retriever`: from the places that a request names to a data set that is read and told."""

from __future__ import annotations

from palmette.automl.actors.data_retriever.offline import retrieve
from palmette.automl.data import Dataset, Places
from palmette.automl.requirements import Requirements
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.errors import UserError, nearest


class RetrieverInput(Model):
    places: Places
    requirements: Requirements | None = None
    """Of which only the threshold counts that makes classes of the target's numbers."""


class DataRetriever(BaseActor):
    """Reads the data, and believes what it tells of them as long as the files are what they were."""

    name = "data_retriever"
    description = "Reads the named files, folder or set into one table, and says how each was read and repaired."
    produces = "dataset"
    Input = RetrieverInput
    Output = Dataset
    has_criterion = True

    def run(self, input: RetrieverInput, context: Context) -> Attempt[Dataset]:
        threshold = input.requirements.problem.threshold if input.requirements else None
        dataset = retrieve(input.places, context.ask, threshold)
        repaired = sum(repair.changed for repair in dataset.repairs)
        context.progress(f"{dataset.rows} rows, {len(dataset.columns)} columns, {repaired} repairs")
        return Attempt(dataset)

    def check(self, input: RetrieverInput, output: Dataset, context: Context) -> Verdict:
        """The files are still those, give these rows again, and have the target."""
        violations = [*_changed(output), *_lacking(input.places, output)]
        detail = f"{output.rows} rows and {len(output.columns)} columns, as in the {len(output.files)} files"
        measured = Measurement(name="data", status="failed" if violations else "passed", detail=detail)
        return Verdict.of(violations, [measured])

    def implicated(self, violation: Violation, output: Dataset) -> str | None:
        """To blame where the data were read wrongly, or are not what they were."""
        codes = ("data-changed", "data-differ", "target-missing", "no-rows")
        return f"Read the data again: {violation.message}" if violation.code in codes else None


def _changed(output: Dataset) -> list[Violation]:
    from palmette.automl.data.load import reload

    try:
        again = reload(output).dataset
    except UserError as error:
        return [Violation(code="data-changed", message=error.message, subject=", ".join(output.places))]
    if again == output:
        return []
    differing = [name for name in type(output).model_fields if getattr(again, name) != getattr(output, name)]
    message = f"The data in the files differ in their {', '.join(differing)}."
    return [Violation(code="data-differ", message=message, subject=", ".join(output.places))]


def _lacking(places: Places, output: Dataset) -> list[Violation]:
    found = []
    if not output.rows:
        message = "There is a header but no row to learn from."
        found.append(Violation(code="no-rows", message=message, subject=output.files[0].path))
    column = output.column(places.target) if places.target else None
    if places.target and column is None:
        near = nearest(places.target, [one.name for one in output.columns])
        named = ", ".join(repr(one.name) for one in output.columns[:12])
        meant = f" Did you mean {near!r}?" if near else ""
        message = f"There is no column {places.target!r}.{meant} There are {named}."
        found.append(Violation(code="target-missing", message=message, subject=places.target))
    if column is not None and output.rows and not column.distinct:
        message = f"The target {places.target!r} has no value in any row."
        found.append(Violation(code="target-missing", message=message, subject=places.target))
    return found
