"""The AutoML environment: from a request and data to a verified model with readable code.

The package itself is callable: `palmette.automl(data="iris.csv", target="species")` starts a run.
"""

import inspect
import sys
from types import ModuleType
from typing import Any

from palmette.automl.api import AutoMLOptions, AutoMLRun, automl

__all__ = ["AutoMLRun", "automl"]


class _Environment(ModuleType):
    """Makes this package callable."""

    def __call__(self, *arguments: Any, **options: Any) -> AutoMLRun:
        return automl(*arguments, **options)


def _signature() -> inspect.Signature:
    """The signature of `automl` with each option listed, for help and completion."""
    given = [one for one in inspect.signature(automl).parameters.values() if one.kind is not one.VAR_KEYWORD]
    names = {name: kind.__forward_arg__ for name, kind in AutoMLOptions.__annotations__.items()}
    options = [given[-1].replace(name=name, annotation=kind) for name, kind in names.items()]
    return inspect.Signature([*given, *options], return_annotation=AutoMLRun)


_Environment.__call__.__doc__ = automl.__doc__
__signature__ = _signature()
sys.modules[__name__].__class__ = _Environment
