"""The repairs of a table while it is read; their sentences stand in `repairs.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from palmette.automl.samples.artefacts import Repair
from palmette.documents import load_plain


@cache
def _sentences() -> dict[str, dict[str, str]]:
    """Sentences with fields in braces, by `changed` or `reported`, and by code."""
    found: dict[str, dict[str, str]] = load_plain(Path(__file__).with_name("repairs.yaml").read_text("utf-8"))
    return found


class Repairs(list[Repair]):
    """In the order in which they were made."""

    def add(self, code: str, subject: str, count: float, **fields: object) -> None:
        """Adds a repair, unless it concerns nothing; `fields` are those of its sentence."""
        if count:
            changed = _sentences()["changed"].get(code, "")
            text = (changed or _sentences()["reported"][code]).format(count=int(count), subject=subject, **fields)
            self.append(Repair(code=code, subject=subject, count=int(count), text=text, changed=bool(changed)))
