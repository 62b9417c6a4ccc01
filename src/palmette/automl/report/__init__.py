"""The report of a run, `report.html`, and the model card, `MODEL_CARD.md`. Both show the `Assessment` unchanged."""

from pathlib import Path

from palmette.automl.artefacts import Comparison, Delivery
from palmette.automl.endpoint.folder import add
from palmette.automl.report.findings import ReportFindings, findings_of
from palmette.automl.report.interpretation import interpretation
from palmette.automl.report.page import pages
from palmette.automl.report.verdict import verdict_text
from palmette.engine import RunResult, run_state

__all__ = ["ReportFindings", "describe", "findings_of", "interpretation", "pages", "verdict_text"]


def describe(run: Path) -> None:
    """Writes report and model card of a run into its delivered folder, if that still holds its delivery."""
    result = RunResult(run, run_state(run), "finished")
    if "delivery" not in result.state.artefacts:  # a topology may end before
        return
    folder, files = Path(result.artefact("delivery", Delivery).folder), result.artefact("comparison", Comparison).files
    if all((folder / one.path).is_file() and (folder / one.path).read_bytes() == one.text.encode() for one in files):
        add(folder, pages(findings_of(result)))
