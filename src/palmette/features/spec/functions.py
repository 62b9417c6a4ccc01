"""What is known about Spark's SQL functions; the lists are in spark_functions.yaml."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import yaml

from palmette.features.spec.values import SparkType

INTERVAL = SparkType("interval")
"""Of interval literals and of differences of times; no column may have it."""


@functools.cache
def _lists() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("spark_functions.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@functools.cache
def names(kind: str) -> frozenset[str]:
    """The functions of a list, in lower case; the file says what each list means."""
    return frozenset(_lists()[kind].split())


@functools.cache
def known() -> frozenset[str]:
    """Every function that Spark SQL has built in."""
    return names("all") | names("by_grammar")


@functools.cache
def results() -> dict[str, SparkType]:
    """The types of functions that always give the same."""
    return {
        name: INTERVAL if kind == "interval" else SparkType.parse(kind)
        for kind, listed in _lists()["results"].items()
        for name in listed.split()
    }
