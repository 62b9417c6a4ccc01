"""The rules of the parser: those of `automl.requirements`, with the answers that the verifier got."""

from __future__ import annotations

from palmette.automl.requirements import DataSummary, Request, Understanding, Verification, read_request


def read(request: Request, columns: DataSummary, verification: Verification | None) -> Understanding:
    """What the rules read, with what was asked taken as answered."""
    answers = verification.answers if verification else {}
    return read_request(request.text, columns.hints or None, request.files, answers)
