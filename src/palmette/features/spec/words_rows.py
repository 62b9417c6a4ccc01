"""Which rows a phrase names: a source, a kind of its rows (`online orders`, `orders returned`), or a verb's events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from palmette.features.spec.categories import quoted
from palmette.features.spec.literals import sql_literal
from palmette.features.spec.sources import ResolvedSource
from palmette.features.spec.words_conditions import condition
from palmette.features.spec.words_names import AskError, WordsContext, singular, tokens

_IRREGULAR = {"bought": "purchase", "sold": "sale", "paid": "payment", "flew": "flight", "flown": "flight"}
PAST = rf"(?:\w+ed|{'|'.join(_IRREGULAR)})"
"""Verbs in the past tense."""


def rows_of(context: WordsContext, phrase: str) -> tuple[ResolvedSource, str | None]:
    """The source that a phrase names, with a condition for `online redemptions`, `orders returned` or `clicks`."""
    source = context.source_or_none(phrase)
    if source is not None:
        return source, None
    options = list(_kinds(context, phrase))
    if not options and (narrowed := _narrowed(context, phrase)) is not None:
        return narrowed
    if not options:
        found = [
            (one, f"{quoted(column)} = {sql_literal(value)}", f"{column} is {value}")
            for one in context.all_sources()
            if one.view.is_event
            for column, value in context.value(phrase, one)
        ]
        options = [option for option in found if option[0].view.name in context.declared] or found
    if len(options) != 1:
        candidates = [f"{one.view.name} where {said}" for one, _, said in options]
        raise AskError(phrase, "source", candidates, [one.view.name for one in context.all_sources()])
    return options[0][:2]


def _kinds(context: WordsContext, phrase: str) -> Iterator[tuple[ResolvedSource, str, str]]:
    """A source with a value or a flag before or after it: the source, the condition, and how to say it."""
    words = phrase.split()
    for cut in range(1, len(words)):
        before, after = " ".join(words[:cut]), " ".join(words[cut:])
        for noun, adjective in ((after, before), (before, after)):
            source = context.source_or_none(noun)
            if source is None:
                continue
            for column, value in context.value(adjective, source):
                yield source, f"{quoted(column)} = {sql_literal(value)}", f"{column} is {value}"
            for column in context.flags(adjective, source):
                yield source, quoted(column), f"{column} is true"


def _narrowed(context: WordsContext, phrase: str) -> tuple[ResolvedSource, str] | None:
    """`clicks of kind view`, `visits in surgery`: a source, and a condition that needs no verb."""
    for found in re.finditer(r"\s(?:of|in|from)\s", phrase):
        source = context.source_or_none(phrase[: found.start()])
        try:
            return (source, condition(phrase[found.end() :], source, context)) if source is not None else None
        except AskError as ask:
            if ask.candidates:
                raise
    return None


def happened(context: WordsContext, verb: str) -> ResolvedSource:
    """The event source that a verb in the past tense is about: by its name, or by what its event time says."""
    events = [one for one in context.all_sources() if one.view.is_event and context.is_about(one)]
    found = [one for one in events if _is_called(one, verb)]
    found = [one for one in found if one.view.name in context.declared] or found
    if len(found) != 1:
        candidates = [one.view.name for one in found]
        known = [one.view.name for one in events]
        raise AskError(verb, "event" if not found else "one of the events", (), candidates or known)
    return found[0]


def _is_called(source: ResolvedSource, verb: str) -> bool:
    table = source.view.table
    names = {_root(tokens(name)[-1]) for name in (source.view.name, table.name)}
    time = tokens(table.event_time or "")
    return _root(verb) in names or (len(time) == 2 and time[0] == verb.lower())


def _root(word: str) -> str:
    """A noun and the past tense of its verb in one form.

    >>> _root("clicks") == _root("clicked"), _root("purchases") == _root("bought"), _root("stop") == _root("stopped")
    (True, True, True)
    """
    word = singular(_IRREGULAR.get(word.lower(), word.lower()))
    word = re.sub(r"ed$", "", word) if len(word) > 4 else word
    word = re.sub(r"i$", "y", word.removesuffix("e"))
    return re.sub(r"([b-df-hj-np-tv-z])\1$", r"\1", word)
