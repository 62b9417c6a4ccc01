"""Which columns a request wants used, and which not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from palmette.automl.requirements.columns import Columns, exact, named_in, rank, split_name
from palmette.automl.requirements.model import Excluded, Task
from palmette.automl.requirements.text import Text

_BARRED = re.compile(
    r"\b(?:(?:do not|don't|never|must not|cannot|can't|should not|shouldn't|may not|"
    r"please not|not) (?:to )?(?:use|consider|include|look at|rely on|touch|take)|"
    r"(?:uses?|using) (?:neither|no)|without(?: using)?|"
    r"ignor(?:e|ing)|exclud(?:e|ing)|drop(?:ping)?|leav(?:e|ing) out|remov(?:e|ing)|"
    r"except(?: for)?|omit(?:ting)?|skip(?:ping)?|disregard|neither|apart from|"
    r"other than|"
    r"but not|(?:everything|all|anything)(?: \w+)? (?:but|except)|"
    r"use not)\b",
    re.I,
)
_TELLS = re.compile(
    r"['\"`]?[^.;,]{0,20}\b(?:gives? (?:it|the (?:target|answer|label)|this|"
    r"everything) away|leaks?|(?:drop|exclude|ignore|remove) it|(?:must|may|should|"
    r"can) ?not be used|"
    r"(?:is|are) (?:not allowed|forbidden|off limits|a leak|cheating|"
    r"only known (?:afterwards|later|after)))",
    re.I,
)
_NOUN = r"(?:columns?|features?|variables?|fields?|attributes?|information|data|values?)"
_IDS = re.compile(r"(?:the |all |any |every )?(?:ids?|identifiers?|keys?)(?: columns?)?", re.I)
_SURE = 0.65
"""How well words must fit a column that is not named in full, for it to be left out."""
_LIKELY = 0.5
"""As `_SURE`, where the words can only mean columns: they are all that is to be used."""
_LIST = (
    r"(?P<list>[\w $#%()/'\"&-]+?(?:,\s*[\w $#%()/'\"&-]+?)*?)"
    r"(?=\s*(?:[.;:?!]|$)|,?\s+(?:to|for|into|in order|as|when|please|and (?:then|predict|nothing|tell|give)|"
    r"with (?:an?|at)|but|only|alone)\b|,\s*\w*\s*=?\s*\d)"
)
_FROM = (
    r"(?:use|using|based on|in terms of|from|on|given|with|by|along|consider(?:ing)?|look(?:ing)? at|"
    r"columns?|features?|variables?|the)\s+"
)
_ALONE = (
    r"\b(?:only|just|solely|exclusively|nothing but|nothing other than|restricted to|limited to)\s+"
    rf"(?:{_FROM})*{_LIST}",
    rf"\b(?:{_FROM})+{_LIST}\s*,?\s+(?:only|alone|and nothing else|and no other)\b",
)
_RESTS = rf"\b(?:from|based on|using|given|with|by means of)\s+(?:the\s+)?{_LIST}"
_BY = (
    r"\b(?:by|on|along|based on|using|from|according to|in terms of|considering|with respect to)\s+"
    rf"(?:the(?:ir)?\s+)?{_LIST}"
)


def excluded(text: Text, columns: Columns) -> tuple[Excluded, ...]:
    """Columns that must not be used: known ones, or such as are called a column."""
    found: dict[str, Excluded] = {}
    for match in _BARRED.finditer(text.plain):
        sentence = text.sentence(match.start())
        rest = text.plain[match.end() : sentence.end]
        stop = re.search(
            r"[;:]|\b(?:for|but|because|since|as they|they|it|and (?:use|predict|train|is|"
            r"the model|"
            r"then)|which|that)\b",
            rest,
        )
        clause = rest[: stop.start()] if stop else rest
        names = [name for _, _, name in named_in(clause, columns)]
        called = re.match(
            r"\s*(?:the )?(?:columns?|features?|variables?|fields?)?\s*['\"`]([\w .-]+)['\"`]|"
            r"\s*the (\w+) (?:column|feature|variable|field)\b",
            clause,
            re.I,
        )
        if not columns and called:
            names = [called[1] or called[2]]
        for name in dict.fromkeys([*names, *_meant(clause, columns)]):
            found.setdefault(
                name, Excluded(column=name, words=text.quote(match.start(), match.end() + len(clause.rstrip())))
            )
    for start, end, name in named_in(text.plain, columns):
        if _TELLS.match(text.plain, end):
            found.setdefault(name, Excluded(column=name, words=text.quote(start, text.sentence(start).end)))
    return tuple(found[name] for name in (columns or found) if name in found)


def features(text: Text, columns: Columns) -> tuple[str, ...]:
    """What the prediction may rest on, where the request lists it."""
    plain = text.plain
    for pattern in (
        r"\bregress\w*\s+(?:of\s+)?(?:(?!based\b)\w+\s+){1,3}on\s+(?:the\s+)"
        r"?(?P<list>[^.;()]+?)(?=[.;]|$)",
        r"\b(?:based on|using|from|given|by)\b[^.;()]{0,80}\((?P<list>[^()]*,[^()]*)\)",
        r"\bgiven [^.;()]{0,40}\((?P<list>[^()]+ and [^()]+)\)",
        r"\b(?:features?|columns?|variables?|attributes?|factors?|information|inputs?|"
        r"measurements?) (?:like|such as|including|are|namely|"
        r":)\s*(?P<list>[^.;:()]+?,[^.;:()]*?)(?= from\b| in the\b|[.;]|$)",
        r"\b(?:based on|from|given|using|"
        r"by)\s+(?:the\s+)?(?P<list>[\w $#%-]+(?:,[\w $#%-]+)*(?:,? and [\w $#%-]+))(?=[.;,]|$)",
        r"\b(?:based on|from|given|using)\s+(?:the\s+)?(?P<list>[\w $#%-]+)(?=[.;,]|$)",
    ):
        for match in re.finditer(pattern, plain, re.I):
            items = [text.quote(*place).strip(" ,.") for place in _items(match["list"], match.start("list"))]
            items = [re.sub(r"^(?:the|their|its|an?)\s+", "", item) for item in items]
            known = [name for item in items if (name := exact(item, columns))]
            if columns and not known:
                continue
            if len(items) >= 2 or known:
                return tuple(known or items)
    return ()


def _items(listed: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the items of a list stand, which begins at `start`."""
    begin = 0
    for separator in re.finditer(r",?\s*\b(?:and|or)\b|,|$", listed):
        if listed[begin : separator.start()].strip(" ,."):
            yield start + begin, start + separator.start()
        begin = separator.end()


def only(text: Text, columns: Columns, task: Task | None, target: str = "") -> tuple[tuple[str, ...], str]:
    """The columns that alone may be used, and the words that say so; nothing where the request does not limit them.

    A list after `from` or `using` limits them if every item of it names a column; one that says `only`, or by which
    rows are to be divided into groups, if every item fits one.
    """
    forms = [(pattern, _LIKELY) for pattern in _ALONE] + [(_RESTS, 1.0)] + [(_BY, _LIKELY)] * (task == "clustering")
    for pattern, least in forms if columns else ():
        for match in re.finditer(pattern, text.plain, re.I):
            items = [match["list"][a:b] for a, b in _items(match["list"], 0)]
            known = [_column(item, columns, least) for item in items]
            found = tuple(dict.fromkeys(name for name in known if name and name != target))
            if found and all(known):
                return found, text.quote(match.start(), match.end("list"))
    return (), ""


def _meant(clause: str, columns: Columns) -> list[str]:
    """The columns that the items of a list mean without naming them in full."""
    found: list[str] = []
    for begin, end in _items(clause, 0):
        item = clause[begin:end].strip(" ,.'\"")
        if _IDS.fullmatch(item):
            found += [name for name, one in columns.items() if one.kind == "identifier" or split_name(name)[-1] == "id"]
        elif len(item.split()) <= 4 and not re.search(r"\d", item) and (name := _column(item, columns, _SURE)):
            found.append(name)
    return found


def _column(item: str, columns: Columns, least: float) -> str | None:
    """The one column that an item of a list means."""
    around = rf"^(?:(?:the|their|its|an?|any|all|my|our|column|columns)\s+)+|\s+{_NOUN}$"
    item = re.sub(around, "", item.strip(" ,.'\""), flags=re.I)
    if (name := exact(item, columns)) is not None or least >= 1:
        return name
    best = rank(item, columns)[:2]
    clear = len(best) == 1 or (best and best[0].score - best[1].score > 0.05)
    return best[0].column if clear and best[0].score >= least else None
