"""What a request wants to have predicted: the words for it, and the column of the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from palmette.automl.requirements.columns import (
    Columns,
    Match,
    by_acronym,
    by_initials,
    by_one_value,
    by_values,
    close,
    exact,
    named_in,
    rank,
    telling,
    usual,
    words_in,
)
from palmette.automl.requirements.model import ColumnHint, Task
from palmette.automl.requirements.tasks import fitting
from palmette.automl.requirements.text import Span, Text

_AMOUNT = r"(?:many|much|big|high|long|expensive|heavy|old|large|strong|far|tall|loud|warm|fast)\b"
_SAME = 0.6
"""How well words must fit the column that is named in brackets behind them, where nothing else calls it the target."""
MOST_CLASSES = 50
"""Of a column that nobody named, above which it is rather a name than a target."""

_STOP = (
    r"and (?:then )?(?:predict|classif|estimat|forecast|train|deploy|report|send|give|"
    r"show|tell|make|let|build|explain)\w*|"
    r"based|using|given|depending|so that|such that|because|since|as well|as|into|"
    r"in (?:the|this|that|my|our|a)|on (?:the|this|that|my|our)|from|with|without|"
    r"which|"
    r"that|where|when|while|"
    r"by|via|through(?:out)?|over (?:the )?time|during|until|towards|around the|along|"
    r"at least|at most|under|within|before|after|and (?:the|we|it|use|"
    r"explain|give|tell|report|deploy|then|be|make|predict)|"
    r"but|or not|please|better|well|accurately|correctly|than|for (?:each|every|us|"
    r"me|new|"
    r"all|the next)|in (?:each|every|less|under|at)|test|\d+"
)
_NP = rf"(?P<np>(?:(?!(?:{_STOP})\b)[A-Za-z0-9_'$%/#&-]+(?:\s+|(?=[.,;:!?)]|$))){{1,9}})"
_QUOTED = r"[\"'`*\[](?P<quoted>[^\"'`*\]\n]{1,60})[\"'`*\]]"
_VERB = (
    r"(?<![\w-])(?:(?:predict|forecast|estimat|classif|determin|infer|guess|anticipat|"
    r"regress|categori[sz]|recogni[sz]|identif|detect|"
    r"diagnos|foresee|foretell|calculat|comput|find out|tell|know|assess|"
    r"approximat)(?:e|"
    r"es|ed|ing|s|y|ies|ying|ied|ting|t)?"
    r"|(?:(?<=to )|(?<=\. )|(?<=please )|^)(?:model|score|rate|label|learn|flag|spot|"
    r"output|assign|route|rank))"
)
_COLUMN = r"(?:column|variable|feature|field|attribute|item|label|labels|values?|target)s?"
_USUAL = r"(?P<labels>target|labels?|class(?:es)?|y|outcome|result|response|truth)(?=\s*(?:[.,;)]|$))"
"""Words that are a column's name where nothing follows them."""
_SAYS: tuple[tuple[int, str], ...] = (
    (
        0,
        rf"\b(?:target|label|outcome|response|dependent|"
        rf"ground truth)(?:\s+{_COLUMN})?\s*(?:is|"
        rf"=|:|,|named|called|are|should be|"
        rf"will be)+\s*(?:the\s+)?(?:{_COLUMN}\s+)?(?:{_QUOTED}|{_USUAL}|"
        rf"(?P<word>[\w.#$%-]+(?:\s\w+)?))",
    ),
    (
        0,
        rf"(?:{_QUOTED}|(?P<word>[\w#$%-]+))\s+(?:is|as|being|=)\s+(?:the|our|"
        rf"my)?\s*(?:target|"
        rf"label|outcome|dependent|response)\b",
    ),
    (
        0,
        rf"\b(?:against|with)\s+(?:the\s+)?(?:known\s+|true\s+)?(?:target|"
        rf"label)(?:\s+{_COLUMN})?\s+(?:{_QUOTED}|{_NP})",
    ),
    (
        0,
        rf"\b(?:against|compared?(?: (?:them|it|(?:the )?(?:groups|clusters|segments|results?)))? (?:with|to))\s+"
        rf"(?:the\s+)?(?:(?:column|labels?(?: in| of)?)\s+)?(?:{_QUOTED}|"
        rf"{_USUAL}|"
        r"(?P<word>\w+)(?=\s*(?:[.,;]|$)|\s+(?:labels?|by|must|should|has|needs|using|with|via|in|on)\b))",
    ),
    (0, rf"\b(?:target|label|column|variable)\s+(?:{_COLUMN}\s+)?{_QUOTED}"),
    (0, rf"{_QUOTED}\s+(?:target|label|column|variable|field)\b"),
    (
        0,
        r"\b(?:column|variable|field|attribute)\s+(?:named\s+|"
        r"called\s+)?(?P<word>(?-i:[A-Za-z]\w*[_A-Z0-9]\w*))\b",
    ),
    (0, r"\b(?:last column|target|label),?\s*(?:is )?(?:named|called)\s+(?P<word>[\w.-]+)"),
    (1, rf"\b{_VERB}\s+(?:the\s+|a\s+|an\s+)?(?:{_COLUMN}\s+(?:of\s+)?)?{_QUOTED}"),
    (
        1,
        rf"\b{_VERB}\s+(?:me\s+|us\s+)?(?:(?:whether|if|how|which|what|who|when|where|"
        rf"the|an?|"
        rf"its|their|our|of)\b)?\s*{_NP}",
    ),
    (
        2,
        rf"\b(?:the|an?|every|each|of|our)\s+{_NP}(?:to be\s+)?(?:predicted|estimated|"
        rf"forecast(?:ed)?|classified|predictable)\b",
    ),
    (2, r"\b(?:is|are)\s+(?P<np>(?:[\w-]+\s+){1,4})predictable\b"),
    (
        2,
        rf"\b(?:prediction|estimation|estimate|forecasts?|classification|regression|"
        rf"detection|"
        rf"probability|likelihood|risk|chance)s?\s+(?:model\s+)?(?:of|for|that|"
        rf"on)\s+(?:the\s+|"
        rf"an?\s+)?{_NP}",
    ),
    (
        2,
        r"(?P<np>(?:[\w$%-]+\s+){1,3})(?:prediction|predictor|classifier|regressor|"
        r"regression|"
        r"forecast|forecaster|forecasting|estimator|classification|detection|detector|"
        r"identification|scoring)\b",
    ),
    (
        2,
        r"\bwhat(?:'s)?\s+(?:will|is|would|are)\s+(?:the\s+)?(?P<np>(?:(?!be\b|"
        r"is\b)[\w-]+\s*){1,5}?)(?=\s+be\b|\?|\s+(?:of|for)\b)",
    ),
    (
        2,
        r"^\W*(?:will|would|does|did|is|are|was|were|has|have|should)\s+(?P<np>(?:[\w'-]+\s+){0,6}?[\w'-]+)"
        r"(?=\s*(?:[?,;.]|$)|\s+or not\b|\s+(?:based|judged|given|from|using)\b)",
    ),
    (
        2,
        r"\b(?:how|which|who|whose|will|would|does|is|"
        r"are)\s+(?P<np>(?:[\w'-]+\s+){0,6}[\w'-]+)\s*\?",
    ),
    (2, rf"\b(?:drives?|drivers? of|influences?|causes?|affects?|leads? to)\s+(?:the\s+)?{_NP}"),
    (2, rf"\b(?:need|want|looking for|interested in|give me)\s+(?:to (?:know|have|get)\s+)?(?:the\s+|an?\s+)?{_NP}"),
    (2, r"\bhow\s+(?P<np>(?:many|much|likely|often|big|high)\s+(?:[\w'-]+\s*){1,8})"),
    (
        2,
        r"\bhow\s+(?P<np>(?:long|expensive|heavy|old|large|strong|far|tall|loud|warm|"
        r"fast)\s+(?:[\w'-]+\s*){1,8})",
    ),
    (
        2,
        r"\bwhat\s+(?P<np>(?:[\w-]+\s+){1,3}?)(?=(?:can|should|could|do|does|did|will|"
        r"would|"
        r"is|are)\b)",
    ),
    (2, r"\bwhether\s+(?P<np>(?:(?!(?:using|based|with)\b)[\w'-]+\s*){1,8})"),
    (2, r"\b(?:which|who)\s+(?P<np>(?:[\w'-]+\s*){1,8})"),
    (
        3,
        r"\b(?:model|classifier|regressor|predictor|get|gets|for)\s+(?:for\s+|"
        r"of\s+)?(?:the\s+|an?\s+|its\s+)?(?P<np>(?:(?!(?:in|with|at|under|within|that|"
        r"which|"
        r"should|must|and|using|is|has|to)\b)[\w$%-]+\s*){1,4})",
    ),
    (3, rf"^\W*(?:the\s+)?{_NP}(?=(?:by|per|for each|for every)\b|\()"),
    (3, r"(?<!judged )(?<!told )\bby\s+(?P<word>[\w-]+)"),
    (4, r"^\W*(?P<np>(?:[\w'-]+\s*){1,4})(?:[.;:]|\W*$)"),
)
_DENIED = re.compile(r"(?:\bnot|n['’]t|\bnever|\binstead of)\s+$", re.I)
"""Before a verb: what follows is not to be predicted."""
_GENERIC = re.compile(
    r"^(?:the|an?|our|my|this|that|each|every|whole|given|its|their)?\s*(?:it|"
    r"them|this|"
    r"that|target|label|labels|class|classes|category|categories|column|variable|"
    r"outcome|"
    r"result|results|value|values|correct|right|something|anything|data|dataset|"
    r"data set|"
    r"model|models|everything|(?:target|last|label) (?:column|variable|value)s?|"
    r"response|y|"
    r"task|file|table|this (?:file|data|table)|dependent|you|me|us|future|"
    r"respective categories|respective category|future values|observations?|"
    r"next future sequence|next sequence|good performance|machine learning model|"
    r"item|items|sequence|group|groups|cluster|clusters|part|parts|best|better|"
    r"performance|new|machine|binary|tree|simple|whole|one|row|rows|order|reference|"
    r"example|training|testing|test|use|now|production|free)\s*$",
    re.I,
)


Answer = Literal["", "yes or no", "amount"]


class Spoken(NamedTuple):
    """Words for what is to be predicted."""

    words: str
    start: int
    end: int
    sure: int
    """0: the request says that this is the target; 1: it follows a verb such as predict; 2 and 3: weaker; 4: all."""
    quoted: bool
    answer: Answer = ""
    """What answers it: a yes or no, as of `who leaves`, or an amount, as of `how much it costs`."""


class Chosen(NamedTuple):
    """The column to predict, or why there is none."""

    column: str = ""
    how: Literal["said", "values", "usual", "outcome", "last", "absent", "none"] = "none"
    spoken: Spoken | None = None
    others: tuple[str, ...] = ()
    """Columns that fit as well."""


def phrases(text: Text, masked: Sequence[Span] = ()) -> list[Spoken]:
    """The words for the target, the surest first."""
    plain = text.without(masked).plain
    found: dict[tuple[int, int], Spoken] = {}
    for sure, pattern in _SAYS:
        for match in re.finditer(pattern, plain, re.I):
            group = next((name for name in ("quoted", "labels", "word", "np") if match.groupdict().get(name)), None)
            if group is None:
                continue
            words = match[group].strip(" ,.;:'\"")
            start = match.start(group) + len(match[group]) - len(match[group].lstrip(" ,.;:'\""))
            generic = group not in ("quoted", "labels") and _GENERIC.match(words)
            denied = sure == 1 and _DENIED.search(plain[: match.start()])
            if words and not generic and not denied and (start, start + len(words)) not in found:
                answer = _answer(plain[match.start() : start], words)
                found[start, start + len(words)] = Spoken(
                    words, start, start + len(words), sure, group == "quoted", answer
                )
    return sorted(found.values(), key=lambda one: (one.sure, one.start))


def choose(
    text: Text, spoken: Sequence[Spoken], columns: Columns, barred: Sequence[str] = (), task: Task | None = None
) -> Chosen:
    """The column that the words mean, of those that a task allows; else the usual one or the last, as `how` says.

    A column with one value is none to guess, but the words may mean it; so it is told, and nothing else is learnt.
    """
    known = {name: hint for name, hint in columns.items() if name not in barred}
    constant = {name: hint for name, hint in known.items() if hint.kind == "constant"}
    open_ = {name: hint for name, hint in known.items() if name not in constant}
    likely = {name: hint for name, hint in open_.items() if hint.kind not in ("identifier", "text", "list")} or open_
    spoken = [*_called(text, known), *spoken]
    for one in spoken:
        if one.sure < 2 and (named := _named(one.words, known)):
            return Chosen(named[0], "said", one, named[1:])
        if columns and _is_name(one) and not _is_value(one.words, columns):
            best = rank(one.words, likely | constant)
            return Chosen(best[0].column, "said", one) if best and best[0].score > 0.75 else Chosen("", "absent", one)
    codes = [name for name in likely if re.search(r"[a-z]_|[a-z][A-Z]", name) and name in _goals(text, barred)]
    if len(codes) == 1:
        return Chosen(codes[0], "said", None)
    able = {name: hint for name, hint in likely.items() if task is None or task in fitting(hint).tasks}
    if (name := _in_brackets(text, spoken, likely)) is not None:
        return Chosen(name, "said", None)
    chosen = _best(spoken, (able or likely) | constant)
    if chosen is not None and not chosen.others:
        return chosen
    if (name := by_acronym(text.plain, likely)) is not None:
        return Chosen(name, "said", None)
    if (name := by_values(text.plain, likely) or by_initials(text.plain, likely)) is not None:
        return Chosen(name, "values", spoken[0] if spoken else None)
    if chosen is not None:
        return chosen
    told = list(dict.fromkeys(name for _, _, name in named_in(_without_sources(text.plain), able or likely)))
    if len(told) == 1:
        return Chosen(told[0], "said", None)
    if not usual(able or likely) and (name := by_one_value(text.plain, likely)) is not None:
        return Chosen(name, "values", spoken[0] if spoken else None)
    return _default(spoken, able or likely)


def _called(text: Text, columns: Columns) -> list[Spoken]:
    """Words after a verb that mean nothing else than a column of that name, as in `predict the class`."""
    found = re.finditer(rf"{_VERB}\s+(?:the\s+)?(?P<word>[\w-]+)\s*(?:[.,;:!?]|$)", text.plain, re.I)
    return [
        Spoken(one["word"], one.start("word"), one.end("word"), 1, False)
        for one in found
        if _GENERIC.match(one["word"]) and exact(one["word"], columns) and not _DENIED.search(text.plain[: one.start()])
    ]


def _named(words: str, columns: Columns) -> tuple[str, ...]:
    """The column that words name in full, or those of a list; nothing where they name anything else."""
    parts = re.split(r",?\s+(?:and|&|as well as)\s+(?:the\s+)?|,\s*", re.sub(r"^both\s+", "", words, flags=re.I))
    found = ([exact(one, columns) for one in readings] for readings in ([words], parts))
    return next((tuple(dict.fromkeys(name for name in names if name)) for names in found if all(names)), ())


def _best(spoken: Sequence[Spoken], columns: Columns) -> Chosen | None:
    """The column that some words mean, with those that they mean as well."""
    fits = [(_leaning(rank(one.words, columns), one, columns), one) for one in spoken]
    best: tuple[float, Chosen] | None = None
    for options, one in fits:
        if not options or options[0].score < (0.28 if one.sure < 3 else 0.6):
            continue
        strength = options[0].score - 0.12 * one.sure
        if best is None or strength > best[0] + 1e-9:
            best = strength, Chosen(options[0].column, "said", one, _rivals(close(options), one))
    return best[1] if best else None


def _in_brackets(text: Text, spoken: Sequence[Spoken], columns: Columns) -> str | None:
    """The column that is named in brackets right after words for the target, or after such as it fits."""
    for match in re.finditer(r"(?P<words>(?:[\w'-]+ ){0,3})\(([\w .-]{1,40}?)(?:\s*[<>=]+\s*[\d.]+)?\)", text.plain):
        near = any(0 <= match.start(2) - 1 - one.end <= 2 for one in spoken)
        if (name := exact(match[2], columns)) is not None and (near or _fits(match["words"], name, columns)):
            return name
    return None


def _fits(words: str, name: str, columns: Columns) -> bool:
    """Whether words mean a column rather than any other."""
    best = rank(words, columns)
    return bool(best) and best[0].column == name and best[0].score > _SAME


def _is_name(one: Spoken) -> bool:
    """Whether words can only be the name of a column, as it is written."""
    return (one.sure == 0 and (one.quoted or re.search(r"[_A-Z0-9]", one.words) is not None)) or (
        one.sure == 1 and (one.quoted or "_" in one.words)
    )


def _is_value(words: str, columns: Columns) -> bool:
    return any(words.casefold() == value.casefold() for hint in columns.values() for value in hint.examples)


def _goals(text: Text, barred: Sequence[str]) -> set[str]:
    """The names in a text that are not told as what to predict from, nor beside what must not be used."""
    said = (text.plain[one.start : one.end] for one in text.sentences)
    kept = " ".join(words for words in said if not any(name in words for name in barred))
    return set(re.findall(r"\w+", _without_sources(kept)))


def _without_sources(plain: str) -> str:
    """A text without what is told as the source of a prediction."""
    return re.sub(r"\b(?:from|based on|in terms of|using|given|except|without|with)\b[^.;]*", " ", plain, flags=re.I)


def _leaning(options: list[Match], one: Spoken, columns: Columns) -> list[Match]:
    """The columns in their order; a question for yes or no is rather about one of two values, one for an amount about
    numbers."""
    if not one.answer:
        return options
    if one.answer == "amount" and (numbers := [m for m in options if _answers(columns[m.column], one.answer)]):
        return numbers
    fits = [
        match if _answers(columns[match.column], one.answer) else match._replace(score=match.score * 0.6)
        for match in options
    ]
    return sorted(fits, key=lambda match: -match.score)


def _rivals(names: Sequence[str], one: Spoken) -> tuple[str, ...]:
    """Other columns that the words mean as well; the second of `heating and cooling load` among them."""
    return tuple(name for name in names[1:] if words_in(one.words))


def _default(spoken: Sequence[Spoken], columns: Columns) -> Chosen:
    said = next((one for one in spoken if one.sure < 4), None)
    if (name := usual(columns)) is not None:
        return Chosen(name, "usual", said)
    if (name := telling(columns)) is not None:
        return Chosen(name, "outcome", said)
    if columns:
        learnable = [name for name, hint in columns.items() if hint.kind != "categorical" or _is_few(hint)]
        return Chosen((learnable or list(columns))[-1], "last", said)
    return Chosen("", "none", said)


def _is_few(hint: ColumnHint) -> bool:
    return hint.distinct is None or hint.distinct <= MOST_CLASSES


def _answer(before: str, words: str) -> Answer:
    asked = r"^\W*(?:is|are|was|were|did|has|have)\s+$|\b(?:who|whether|if|will|would|does|likely|probability|risk)\b"
    if re.search(asked, before, re.I):
        return "yes or no"
    how = re.search(r"\bhow\s+$", before, re.I) and re.match(_AMOUNT, words, re.I)
    many = how or re.search(r"\bworth$", words, re.I)
    return "amount" if many else ""


def _answers(hint: ColumnHint, answer: Answer) -> bool:
    return hint.distinct == 2 if answer == "yes or no" else hint.kind == "numeric" and hint.distinct != 2


def bare(words: str) -> str:
    """The name of a target without what stands around it: `category of each paper` is `category`."""
    words = re.split(r"\s+of\s+(?:the|each|every|an?|all|this|our|my)\b", words)[0]
    return re.sub(rf"\s+{_COLUMN}$|^(?:the|an?|their|its)\s+", "", words).strip()
