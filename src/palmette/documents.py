"""Reading YAML documents into frozen models, with every mistake located by file, line and field.

`Model` is the base of all data that crosses a boundary. `read_document` turns a file into a model or
raises one `InputError` that lists all mistakes. Not promised: comments and formatting are not kept.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Frozen, closed to unknown keys; the docstring under a field is its description."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
