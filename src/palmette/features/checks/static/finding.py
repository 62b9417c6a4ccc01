"""What a static rule yields."""

from __future__ import annotations

import ast
from typing import NamedTuple


class Finding(NamedTuple):
    """A place in the script that breaks a rule."""

    code: str
    node: ast.AST
    message: str
