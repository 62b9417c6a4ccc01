"""Rows that belong together: what must not be in training and in testing at once."""

from __future__ import annotations

import re
from typing import NamedTuple

from palmette.automl.requirements.columns import Columns, exact, rank, split_name
from palmette.automl.requirements.text import Span, Text

_E = (
    r"(?P<entity>(?!(?:the|this|that|it|data|rows?|records?|time|date|chance|random|year|month|other|new|two|both)\b)"
    r"[A-Za-z_]\w*)"
)
_ROWS = r"(?:rows|records|data|entries|lines|samples|observations|measurements|visits|\w+s)"
_BOTH = (
    r"(?:(?:in|on|to) (?:both|the train\w*(?: set| part| data)? (?:and|as well as)|train\w* and|more than one|several|"
    r"different)|on either side|at once|(?:be|get) (?:split|torn)|spread)"
)
_NOT = r"(?:\b(?:not|never|cannot)|n't)\b"
_FORMS = (
    rf"\bno (?:single |one )?{_E}\b[^.;]{{0,30}}\b{_BOTH}",
    rf"\b(?:no|nobody|nothing|no one)\b[^.;]{{0,20}}\bsame {_E}\b[^.;]{{0,20}}\b{_BOTH}",
    rf"\bno \w+ (?:of|from|in) an? {_E} (?:that|which)[^.;]{{0,20}}\b(?:test|train)",
    rf"\b(?:the )?same {_E}\b(?! and)[^.;]{{0,25}}{_NOT}[^.;]{{0,40}}\b(?:{_BOTH}|part|set|"
    rf"test|train|fold)",
    rf"\b(?:do not|don't|never|not) (?:let|have|put|allow|mix|split|spread) (?:{_ROWS} (?:of|from) )?(?:the |one |a |"
    rf"any )?(?:same "
    rf"|single )?{_E}\b[^.;]{{0,25}}\b(?:{_BOTH}|across)",
    rf"\b(?:test|evaluat|valid|check|measur|scor)\w*(?: \w+){{0,3}}? on (?:the )?(?:other|new|unseen|different|"
    rf"unknown|held-?out) {_E}\b",
    rf"\b(?:test|evaluat|valid|check|measur|scor)\w*(?: \w+){{0,3}}? on (?:the |those |only )?{_E} (?:that |which |"
    rf"who |whom )?"
    rf"(?:it|the model|(?:were|was|are|is))\b[^.;]{{0,12}}{_NOT}",
    rf"\b{_E} in (?:the )?(?:test|hold-?out|evaluation|validation)\w*(?: set| part| data| rows)?[^.;]{{0,20}}\b"
    r"(?:new|unseen|different|unknown|others|never (?:been )?seen|not (?:been )?seen)\b",
    rf"\b(?:split|group|fold|divid|partition|cut)\w*(?: (?:the )?(?:rows|data|it|them|folds?|k-?folds?|cv|train/test))?"
    rf" (?:by|per|along|over|on)(?: the)? {_E}\b",
    rf"\b(?:an?|any) {_E} (?:in|of|from) (?:the )?train\w*\b[^.;]{{0,15}}{_NOT}[^.;]{{0,20}}\b(?:test|hold)",
    rf"\bkeep (?:all )?(?:the )?{_ROWS} (?:of|from|by) (?:the same|an?|one|each|every) {_E} (?:together|on one side|"
    rf"in one)",
    rf"\b{_ROWS} (?:of|from|by) (?:the same|an?|one|each|every) {_E}\b[^.;]{{0,20}}\b(?:together|on (?:one|"
    rf"the same) side|"
    r"in (?:one|the same) (?:part|fold|set))",
    rf"\bleave[- ](?:one|1)[- ]{_E}[- ]out",
    r"\bgroup(?:ed)?[ -]?(?:k-?fold|split|cv)\b(?: (?:by|on|over|with)(?: the)? (?P<entity>\w+))?",
)
_LIKELY = 0.5


class Together(NamedTuple):
    """Where a request wants the rows of somebody or something kept on one side, and the column that tells them."""

    span: Span
    column: str


def together(text: Text, columns: Columns, dividing: bool = True) -> Together | None:
    """The wish for a division by groups; its column is empty where none fits.

    Args:
        dividing: Whether groups are of a division at all; for a clustering they are what is wanted.
    """
    for pattern in _FORMS if dividing else ():
        for match in re.finditer(pattern, text.plain, re.I):
            return Together(Span(match.start(), match.end()), _column(match["entity"] or "", columns))
    return None


def _column(entity: str, columns: Columns) -> str:
    if not entity or (name := exact(entity, columns)) is not None:
        return name or "" if entity else ""
    marks = [one for one in columns if split_name(one)[-1] in ("id", "no", "nr", "number", "code", "key", "name")]
    for among in (marks, list(columns)):
        best = rank(entity, {one: columns[one] for one in among})
        if best and best[0].score >= _LIKELY:
            return best[0].column
    return ""
