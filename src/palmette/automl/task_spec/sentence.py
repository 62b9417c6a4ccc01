"""Reads a request in plain English by the rules of `vocabulary.yaml`, and lists the words that it does not understand.

Nothing is guessed. A match is dropped if words of its clause are not understood, if it is quoted, negated or withdrawn,
if its sentence is a condition, a question or about the past or others, or if two matches contradict each other. Words
outside all matches are `unread`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from palmette.automl.task_spec.phrases import MEANINGS, Grammar, Match, Phrase, listed_columns, plain_text
from palmette.automl.task_spec.request import DataSummary, SentenceReading
from palmette.automl.task_spec.spec import FieldSource, TaskSpec
from palmette.automl.task_spec.vocabulary import Rule, names_pattern, vocabulary

_POLITE = re.compile(r"[\W]*(?:please |(?:can|could|would|will) you )", re.I)
_SENTENCE = re.compile(r"[.!?;\n]+(?=\s|$)|(?P<item>\n(?=(?:[-*]|\d+[.)]) ))")
_CLAUSE = re.compile(r"[,:()]|\b(?:but|while|whereas|so(?! (?:that|far|much|many)\b))\b", re.I)
_REASON = re.compile(r"\b(?:because|so that|(?:since|as) (?:it|they|we|I))\b", re.I)
_END = re.compile(rf"{_CLAUSE.pattern}|\b(?:and|which)\b|{_REASON.pattern}", re.I)
_QUOTE = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
_JOINED = re.compile(r"\b(?:and|or|of|about)(?: the| a| an| our)?\s*$", re.I)  # continues the noun before it
_UNIT = re.compile(r"\s*(?!(?:[mµun]s|hundred|dozen)\b)[^\W\d]+\s*")
_GOALS = frozenset({"problem", "target", "threshold"})
_TURN = re.compile(r"\bbut\b|,\s*(?:so|therefore|hence|please|then|only)\b", re.I)  # ends a negation
_WORD = re.compile(r"[^\W_][\w'-]*|[<>]=?|[≤≥%]")
_NO_FIELDS = frozenset({"unmet", "given", "unknown"})
_HORIZON = "forecast.horizon"  # horizons in different units may be the same
_SEVERAL = _NO_FIELDS | {_HORIZON, "target", "exclude", "include", "known_after", "constraints", "learners", "prefer"}
_UNMET = Rule(field="unmet", loose=True)


@cache
def _guard(name: str) -> re.Pattern[str]:
    """Returns a pattern for the words listed under a name; `after_...` guards also match punctuation and the end."""
    words = rf"(?:{vocabulary().guards[name]})\b"
    start = {"after": r"\s*(?:[.,;:!?()\n]|$|{})", "command": r"\W*{}"}.get(name.partition("_")[0], r"\b{}")
    return re.compile(start.replace("{}", words), re.I)


@lru_cache(maxsize=8)
def read_sentence(text: str, data: DataSummary, files: tuple[str, ...] = ()) -> SentenceReading:
    """Reads what a sentence states with certainty, given the columns of the data."""
    reader = _Reader(text, data)
    reader.match(files)
    while reader.drop():
        pass
    return reader.reading()


def uncovered(text: str, data: DataSummary, quotes: Sequence[str]) -> tuple[str, ...]:
    """Returns the parts of a sentence outside some quotations that contain a number, a negation or a known name."""
    reader = _Reader(text, data)
    for quote in quotes:
        reader.claim(Phrase(()), r"\s+".join(map(re.escape, plain_text(quote).split())) or r"(?!)")
    grammar = reader.grammar
    telling = (re.compile(r"\d|[\"'`]\w"), _guard("negation"), grammar.column, grammar.metric, grammar.learner)
    return tuple(one for one in reader.unread() if any(pattern.search(plain_text(one)) for pattern in telling))


class _Reader:
    """The state of reading one sentence."""

    def __init__(self, text: str, data: DataSummary) -> None:
        self.text, self.plain = text, plain_text(text)
        self.grammar = Grammar(self.plain, data)
        self.found: list[Phrase] = []
        self.filler = {word.casefold() for word in vocabulary().filler}
        ends = [one.start() for one in _SENTENCE.finditer(self.plain) if not one["item"] or ":\n" not in self.plain]
        self.sentences = list(zip([0, *ends], [*ends, len(text)], strict=True))
        self.void = max((found.start() for found in _guard("withdrawn").finditer(self.plain)), default=0)

    def match(self, files: Sequence[str]) -> None:
        """Applies the rules in order; later rules cannot match words that earlier ones used."""
        for rule in vocabulary().rules:
            for pattern in rule.patterns:
                self._apply(rule, self.grammar.compiled(pattern))
        for one in vocabulary().unmet:
            self.claim(Phrase((("unmet", (one.reason,)),), rule=_UNMET), names_pattern(one.words))
        self.claim(Phrase((("given", ()),)), names_pattern([*vocabulary().given, *map(re.escape, files)]))

    def claim(self, phrase: Phrase, pattern: str) -> None:
        """Marks free occurrences of a pattern as a phrase with fixed values."""
        for found in re.finditer(rf"(?<![\w/])(?:{pattern})(?!\w)", self.plain, re.I):
            if self._is_free(*found.span()):
                self.found.append(Phrase(phrase.values, *found.span(), phrase.rule))

    def _apply(self, rule: Rule, pattern: re.Pattern[str]) -> None:
        place = 0
        while (found := pattern.search(self.plain, place)) is not None:
            place = found.start() + 1
            if self._is_free(*found.span()) and self._ends(rule, *found.span()):
                before, after = self.plain[: found.start()], self.plain[found.end() :]
                match = Match(rule, found, found[0], before, after, self.plain, self.grammar)
                if values := MEANINGS.get(rule.field, listed_columns)(match):
                    ignored = found.span("modifiers") if match.has("modifiers") else (0, 0)
                    self.found.append(Phrase(tuple(values.items()), *found.span(), rule, ignored))
                    place = found.end()

    def _is_free(self, start: int, end: int) -> bool:
        return all(end <= one.start or one.end <= start for one in self.found)

    def _ends(self, rule: Rule, start: int, end: int) -> bool:
        """Returns whether a match ends where a name can end."""
        is_followed = any(one.start >= end and not self.plain[end : one.start].strip() for one in self.found)
        last_word = max(start, self.plain.rfind(" ", start, end) + 1)
        is_noun = not _guard("generic").match(self.plain, last_word) and _guard("after_noun").match(self.plain, end)
        return not rule.after or is_followed or bool(is_noun)

    def drop(self) -> bool:
        """Drops doubtful matches, or else contradictory ones; returns whether there were any."""
        free = self._unclaimed()
        dropped = {one for one in self.found if one.rule is not None and self._is_doubtful(one, one.rule, free)}
        dropped = dropped or self._contradictory()
        self.found = [one for one in self.found if one not in dropped]
        return bool(dropped)

    def _contradictory(self) -> set[Phrase]:
        """Returns the matches that set a field to different values; a target takes precedence over clustering."""
        given: dict[str, dict[Any, list[Phrase]]] = {}
        for one in self.found:
            for field, value in one.values:
                given.setdefault(field, {}).setdefault(value, []).append(one)
        several = (by_value for field, by_value in given.items() if len(by_value) > 1 and field not in _SEVERAL)
        clustering = given.get("problem", {}).get("clustering", []) if "target" in given else []
        return {*clustering, *(one for by_value in several for phrases in by_value.values() for one in phrases)}

    def _is_doubtful(self, one: Phrase, rule: Rule, free: str) -> bool:
        """Returns whether the words around a match may change or withdraw its meaning."""
        start, end = next(part for part in self.sentences if part[0] <= one.start < max(part[1], part[0] + 1))
        before, after = free[start : one.start], free[one.end : end]
        lead, tail, turned = _CLAUSE.split(before)[-1], _END.split(after)[0], _TURN.split(before)[-1]
        asks = self.plain[end : end + 1] == "?" and _POLITE.match(self.plain, start) is None
        may_go_on = rule.loose or (self.plain[one.end - 1].isdigit() and _UNIT.fullmatch(tail))
        doubts, scope = ("doubt", "elsewhere"), one.end + len(_REASON.split(after)[0])
        metric, command, heading = self.grammar.metric, _guard("command"), before.rpartition(":")[0]
        commands = command.match(heading) or command.match(self.plain, start + len(heading))
        return (
            one.end <= self.void
            or any(quote.start() < one.start and one.end < quote.end() for quote in _QUOTE.finditer(self.plain))
            or not self._is_led(one, rule, lead)
            or (self._telling(heading) and not commands)
            or (self._telling(tail) and (asks or not may_go_on))
            or _guard("elsewhere").search(turned) is not None
            or _guard("negation").search(lead if rule.free else turned) is not None
            or (not rule.free and (asks or any(_guard(name).search(free, start, scope) for name in doubts)))
            or (rule.field == "metric" and (metric.search(lead) or self.grammar.next_metric.match(after)) is not None)
            or (rule.field == "learners" and self.grammar.learner.search(lead) is not None)
            or (rule.negative and any(self._is_chained(one, other) for other in self.found if other is not one))
        )

    def _is_led(self, one: Phrase, rule: Rule, lead: str) -> bool:
        """Returns whether the words of its clause before a match are understood, or follow a goal or a command."""
        start, command = one.start - len(lead), _guard("command")
        commands = command.match(self.plain[start : one.start]) and (
            not _JOINED.search(lead) or command.match(self.plain, one.start)
        )
        goals = (other for other in self.found if other.rule is not None and other.rule.field in _GOALS)
        follows = commands or any(start <= goal.start < one.start for goal in goals)
        return not self._telling(lead) or (bool(follows) and not rule.negative)  # not `houses without agents`

    def _telling(self, text: str) -> list[re.Match[str]]:
        """Returns the words of a text that mean something by themselves."""
        return [word for word in _WORD.finditer(text) if word[0].casefold() not in self.filler]

    def _is_chained(self, one: Phrase, other: Phrase) -> bool:
        """Returns whether another negation is in the same clause."""
        between = self.plain[min(one.end, other.end) : max(one.start, other.start)]
        return other.rule is not None and other.rule.negative and not re.search(r"[,;:.!?]|\b(?:and|or)\b", between)

    def _unclaimed(self, mark: str = " ") -> str:
        """Returns the text with marks in place of the words already read."""
        chars = list(self.plain)
        for one in self.found:
            chars[one.start : one.end] = mark * (one.end - one.start)
        return "".join(chars)

    def reading(self) -> SentenceReading:
        """Returns the matches as a partial task."""
        named, missing = self._all("target"), tuple(self._all("unknown"))
        if len(named) > 1:
            self.found = [one for one in self.found if "target" not in dict(one.values)]
        wishes = [one for one in self.found if one.rule is _UNMET]
        unmet = tuple(f"{self.text[one.start : one.end]!r}: {one.values[0][1][0]}" for one in wishes)
        task = self._task().model_copy(update={"unmet": unmet, "unread": tuple(self.unread())})
        candidates = sorted(named, key=self.grammar.data.names.index) if len(named) > 1 else ()
        return SentenceReading(task, tuple(candidates), missing, "" if named else self._refused())

    def _refused(self) -> str:
        """Returns the unsupported problem that a sentence states, or ''; ignores negations and words that are read."""
        for one in vocabulary().refused:
            found = re.search(rf"\b(?:{'|'.join(one.words)})\b", self.plain, re.I)
            if found and self._is_free(*found.span()):
                before = _CLAUSE.split(self.plain[: found.start()])[-1]
                if not _guard("negation").search(before):
                    return one.name
        return ""

    def _all(self, field: str) -> list[str]:
        """Returns the values of a field that can have several."""
        return list(dict.fromkeys(name for one in self.found for name in dict(one.values).get(field, ())))

    def _task(self) -> TaskSpec:
        """Returns a task with the values and their sources."""
        values: dict[str, Any] = {}
        words: dict[str, list[str]] = {}
        for one in sorted(self.found, key=lambda phrase: phrase.start):
            for path, value in one.values:
                field, _, part = path.partition(".")
                if field in _NO_FIELDS:
                    continue
                words.setdefault(path, []).append(self.text[one.start : one.end])
                if path == _HORIZON:
                    known = values.setdefault(field, {}).get(part)
                    values[field][part] = f"{known}, {value}" if known and known != value else value
                elif part:
                    values.setdefault(field, {})[part] = value
                elif field in _SEVERAL:
                    values[field] = tuple(dict.fromkeys((*values.get(field, ()), *value)))
                else:
                    values[field] = value
        quoted = ((path, " … ".join(dict.fromkeys(quotes))) for path, quotes in words.items())
        sources = {path: FieldSource(origin="sentence", words=quote) for path, quote in quoted}
        values["target"] = values.get("target", ("",))[0]
        return TaskSpec(sentence=self.text, sources=sources, **values)

    def unread(self) -> Iterator[str]:
        """Yields runs of unmatched words on one side of a bracket, without filler words at either end."""
        free = self._unclaimed("(")
        for first, last in (one.ignored for one in self.found):
            free = free[:first] + self.plain[first:last] + free[last:]
        for start, end in self.sentences:
            for part in re.finditer(r"[^()]+", free[start:end]):
                if words := self._telling(part[0]):
                    first = start + part.start()
                    yield self.text[first + words[0].start() : first + words[-1].end()]
