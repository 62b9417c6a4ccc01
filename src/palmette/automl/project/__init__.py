"""The delivered package: written from a blueprint and a selection, then fitted and run in the sandbox."""

from palmette.automl.project.built import ANSWERS, FITTED, MODEL, BuiltPackage, run_program, surroundings
from palmette.automl.project.reading import in_file_form, in_file_names
from palmette.automl.project.writer import write_package

__all__ = [
    "ANSWERS",
    "FITTED",
    "MODEL",
    "BuiltPackage",
    "in_file_form",
    "in_file_names",
    "run_program",
    "surroundings",
    "write_package",
]
