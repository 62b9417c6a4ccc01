"""The report of a run: `report.html` for people who decide or check, and `MODEL_CARD.md` for those who use the model.

Both show the artefacts and what was measured, nothing else; what was not measured is said to be so.
"""

from palmette.automl.report.findings import CurvePoint, Evidence, Findings, Grouping, Importance, Latency, Stage
from palmette.automl.report.permutation import Measure, importance
from palmette.automl.report.write import write_report

__all__ = [
    "CurvePoint",
    "Evidence",
    "Findings",
    "Grouping",
    "Importance",
    "Latency",
    "Measure",
    "Stage",
    "importance",
    "write_report",
]
