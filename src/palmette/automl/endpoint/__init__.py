"""The delivered project as a folder and as a running service: placed whole or not at all, started, asked.

What it says over HTTP is compared with what its `predict.py` says of the same rows in a file.
"""

from palmette.automl.endpoint.answers import Answer, answers_of, rows_of_requests
from palmette.automl.endpoint.folder import (
    MANIFEST,
    Manifest,
    differing,
    digest,
    place,
    read_manifest,
    require_replaceable,
)
from palmette.automl.endpoint.measure import Asked, Measured, measure, of_tests
from palmette.automl.endpoint.service import Service

__all__ = [
    "MANIFEST",
    "Answer",
    "Asked",
    "Manifest",
    "Measured",
    "Service",
    "answers_of",
    "differing",
    "digest",
    "measure",
    "of_tests",
    "place",
    "read_manifest",
    "require_replaceable",
    "rows_of_requests",
]
