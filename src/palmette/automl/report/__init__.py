"""The report of a run: `report.html` for people who decide or check, and `MODEL_CARD.md` for those who use the model.

Both show the artefacts and what was measured, nothing else; what was not measured is said to be so.
"""

from palmette.automl.report.describing import describe
from palmette.automl.report.findings import Findings
from palmette.automl.report.write import written

__all__ = ["Findings", "describe", "written"]
