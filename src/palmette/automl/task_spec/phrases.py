"""Patterns of the rules for a sentence and its data, and the fields that their matches set.

A rule has parts such as `{column}`, `{metric}` and `{compare}`. A match sets nothing if its words are ambiguous.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, get_args

from palmette.automl.kinds import file_kinds
from palmette.automl.task_spec.amounts import NAMES, amount_pattern, number_of, parse_amount
from palmette.automl.task_spec.request import DataSummary, key_of, name_words
from palmette.automl.task_spec.spec import Constraint, LearnerWish, Level, Quantity, Threshold
from palmette.automl.task_spec.task_file import comparison_of, score_limit
from palmette.automl.task_spec.vocabulary import Rule, learner_named, metric_named, names_pattern, vocabulary

_SAME_LENGTH = {ord(char): "'" for char in "‘’‚‛´"} | {ord(char): '"' for char in "“”„‟"}
_SAME_LENGTH |= {ord(char): "-" for char in "‐‑‒–—−"} | {ord(char): " " for char in "\u00a0\u2007\u202f\t"}
_DOTS = re.compile(r"\b(?:e\.g\.|i\.e\.|vs\.|max\.|min\.|approx\.|incl\.)", re.I)
_LIST = r"(?:\s*,\s*(?:and\s+|or\s+|nor\s+)?|\s+(?:and|or|nor|&)\s+|\s*/\s*)"
_QUOTED = "\"[^\"\\n]{1,80}\"|'[^'\\n]{1,80}'|`[^`\\n]{1,80}`"
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
MONTHS = tuple(_MONTHS.casefold().split("|"))
Values = Mapping[str, Any] | None
_VERBS = {"classi": "classification", "regres": "regression", "foreca": "forecasting"}  # by how a verb begins
_PERCENTILE = re.compile(r"(?:\bp\d\d|percentile|median|average|mean|worst|peak|%\s+of|per ?cent of)\s*$", re.I)
_FORECASTING = re.compile(r"\bforecast|\b(?:next|coming|following|ahead|horizon)\b", re.I)
_CLUSTERING = re.compile(r"\b(?:cluster|segment|unsupervised|group\b[^.]{1,60}\binto\b)", re.I)
_ONE = {"labels": _CLUSTERING, "forecast.series": _FORECASTING, "time": _FORECASTING, "group_by": re.compile("")}
_ABOUT = re.compile(r"(?:~|\b(?:and|or|than|most|least|about|around|roughly|m(?:ax|in)(?:imum)?|not|to|the))\s*$", re.I)
# Continuations that change a number, and numbers whose point may separate decimals or thousands.
_GOES_ON = re.compile(r"\s*(?:and (?:a|one) (?:half|quarter)|(?:to|-|plus|times|or so)\b|/\d|\+-|\d)", re.I)
_AMBIGUOUS = re.compile(r"(?<![\d.])[1-9]\d{0,2}\.\d{3}(?!\d)")


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
        "date": rf"(?P<date>(?:19|20)\d\d(?:-\d\d)?(?:-\d\d)?(?!\s(?:rows?|values?)\b)|(?:{_MONTHS}) (?:19|20)\d\d)",
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
        longest = sorted(named, key=len, reverse=True)
        column = _alternatives(longest)
        metric = names_pattern(part for name, one in known.metrics.items() for part in (name, *one.names))
        learner = names_pattern(part for name, one in known.learners.items() for part in (name, *one))
        before, after = (known.parts[name].replace(" ", r"\s+") for name in ("a_learner", "learner_noun"))
        a_learner = rf"(?:{before}){{0,3}}(?:{learner})(?!\w)(?:{after})?"
        preference = names_pattern(one for names in known.prefer.values() for one in names)
        self.column = re.compile(column, re.I)
        self.metric, self.learner = (re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.I) for one in (metric, learner))
        self.next_metric = re.compile(rf"{_LIST}(?:the\s+)?(?:{metric})(?!\w)", re.I)
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
        found = [self.data.named(written) for written in self.column.findall(text)]
        return None if None in found else tuple(dict.fromkeys(name for name in found if name))


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


@dataclass(frozen=True)
class Phrase:
    """Words of the sentence and the values that they set; nested fields have dotted names."""

    values: tuple[tuple[str, Any], ...]
    start: int = 0
    end: int = 0
    rule: Rule | None = None
    ignored: tuple[int, int] = (0, 0)
    """The part of it that is listed as unread."""


class Match(NamedTuple):
    """A match of a rule's pattern, and the text around it."""

    rule: Rule
    found: re.Match[str]
    words: str
    before: str
    after: str
    plain: str
    grammar: Grammar

    def get(self, name: str) -> str:
        """Returns the text of a group, or '' if the pattern has no such group."""
        return self.found.groupdict().get(name) or ""

    def has(self, name: str) -> bool:
        return self.found.groupdict().get(name) is not None

    @property
    def is_of_learner(self) -> bool:
        """Whether its first word belongs to a learner's name, as in `logistic regression`."""
        start = self.found.start()
        return any(one.start() <= start < one.end() for one in self.grammar.learner.finditer(self.plain))

    @property
    def metric(self) -> str:
        """The metric that it names; empty if it names several, or if a column has the same name."""
        named = {metric_named(one[0]) for one in self.grammar.metric.finditer(self.words)}
        return named.pop() if len(named) == 1 and not self.grammar.data.named(self.get("metric")) else ""


def _constraint(match: Match) -> Values:
    metric, compare = match.metric, match.get("compare")
    is_first = match.found.start("metric") == match.found.start()
    qualified = is_first and re.search(rf"\b{vocabulary().guards['qualified']}", match.before, re.I)  # `top-3 accuracy`
    if not metric or qualified or _GOES_ON.match(match.after) or _AMBIGUOUS.search(match.get("score")):
        return None
    comparison = comparison_of(compare, vocabulary().metrics[metric].better) if compare else None
    limit = score_limit(metric, comparison, match.get("score"), match.words)
    if limit is None or not (comparison or match.has("reach")):
        return None
    return {"constraints": (limit,), **_positive(match)}


def _limit(match: Match) -> Values:
    quantity: Quantity = next(name for name in get_args(Quantity) if match.has(name))
    comparison = comparison_of(match.get("compare") or "<=")
    amount = parse_amount(match.get("time") or match.get("bytes") or match.get("plain"))
    other = _PERCENTILE.search(match.before) or _GOES_ON.match(match.after) or _AMBIGUOUS.search(match.words)
    if amount is None or comparison not in ("<=", "<") or other or match.grammar.data.named(match.get(quantity)):
        return None
    limit = Constraint(quantity=quantity, comparison=comparison, value=amount.value, words=match.words)
    return {"constraints": (limit,)} if quantity != "latency" or amount.value <= 60 else None  # not `within 3 days`


def _threshold(match: Match) -> Values:
    known = match.grammar.data.column(match.grammar.data.named(match.get("column")) or "")
    amount, comparison = parse_amount(match.get("plain")), comparison_of(match.get("compare"))
    goes_on = re.match(r"\s*(?:or|and)\b", match.after) or _GOES_ON.match(match.after) or _AMBIGUOUS.search(match.words)
    if known is None or known.kind != "number" or amount is None or comparison is None or goes_on:
        return None
    made = Threshold(column=known.name, comparison=comparison, value=amount.value, words=match.words)
    return {"threshold": made, "target": (known.name,), "problem": "classification"}


def listed_columns(match: Match) -> Values:
    listed = match.get("columns") or match.get("column")
    names = match.grammar.columns_in(listed)
    loose = match.words.startswith(listed) and "," in listed and not re.search(r"\b(?:and|or|nor)\b", listed, re.I)
    if not names or loose:  # names before a verb, separated by commas only, may belong to another clause
        return None
    field, column = match.rule.field, match.grammar.data.column(names[0])
    is_time = column is not None and column.kind == "datetime"
    if field == "group_by" and is_time and not re.match(r"[^.;]*\b(?:both|same)\b", match.after):
        return {"time": names[0], "split.by": "time"}
    if field in _ONE:
        return {field: names[0]} if _ONE[field].search(match.plain) and (is_time or field != "time") else None
    is_other = field == "exclude" and match.grammar.column.search(match.words.partition(listed)[2])
    return None if is_other else {field: names}  # `it` may be the other column


def _target(match: Match) -> Values:
    values, verb = dict(listed_columns(match) or {}), match.words[:6].casefold()
    column = match.grammar.data.column(next(iter(values.get("target", ())), ""))
    if column is None or match.is_of_learner or match.grammar.column.search(match.get("modifiers")):
        return None
    is_number = column.kind == "number" and column.distinct != 2
    is_comparison = is_number and re.search(r"\b(?:whether|if)\b", match.words, re.I)
    is_input = verb == "classi" and re.match(r"\s*(?:into|by)\b", match.after, re.I)
    is_other = match.has("amount") and not is_number  # such as the number of customers, of a column with their names
    is_content = column.kind in ("text", *file_kinds()) and not re.match("target|label", verb)
    if is_comparison or is_input or is_other or is_content:
        return None  # an unread threshold, or a column that rows are grouped by
    second = re.match(r"\s*(?:and|or|&)\s+(?:then\s+|also\s+|the\s+)*", match.after, re.I)
    if second and (named := match.grammar.column.match(match.after, second.end())):
        values["target"] += match.grammar.columns_in(named[0]) or ()
    if match.has("learners"):
        values |= {"learners": _wishes(match, "required")}
    return values | ({"problem": _VERBS[verb]} if verb in _VERBS else {})


def _split(match: Match) -> Values:
    if re.match(r"\s*of\b", match.after, re.I) or (match.has("folds") and _ABOUT.search(match.before)):
        return None  # a share of something other than the rows, or an approximate number
    ways = {"by_time": "time", "date": "time", "stratified": "stratified", "random": "random"}
    made: dict[str, Any] = dict.fromkeys(["split.by"], next((ways[name] for name in ways if match.has(name)), ""))
    if match.has("column"):
        name = match.grammar.data.named(match.get("column"))
        made |= {"time": name} if made["split.by"] else {"split.by": "column", "split.column": name}
    if amount := parse_amount(match.get("percent")):
        made["split.test_share"] = amount.value / 100 if 0 < amount.value < 100 else None
    if match.has("train"):
        parts = int(match.get("train")), int(match.get("test"))
        made["split.test_share"] = parts[1] / 100 if sum(parts) == 100 else None
    if match.has("count"):
        made["split.test_from"] = f"P{number_of(match.get('count')):g}{match.get('unit')[0].upper()}"
    if date := match.get("date").casefold():
        month, _, year = date.partition(" ")
        made["split.test_from"] = f"{year}-{MONTHS.index(month) + 1:02d}" if year else date
    if match.has("folds"):
        folds = int(number_of(match.get("folds")))
        made["split.folds"] = folds if 2 <= folds <= 20 else None
    return None if None in made.values() else {name: value for name, value in made.items() if value}


def _metric(match: Match) -> Values:
    another = re.compile(r"\s*(?:between\b|at\b|@|of (?:the )?log)", re.I).match(match.plain, match.found.end("metric"))
    return {"metric": match.metric, **_positive(match)} if match.metric and not another else None


def _positive(match: Match) -> Mapping[str, Any]:
    return {"positive": match.get("value").strip("\"'`")} if match.has("value") else {}


def _learners(match: Match) -> Values:
    open_end = match.rule.level == "required" and re.match(r"\s*,?\s*(?:or|and/or)\b", match.after, re.I)
    return None if open_end or match.rule.level is None else {"learners": _wishes(match, match.rule.level)}


def _wishes(match: Match, level: Level) -> tuple[LearnerWish, ...]:
    names = dict.fromkeys(learner_named(one[0]) for one in match.grammar.learner.finditer(match.get("learners")))
    return tuple(LearnerWish(name=name, level=level, words=match.words) for name in names if name)


def _prefer(match: Match) -> Values:
    named, text = vocabulary().prefer.items(), match.get("preferences")
    return {"prefer": tuple(one for one, names in named if re.search(rf"\b(?:{names_pattern(names)})\b", text, re.I))}


def _clusters(match: Match) -> Values:
    if not _CLUSTERING.search(match.plain) or _ABOUT.search(match.before):
        return None
    counts = {name: number_of(text) for name, text in match.found.groupdict().items() if text}
    sound = all(value >= 2 and value == int(value) for value in counts.values())
    return {f"clusters.{name}": int(value) for name, value in counts.items()} if sound else None


def _problem(match: Match) -> Values:
    named = next(name for name, text in match.found.groupdict().items() if text)
    return None if match.is_of_learner else {"problem": named}


def _unknown(match: Match) -> Values:
    name = match.get("missing").strip("\"'`")
    return {"unknown": (name,)} if match.grammar.data.columns and match.grammar.data.named(name) is None else None


def _budget(match: Match) -> Values:
    amount = parse_amount(match.get("time"))
    return {"budget": amount.value} if amount else None


def _horizon(match: Match) -> Values:
    return {"forecast.horizon": f"{number_of(match.get('steps') or '1'):g} {match.get('step') or 'steps'}"}


MEANINGS: Mapping[str, Callable[[Match], Values]] = {
    "threshold": _threshold, "constraint": _constraint, "limit": _limit, "budget": _budget, "split": _split,
    "positive": _positive, "metric": _metric, "learners": _learners,
    "ensemble": lambda match: {"ensemble": not (match.has("one") or match.has("only"))}, "prefer": _prefer,
    "clusters": _clusters, "horizon": _horizon, "problem": _problem, "target": _target, "unknown": _unknown,
}  # fmt: skip
"""Interpreters by field: each returns the values of a match, or None if it is ambiguous. Other fields list columns."""
