"""A delivered package in this process: imported under its own name, though several may have the same one."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from palmette.automl.candidates import Blueprint
from palmette.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

_importing = threading.Lock()


@dataclass(frozen=True)
class DeliveredPackage:
    """A package and its fitted model."""

    module: ModuleType
    model: Any
    blueprint: Blueprint

    @classmethod
    def load(cls, folder: Path, blueprint: Blueprint) -> DeliveredPackage:
        """The package of a delivered folder.

        Raises:
            UserError: It is not there any more.
        """
        if not (folder / blueprint.package / "__init__.py").is_file():
            message = f"There is no package {blueprint.package!r} in {str(folder)!r}."
            raise UserError(message, "Deliver it again: palmette resume RUN.", code="no-package")
        with _modules_of(folder, blueprint.package) as module:
            return cls(module, module.load(folder / "model"), blueprint)

    def predictions(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Column `prediction`, and for a classification a column of probabilities for each class."""
        made: pd.DataFrame = self.module.predictions(self.model, rows)
        return made


@contextmanager
def _modules_of(folder: Path, name: str) -> Iterator[ModuleType]:
    """The package of this name in a folder, imported.

    It stays in `sys.modules`, so that its models can be pickled, unless a package of another folder has the name there.
    """
    with _importing:
        others = {key: one for key, one in sys.modules.items() if key == name or key.startswith(f"{name}.")}
        file = folder.resolve() / name / "__init__.py"
        known = others.get(name)
        if known is not None and getattr(known, "__file__", None) == str(file):
            yield known
            return
        spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        for key in others:
            del sys.modules[key]
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            yield module
        except BaseException:
            _remove(name)
            raise
        finally:
            if others:
                _remove(name)
                sys.modules.update(others)


def _remove(name: str) -> None:
    for key in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[key]
