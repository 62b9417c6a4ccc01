"""What the harness makes of candidates: their out-of-fold predictions read back and verified, an ensemble, a decision.

Nothing that training printed or wrote as a score counts here: everything is computed from the verified predictions.
"""

from palmette.automl.selection.candidates import (
    MOST_TRIALS,
    TRIALS_BYTES,
    Candidate,
    Expected,
    Found,
    Trial,
    are_probabilities,
    most_bytes,
    read_candidates,
)
from palmette.automl.selection.choice import Member, Selection, alone, select
from palmette.automl.selection.judge import Judge, Scorer

__all__ = [
    "MOST_TRIALS",
    "TRIALS_BYTES",
    "Candidate",
    "Expected",
    "Found",
    "Judge",
    "Member",
    "Scorer",
    "Selection",
    "Trial",
    "alone",
    "are_probabilities",
    "most_bytes",
    "read_candidates",
    "select",
]
