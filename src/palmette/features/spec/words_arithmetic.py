"""Two features and an operation between them, in words."""

from __future__ import annotations

import re

from palmette.features.spec.words_heads import Reading, Rest


def arithmetic(rest: Rest) -> Reading | None:
    """Two features and an operation between them."""
    forms = (
        (r"(?:the )?ratio (?:of|between) (?P<a>.+?) (?:to|and) (?P<b>.+)", "/"),
        (r"(?:the )?difference (?:between|of) (?P<a>.+?) and (?P<b>.+)", "-"),
        (r"(?:the )?product of (?P<a>.+?) and (?P<b>.+)", "*"),
        (r"(?P<a>.+?) (?:divided by|relative to|as a share of) (?P<b>.+)", "/"),
        (r"(?P<a>.+?) (?:minus|less(?! than\b)) (?P<b>.+)", "-"),
        (r"(?P<a>.+?)(?<!number of)(?<!how many) (?:times|multiplied by) (?P<b>.+)", "*"),
        (r"(?P<a>.+?) plus (?P<b>.+)", "+"),
        (r"(?P<a>\w+) / (?P<b>\w+)", "/"),
        (r"(?P<a>\w+) - (?P<b>\w+)", "-"),
        (r"(?:the )?sum of (?P<a>.+?) and (?P<b>.+)", "+"),
    )
    for pattern, operator in forms:
        found = re.fullmatch(pattern, rest.text, re.I)
        if found:
            left, right = (rest.context.feature(found[side], rest.feature.name) for side in "ab")
            return Reading({"derive": f"{left} {operator} {right}"})
    return None
