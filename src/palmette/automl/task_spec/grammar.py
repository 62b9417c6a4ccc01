"""Pattern parts for the rules, such as `{column}`, `{metric}` and `{compare}`, for a sentence and its data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from palmette.automl.task_spec.amounts import NAMES, amount_pattern
from palmette.automl.task_spec.request import DataSummary, key_of, name_words
from palmette.automl.task_spec.vocabulary import names_pattern, vocabulary

_SAME_LENGTH = {ord(char): "'" for char in "‘’‚‛´"} | {ord(char): '"' for char in "“”„‟"}
_SAME_LENGTH |= {ord(char): "-" for char in "‐‑‒–—−"} | {ord(char): " " for char in "\u00a0\u2007\u202f\t"}
_DOTS = re.compile(r"\b(?:e\.g\.|i\.e\.|vs\.|max\.|min\.|approx\.|incl\.)", re.I)
_LIST = r"(?:\s*,\s*(?:and\s+|or\s+|nor\s+)?|\s+(?:and|or|nor|&)\s+|\s*/\s*)"
_QUOTED = "\"[^\"\\n]{1,80}\"|'[^'\\n]{1,80}'|`[^`\\n]{1,80}`"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
MONTHS = tuple(_MONTHS.casefold().split("|"))


def plain_text(text: str) -> str:
    """Normalizes quotes, hyphens, blanks, and dots in abbreviations; the length stays the same."""
    return _DOTS.sub(lambda found: found[0].replace(".", "_"), text.translate(_SAME_LENGTH))


@cache
def _parts() -> dict[str, str]:
    """Parts in which a blank matches any white space: vocabulary, numbers, values and comparisons."""
    known = vocabulary()
    comparisons = "|".join(sorted(sum(known.comparisons.values(), ()), key=len, reverse=True))
    plain, percent, time, size = (amount_pattern(unit) for unit in ("", "percent", "seconds", "bytes"))
    numbers = {"score": f"{percent}|{plain}", "plain": plain, "percent": percent, "time": time, "bytes": size}
    other = f"{known.parts['measures']}|{'|'.join(known.short_words)}"
    return {
        **{name: f"(?:{pattern})" for name, pattern in known.parts.items()},
        **{name: f"(?P<{name}>{pattern})" for name, pattern in numbers.items()},
        "modifiers": rf"(?P<modifiers>(?:(?!(?:{other})\b)[a-z][a-z'-]* ){{1,2}})",
        "value": rf"(?P<value>{_QUOTED}|(?!is\b)[\w-]+)",
        "quoted": f"(?P<value>{_QUOTED})",
        "date": rf"(?P<date>(?:19|20)\d\d(?:-\d\d)?(?:-\d\d)?|(?:{_MONTHS}) (?:19|20)\d\d)",
        "number": rf"(?:\d+|{'|'.join(name for name in NAMES if NAMES[name] >= 2)})",
        "compare": f"(?:of )?(?P<compare>{comparisons})",
    }


class Grammar:
    """Compiles patterns for a sentence; leaves out columns whose name does not occur in it."""

    def __init__(self, plain: str, data: DataSummary) -> None:
        self.data, known = data, vocabulary()
        squeezed = re.sub(r"[\s_-]+", "", plain.casefold())
        every = (name for column in data.columns for name in dict.fromkeys((column.name, column.source)))
        named = (name for name in every if name and key_of(name) in squeezed)
        column = _alternatives(sorted(named, key=len, reverse=True))
        metric = names_pattern(part for name, one in known.metrics.items() for part in (name, *one.names))
        learner = names_pattern(part for name, one in known.learners.items() for part in (name, *one))
        before, after = (known.parts[name].replace(" ", r"\s+") for name in ("a_learner", "learner_noun"))
        a_learner = rf"(?:{before}){{0,3}}(?:{learner})(?!\w)(?:{after})?"
        preference = names_pattern(one for names in known.prefer.values() for one in names)
        self.column = re.compile(column, re.I)
        self.metric, self.learner = (re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.I) for one in (metric, learner))
        self._names = {
            "column": rf"(?P<column>{column})",
            "columns": rf"(?P<columns>{column}(?:{_LIST}(?:the\s+)?(?:columns?\s+)?{column}){{0,60}})",
            "metric": rf"(?P<metric>(?<!\w)(?:{metric})(?!\w))",
            "parenthesis": rf"(?:\s*\((?:{metric})\)|\s+or\s+(?:the\s+)?(?:{metric})(?!\w))?",
            "learners": rf"(?P<learners>{a_learner}(?:{_LIST}{a_learner}){{0,20}})",
            "preferences": rf"(?P<preferences>(?:{preference})(?:{_LIST}(?:{preference})){{0,6}})",
        }

    def compiled(self, pattern: str) -> re.Pattern[str]:
        """Compiles a rule's pattern for this sentence."""
        for name, part in _parts().items():
            pattern = pattern.replace(f"{{{name}}}", part)
        pattern = pattern.replace(" ?", r"\s*").replace(" ", r"\s+")
        for name, part in self._names.items():
            pattern = pattern.replace(f"{{{name}}}", part)
        return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I)

    def columns_in(self, text: str) -> tuple[str, ...] | None:
        """Returns the columns listed in a text, or None if a name is ambiguous."""
        found = [self.named(written) for written in self.column.findall(text)]
        return None if None in found else tuple(dict.fromkeys(name for name in found if name))

    def named(self, written: str) -> str | None:
        """Returns the column of a written name, ignoring case, blanks and plurals; None unless there is exactly one."""
        bare = written.strip("\"'`")
        if (column := self.data.column(bare)) is not None:
            return column.name
        keys = {key_of(bare), *(key_of(bare)[: -len(end)] for end in ("s", "es") if key_of(bare).endswith(end))}
        found = {one.name for one in self.data.columns if keys & {key_of(one.name), key_of(one.source)}}
        return found.pop() if len(found) == 1 else None


def _alternatives(names: Iterable[str]) -> str:
    """Returns a pattern for column names, as written or as words; names that are common words match only in quotes."""
    parts = []
    for name in names:
        words = name_words(name)
        loose = r"[\s_-]?".join(map(re.escape, words)) if re.fullmatch(r"[\w\s-]+", name) else ""
        plural = "(?:e?s)?" if loose and len(words[-1]) > 2 and words[-1].isalpha() and words[-1][-1] != "s" else ""
        parts += [rf"{quote}{re.escape(name)}{quote}" for quote in "\"'`"]
        if name.casefold() not in vocabulary().short_words:
            parts.append(rf"(?<![\w-])(?:{re.escape(name)}{f'|{loose}{plural}' * bool(loose)})(?!-?\w|'s\b|\.\w)")
    return f"(?:{'|'.join(parts)})" if parts else r"(?!)"
