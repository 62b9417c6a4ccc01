"""Patches of a module: passages of its text, each with what replaces it."""

from __future__ import annotations

import re
from typing import Annotated

from palmette.llm.answers import Code

Patch = Annotated[str, Code("patch")]
_CHANGE = re.compile(r"^<{7} old\n(.*?)^={7}\n(.*?)^>{7} new$", re.MULTILINE | re.DOTALL)


def patched(text: str, patch: str) -> str:
    r"""The text with every change of a patch.

    >>> patched("a = 1\nb = 2\n", "<<<<<<< old\nb = 2\n=======\nb = 3\n>>>>>>> new\n")
    'a = 1\nb = 3\n'

    Raises:
        ValueError: there is no change, or a passage does not occur exactly once.
    """
    changes = _CHANGE.findall(patch)
    if not changes:
        raise ValueError("There is no change in the patch. Write `<<<<<<< old`, `=======` and `>>>>>>> new`.")
    for old, new in changes:
        count = text.count(old) if old else 0
        if count != 1:
            raise ValueError(f"This passage occurs {count} times in the module, not once: {old[:200]!r}")
        text = text.replace(old, new)
    return text
