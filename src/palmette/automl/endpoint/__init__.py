"""The delivered package as a folder and as a running service: placed whole or not at all, started, asked.

Its answers over HTTP are compared with those of its `predict.py` for the same rows in a file.
"""

from palmette.automl.endpoint.answers import Answer, answers_of, rows_of_requests
from palmette.automl.endpoint.checking import Checked, Expected, check_endpoint, of_tests
from palmette.automl.endpoint.folder import (
    MANIFEST,
    Manifest,
    differing,
    digest,
    place,
    read_manifest,
    require_replaceable,
)
from palmette.automl.endpoint.latency import measure_batch, measure_latency
from palmette.automl.endpoint.service import Service

__all__ = [
    "MANIFEST",
    "Answer",
    "Checked",
    "Expected",
    "Manifest",
    "Service",
    "answers_of",
    "check_endpoint",
    "differing",
    "digest",
    "measure_batch",
    "measure_latency",
    "of_tests",
    "place",
    "read_manifest",
    "require_replaceable",
    "rows_of_requests",
]
