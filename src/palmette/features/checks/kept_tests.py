"""The team's test files that need not run again: they have passed, and what they can see is the same."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from palmette.engine.actor import Measurement
from palmette.features.passed import PassedBefore
from palmette.features.repository import Checkout, Module
from palmette.sandbox.suite import Suite

_LOOKS_AROUND = re.compile(
    r"\b(importlib|__import__|pkgutil|[ri]?glob|iterdir|listdir|scandir|walk|subprocess|runpy|exec|eval|entry_points|"
    r"pytest_plugins|system|[Pp]open|sys\.modules)\b"
)
"""Ways to see files that the code does not name."""


@dataclass(frozen=True)
class KeptTests:
    """What earlier runs with the same files of the team have passed.

    A test file sees new files if it, a `conftest.py` above it, or code that they import names one of them or its
    folder, or looks around.
    """

    passed: PassedBefore
    repository: Path
    """The team's files without the new ones."""
    files: Mapping[str, str]
    """The new files: texts by path."""

    def found(self) -> tuple[str, ...]:
        """The paths of the test files that are kept."""
        return tuple(path for path in self._test_files if self.passed.find("suite", path, *self._content(path)))

    def keep(self, suite: Suite) -> None:
        """Keeps the files of which every test has passed."""
        for path in self._test_files:
            if _of([path], suite.passed) and not _of([path], (*suite.failed, *suite.skipped)):
                measurement = Measurement(name=path, status="passed")
                self.passed.keep(measurement, "suite", path, *self._content(path))

    @cached_property
    def _checkout(self) -> Checkout:
        return Checkout(self.repository)

    @property
    def _test_files(self) -> Iterator[str]:
        return (module.path for module in self._checkout.modules if module.is_test)

    def _content(self, path: str) -> tuple[tuple[str, str], ...]:
        """The new files that a test file can see: all or none."""
        folders = PurePosixPath(path).parents
        above = [one.path for one in self._checkout.modules if one.stem == "conftest"]
        seen_with = {path, *(one for one in above if PurePosixPath(one).parent in folders)}
        return () if self._seeing.isdisjoint(seen_with) else tuple(self.files.items())

    @cached_property
    def _seeing(self) -> frozenset[str]:
        """The modules that see a new file by themselves, or import one that does."""
        paths = {module.name: module.path for module in self._checkout.modules}
        imports = {
            module.path: {paths[name] for each in module.imports.values() for name in _packages(each) if name in paths}
            for module in self._checkout.modules
        }
        found = {module.path for module in self._checkout.modules if self._names_new_file(module)}
        while more := {path for path, used in imports.items() if path not in found and not used.isdisjoint(found)}:
            found |= more
        return frozenset(found)

    def _names_new_file(self, module: Module) -> bool:
        """Whether code looks around, or names a new file, a package around it, or the folder of a new document."""
        new = [PurePosixPath(file) for file in self.files]
        words = {file.stem for file in new} | {file.parent.name for file in new if file.suffix != ".py"}
        packages = {name for file in self.files for name in _packages(self._checkout.import_name(file))}
        return (
            bool(_LOOKS_AROUND.search(module.text))
            or not words.isdisjoint(re.findall(r"\w+", module.text))
            or not packages.isdisjoint(module.imports.values())
        )


def _packages(name: str) -> Iterator[str]:
    """A dotted name and the packages around it."""
    parts = name.split(".")
    return (".".join(parts[:size]) for size in range(1, len(parts) + 1))


def _of(paths: Sequence[str], tests: Sequence[str]) -> list[str]:
    """The tests (`tests.test_it.test_one`) of files (`tests/test_it.py`)."""
    modules = tuple(path.removesuffix(".py").replace("/", ".") + "." for path in paths)
    return [test for test in tests if test.startswith(modules)]


def without(kept: Sequence[str], suite: Suite) -> Suite:
    """The outcomes without the tests of kept files, which the runner reports as skipped."""
    left_out = _of(kept, suite.skipped)
    return replace(suite, skipped=tuple(test for test in suite.skipped if test not in left_out))
