"""What of a request looks like a wish and was read by nobody: it is said, rather than passed over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from palmette.automl.requirements.columns import USUAL, Columns, named_in
from palmette.automl.requirements.model import Requirements
from palmette.automl.requirements.quoting import quotations
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import (
    algorithm_mentions,
    mentions,
    metric_mentions,
    unmeasured_mentions,
    vocabulary,
)
from palmette.automl.requirements.wishes import PREPARE

_ENDS = re.compile(r"[.!?;](?=\s|$)|,(?!\d)|\n|\b(?:and|but)\b")
"""Ends of clauses."""
_RULES = re.compile(
    r"\b(?:(?:must|may|should|shall|can|could|will|do|does|is|are)(?:\s+not|n't)(?! (?:know|care|matter|mind)\b)|"
    r"cannot|never|forbid\w*|prohibit\w*|illegal|"
    r"not allowed|only|exclud\w+|ignor\w+|stay out|keep out|leave out|at (?:least|most)|no (?:more|less|fewer|"
    r"\w+er) than|"
    r"must|has to|have to|needs? to|required?|require|should|shall)\b",
    re.I,
)
"""Words of what is wanted, not wanted or bounded."""
_ASKED = re.compile(r"^\W*(?:should|shall|will|can|could|does|is|are)\b", re.I)
"""How a question begins."""
_ORDERS = re.compile(
    r"(?:^|\b(?:please|also|then|to me|and)\s+)(?:please |also |then )?(?:tell|show|give|report|explain|list|send|"
    r"plot|compare|"
    r"weigh\w*|handle|treat|convert|produce|output|keep|add)\b|\bhow (?:sure|certain|confident|reliable)\b",
    re.I,
)
_MEASURES = re.compile(
    r"\b(?:quantiles?|uncertaint(?:y|ies)|(?:requests?|queries|calls|predictions) (?:per|a|in an?) (?:second|minute)|"
    r"times (?:as|more|worse)|costs? (?:us|me|you|of a|matrix)|worse than|profit|penalt(?:y|ies)|penali[sz]e\w*|"
    r"weights?(?: of| for))\b",
    re.I,
)
"""Words of what mistakes cost, and of measures, beside those that the vocabulary knows and no run takes."""
_ASIDE = re.compile(r"\b(?:for|at|to)\s+(?!(?:19|20)\d\d\b)\d+(?:\.\d+)?\s+[A-Za-z]+")
"""A number beside what is to be predicted."""
_NUMBERS = re.compile(r"(?<![\w.])(?!\d+(?:st|nd|rd|th)\b)(?!(?:(?<=^)|(?<=\n))\d+[.)]\s)\d+(?:\.\d+)?")
_QUOTES = re.compile(r"(?<!\w)([\"'])[^\"'\n]{1,60}\1(?!\w)")
_GOAL = frozenset({"problem.task", "dataset.target", "dataset.modality", "problem.n_classes"})
"""Quotations that say what is predicted, and nothing of how."""


def unread(
    text: Text,
    made: Requirements,
    columns: Columns,
    taken: Iterable[Span] = (),
    missed: Iterable[Span] = (),
    numbers: Iterable[str] = (),
) -> tuple[str, ...]:
    """Clauses that look like a wish and hold no word that was read, in the order of the text.

    A number, a quoted word and the name of a column never stand for nothing: a clause with one that was not read is
    told, whatever else is read in it.

    Args:
        taken: Places that were read and are quoted nowhere.
        missed: Places that a rule took for a wish and could not fulfil.
        numbers: Numbers with a bound or a unit that none could place, as written.
    """
    wishes = [*_quoted(text, made, goals=False), *_without_words(text)]
    goals = [*wishes, *_quoted(text, made, goals=True)]
    found = [*(one for one in missed if not _touched(one, wishes)), *_places(text, numbers)]
    found += (one for one in _clauses(text) if _is_passed_over(text, one, wishes, goals))
    read = [*goals, *taken, *_places(text, _named(made)), *_measured(text)]
    read += [Span(start, end) for start, end, name in named_in(text.plain, columns) if name in made.dataset.features]
    telling = _telling(text, columns, made.dataset.target_column)
    clauses = tuple(_clauses(text))
    passed = (one for one in telling if not _touched(one, read))
    found += (next((clause for clause in clauses if clause.holds(one.start)), one) for one in passed)
    for match in _ASIDE.finditer(text.plain):
        beside = Span(match.start(), match.end())
        if _touched(text.sentence(match.start()), goals) and not _touched(beside, wishes):
            found.append(beside)
    kept: list[Span] = []
    for one in sorted(found, key=lambda span: (span.start, -span.end)):
        if not _touched(one, kept):
            kept.append(one)
    return tuple(text.quote(one.start, one.end).strip(" ,.;:") for one in kept)


def still_unread(made: Requirements, unread: Iterable[str]) -> tuple[str, ...]:
    """What of the words that rules could not read no quotation of other requirements touches."""
    text = Text(made.text)
    quotes = _quoted(text, made, goals=False)
    return tuple(words for words in unread if any(not _touched(place, quotes) for place in text.places(words)))


def _is_passed_over(text: Text, clause: Span, wishes: Sequence[Span], goals: Sequence[Span]) -> bool:
    words = text.plain[clause.start : clause.end].strip()
    ruled = _RULES.search(_ASKED.sub("", words)) or _MEASURES.search(words) or unmeasured_mentions(words)
    if ruled and not _touched(clause, wishes):
        return True
    return _ORDERS.search(words) is not None and not _touched(clause, goals)


def _quoted(text: Text, made: Requirements, goals: bool) -> list[Span]:
    """Where the quotations stand that say what is predicted, or those that say how."""
    quotes = (one for one in quotations(made) if not one[0].endswith("description"))
    return list(_places(text, (words for field, words in quotes if (field in _GOAL) == goals)))


def _without_words(text: Text) -> list[Span]:
    """What is read without a quotation: devices, libraries, preparation."""
    named = mentions(text.plain, {**vocabulary().devices, **vocabulary().libraries})
    prepared = [Span(*match.span()) for match in PREPARE.finditer(text.plain)]
    return [*(Span(one.start, one.end) for one in named), *prepared]


def _named(made: Requirements) -> tuple[str, ...]:
    """What is read as it is written."""
    data = made.dataset
    return (*data.features, *data.files, data.name, *made.problem.classes)


def _measured(text: Text) -> list[Span]:
    """Names of metrics and algorithms, digits among them."""
    named = (*metric_mentions(text.plain), *algorithm_mentions(text.plain))
    return [Span(one.start, one.end) for one in named]


def _telling(text: Text, columns: Columns, target: str) -> Iterator[Span]:
    """Numbers, quoted words and names of columns but the one to predict."""
    several = {f"{name}s": hint for name, hint in columns.items() if re.fullmatch(r"[^\W\d_]{4,}", name)}
    told = [*named_in(text.plain, columns), *named_in(text.plain, several)]
    names = [Span(start, end) for start, end, _ in told]
    others = (Span(start, end) for start, end, name in told if target not in (name, name[:-1]))
    yield from (one for one in others if _is_name(text.plain[one.start : one.end]))
    for match in (*_NUMBERS.finditer(text.plain), *_QUOTES.finditer(text.plain)):
        one = Span(match.start(), match.end())
        if not _touched(one, names) and re.search(r"\d|\W", text.quote(one.start, one.end)):
            yield one


def _is_name(words: str) -> bool:
    return len(words) > 1 and words.casefold() not in USUAL


def _clauses(text: Text) -> Iterator[Span]:
    start = 0
    for match in (*_ENDS.finditer(text.plain), None):
        end = match.start() if match else len(text.plain)
        if len(text.plain[start:end].split()) > 1:
            yield Span(start, end)
        start = match.end() if match else end


def _places(text: Text, quotes: Iterable[str]) -> Iterator[Span]:
    """Where quotations stand in the plain text."""
    for words in quotes:
        yield from text.places(words)


def _touched(one: Span, by: Iterable[Span]) -> bool:
    return any(one.start < other.end and other.start < one.end for other in by)
