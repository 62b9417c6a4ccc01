"""Whether a request is one for a model, and one that can be worked on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from palmette.automl.requirements.columns import Columns, named_in
from palmette.automl.requirements.goals import TARGET, Goal
from palmette.automl.requirements.model import Assumption, Question, Refusal, Requirements
from palmette.automl.requirements.quantities import amounts
from palmette.automl.requirements.targets import Chosen
from palmette.automl.requirements.text import Span, Text
from palmette.automl.requirements.vocabulary import algorithm_mentions, metric_mentions, vocabulary
from palmette.errors import nearest

EXAMPLE = "Predict the column 'churn' of customers.csv; ROC AUC at least 0.8, training at most 10 minutes."
_MODELLING = re.compile(
    r"\b(?:predict\w*|forecast\w*|classif\w+|categori[sz]\w+|cluster\w*|regress\w*|"
    r"estimat\w+|detect\w*|recogni[sz]\w*|machine learning|deep learning|neural|automl|"
    r"train(?:ed|ing)?|models?|identification|sentiment analysis|anomal\w+|segment\w*|"
    r"target (?:column|variable)|scoring|determin\w+|diagnos\w+|group\b.{3,60}\binto|"
    r"group (?:these|the|my|our|all|similar) \w+|"
    r"^group \w+ (?:that|which|who|by|with)\b|(?:kinds|types|sorts|groups) of \w+ (?:are there|exist|do)|are alike|"
    r"rank\b|odds of|chances? of|\w+ odds\b|probabilit\w+|likelihood)",
    re.I,
)
_OTHER = re.compile(
    r"\b(?:write|recommend|suggest|compose|draw|sing|tell|translate|summari[sz]e|paint|"
    r"cook|book|"
    r"order|play|"
    r"invent|rewrite|proofread|explain|print|reveal|show|delete|send|"
    r"give)\b[^.!?]{0,60}?"
    r"\b(?:poems?|poetry|stor(?:y|ies)|songs?|lyrics|contracts?|essays?|jokes?|letters?|recipes?|"
    r"advice|opinions?|restaurants?|e-?mails?|gifts?|films?|"
    r"novels?|haikus?|limericks?|blog posts?|movies?|pizza|flights?|hotels?|"
    r"tickets? (?:to|for)|websites?|"
    r"system prompt|api keys?|passwords?|secrets?|into (?:french|german|spanish|"
    r"english)|"
    r"home ?page|speech for)\b|"
    r"^\W*(?:please |(?:can|could) you (?:please )?)?(?:translate|summari[sz]e|proofread|paraphrase|rewrite)\b|"
    r"\b(?:generate|create|draw|paint|make|produce|synthesi[sz]e)\b[^.!?]{0,30}?"
    r"\b(?:images|pictures|photos|videos|portraits|drawings|paintings|music|logos)\b",
    re.I,
)
_ASKS = re.compile(
    r"^\W{0,9}(?:hi|hello|dear \w+|please|hey)?\W{0,9}(?:what(?:'s| is| are| does| do)|"
    r"who(?:'s|"
    r" is| was| are)|when (?:did|is|was)|where (?:is|are)|why\b|how (?:do|does|did|"
    r"can|to|"
    r"is|are)\b|explain\b|tell me about|should i\b|can you explain)",
    re.I,
)
_EXPLAIN = re.compile(
    r"\b(?:what is the difference between|difference between|how does \w+ work|"
    r"explain (?:to me )?(?:how|what|why)|what (?:is|are) (?:an? )?(?:machine learning|"
    r"deep learning|neural|gradient|random forest|overfitting)|should i use|"
    r"(?:meaning|definition|concept|idea) of|what does [\w ]{2,30} mean)\b",
    re.I,
)
_DECIDES = re.compile(
    r"(?:^|[.!,:]\s+)(?:so |and |then )?(?:should|shall|will|would|can|is|does|do|may) (?:we|they|he|she|it|the|this|"
    r"that|an?|our|my|each)"
    r"\b(?! (?:use|write|learn|choose|take|prefer)\b)(?:[^.!?]*\?|[^.,;!?]*\bor not\b)",
    re.I,
)
"""A question for a yes or no about a row, as `Should we give them the loan?`."""
_DATA = re.compile(
    r"\b(?:data ?sets?|data|files?|csv|tables?|uploaded|attached|folder|recordings|"
    r"spread ?sheet|database|columns?|in this|records|logs|historical)\b",
    re.I,
)
_FEW_WORDS = 12
"""Of a request in another language, up to which the name of a column can be taken for its target."""
_WITHOUT = re.compile(
    r"\b(?:ohne|nicht|keine?|sans|pas|sin|no|senza|non|sem|zonder|niet|utan|bez)\b|不|没|なし|без", re.I
)
"""Words of other languages by which a column may be ruled out."""
_HOW_TO_GIVE = "Give a file (--data FILE), or name a data set of a public collection."


def refusal(text: Text, made: Requirements, columns: Columns, given: bool, goal: Goal) -> Refusal | None:
    """Why the request is declined; None where it is worked on.

    Args:
        given: Whether there is data beside the text.
    """
    if (found := _irrelevant(text, columns, given, goal)) is not None:
        return found
    chosen = goal.chosen
    if chosen.how == "absent" and chosen.spoken is not None:
        return _no_target(text, chosen, columns)
    if not given and not made.dataset.hub and not made.dataset.files and not _DATA.search(text.plain):
        return Refusal(
            code="no-data",
            reason=f"There are no data to learn from: the request names none and no file was given. {_HOW_TO_GIVE}",
            example=EXAMPLE,
        )
    return None


def missing_upload(made: Requirements) -> Refusal:
    """The refusal of a request whose data were to be uploaded, and were not."""
    named = ", ".join(made.dataset.files)
    what = f"The request speaks of {named or 'data'}, but no file was given. {_HOW_TO_GIVE}"
    return Refusal(code="no-data", reason=what, example=EXAMPLE)


def _irrelevant(text: Text, columns: Columns, given: bool, goal: Goal) -> Refusal | None:
    plain = text.plain.strip()
    if not plain:
        return None if given else _not_a_task("The request is empty.")
    targeted = bool(columns) and goal.chosen.how in ("said", "values")
    modelling = _MODELLING.search(plain) is not None or (
        goal.said.strength in ("explicit", "implied") or (given and goal.said.strength == "weak")
    )
    if _EXPLAIN.search(plain) and not targeted:
        reason = "This is a question about machine learning, and what is made here are models from data."
        return Refusal(code="question", reason=reason, example=EXAMPLE)
    if _OTHER.search(plain) and not re.search(r"\bpredict|\bclassif|\bforecast", plain, re.I):
        return _not_a_task("The request asks for something other than a model.")
    if modelling or targeted or goal.named:
        return None
    if is_foreign(text) and columns:
        return None
    hint = columns.get(goal.chosen.column)
    if _DECIDES.search(plain) and goal.chosen.how == "usual" and hint is not None and hint.distinct == 2:
        return None
    if _ASKS.search(plain) or not given:
        return _not_a_task("The request does not say what is to be predicted, grouped or forecast.")
    return (
        None
        if len(plain.split()) <= 6
        else _not_a_task("The request says nothing about what is to be made of the data.")
    )


def is_foreign(text: Text) -> bool:
    """Whether a request is in another language than English, as far as its letters and small words tell."""
    if text.untranslated is not None:
        return True
    letters = [char for char in text.written if char.isalpha()]
    if 4 * sum(ord(char) > 0x24F for char in letters) > len(letters):
        return True
    words = re.findall(r"[^\W\d_]+", text.written.casefold())
    known = vocabulary()
    return sum(word in known.foreign for word in words) > sum(word in known.english for word in words)


def _strange(text: Text, columns: Columns) -> bool:
    """Whether a request has words that are neither translated nor names that every language has."""
    if text.untranslated is None:
        return True
    known = [Span(start, end) for start, end, _ in named_in(text.plain, columns)]
    known += [Span(one.start, one.end) for one in (*metric_mentions(text.plain), *algorithm_mentions(text.plain))]
    known += [one.span for one in amounts(text, [])]
    english = vocabulary().english | vocabulary().empty
    return any(
        word.casefold() not in english
        and not any(place.start < one.end and one.start < place.end for place in text.places(word) for one in known)
        for word in text.untranslated
    )


def in_another_language(text: Text, columns: Columns, goal: Goal, answers: Mapping[str, str]) -> Goal:
    """The goal of a request that is not in English: as it is where every word is translated or a name.

    Else only the name of one column can be read: whatever stands beside it, numbers and other names above all, is not
    understood, so a person is asked.
    """
    if not columns or TARGET in answers or not is_foreign(text) or not _strange(text, columns):
        return goal
    named = dict.fromkeys(name for _, _, name in named_in(text.plain, columns))
    plain = not re.search(r"\d", text.plain) and _WITHOUT.search(text.plain) is None
    if list(named) == [goal.column] and plain and len(text.plain.split()) <= _FEW_WORDS:
        why = "the request is not in English; the name of this column is all that was read of it"
        return goal._replace(question=None, assumptions=(Assumption(field=TARGET, value=goal.column, why=why),))
    first = goal.column or list(columns)[-1]
    options = tuple(dict.fromkeys((*named, first, *columns)))[:8]
    asked = (
        "The request does not seem to be in English, which is all that is read without a language model (--model). "
        "Which column is to be predicted?"
    )
    return goal._replace(question=Question(about=TARGET, text=asked, options=options, blind=True))


def _not_a_task(reason: str) -> Refusal:
    return Refusal(code="irrelevant", reason=reason, example=EXAMPLE)


def _no_target(text: Text, chosen: Chosen, columns: Columns) -> Refusal:
    assert chosen.spoken is not None
    said = text.quote(chosen.spoken.start, chosen.spoken.end)
    likely = nearest(said, columns)
    hint = f" Did you mean {likely!r}?" if likely else ""
    shown = ", ".join(list(columns)[:12]) + (", ..." if len(columns) > 12 else "")
    return Refusal(
        code="no-target",
        reason=f"The data have no column {said!r}.{hint} Their columns are {shown}.",
        example=f"Predict the column {likely or list(columns)[-1]!r}.",
    )
