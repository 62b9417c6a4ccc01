"""The report of a study: tables and plots as the paper's, with its figures beside."""

from palmette.bench.featbench.report.report import blocks_of, write_report

__all__ = ["blocks_of", "write_report"]
