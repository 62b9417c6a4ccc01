"""The AutoML environment: from a request in plain words and data to a verified model, as readable code.

`palmette.automl("Predict the species", data="iris.csv")` is `palmette.build_model(...)`: a package that is a verb too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.engine import RunResult


class _Environment(ModuleType):
    """This package, which can be called."""

    def __call__(self, *arguments: Any, **options: Any) -> RunResult:
        from palmette import build_model

        return build_model(*arguments, **options)


sys.modules[__name__].__class__ = _Environment
