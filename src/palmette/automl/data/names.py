"""Names of columns that every library takes: present, different, without signs that break JSON or trees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from palmette.automl.data.artefacts import Repair

REFUSED = re.compile(r"[\[\]<>{}\":,\\\x00-\x1f\x7f]+")
LONGEST = 120


def good_names(sources: Sequence[object]) -> tuple[list[str], list[Repair]]:
    """A name for each column, and what was changed; the same names always become the same.

    >>> good_names(["a", "a", " b[1] ", ""])[0]
    ['a', 'a_2', 'b_1', 'column_4']
    """
    names: list[str] = []
    repairs: list[Repair] = []
    taken = {_plain(str(source)) for source in sources}
    for number, source in enumerate(sources, 1):
        text = "" if source is None else str(source)
        name = _plain(text) or f"column_{number}"
        code = "" if name == text else "nameless-column" if not _plain(text) else "column-name"
        base, count = name, 2
        while name in names:
            name, code = f"{base}_{count}", "repeated-column-name"
            while name in taken and name not in names:
                count += 1
                name = f"{base}_{count}"
            count += 1
        names.append(name)
        if code:
            why = {
                "nameless-column": f"Column {number} has no name",
                "repeated-column-name": f"The column name {text[:200]!r} occurs again",
                "column-name": f"The column name {text[:200]!r} has blanks or signs that trip libraries",
            }[code]
            repairs.append(Repair(code=code, subject=name, count=1, text=f"{why}; the column is called {name!r}."))
    return names, repairs


def _plain(text: str) -> str:
    if text.startswith("Unnamed: "):
        return ""
    clean = " ".join(REFUSED.sub("_", unicodedata.normalize("NFC", text).strip()).split())
    if clean != text:
        clean = clean.rstrip("_ ") or clean.strip("_ ")
    return clean[:LONGEST].rstrip()
