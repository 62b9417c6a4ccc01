"""Which columns a request wants used, and which not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from palmette.automl.requirements.columns import Columns, exact, likeness, named_in, rank, split_name
from palmette.automl.requirements.model import Excluded, Task
from palmette.automl.requirements.text import Span, Text

_RULES_OUT = (
    r"\b(?:(?:never|cannot|not|\w+n't) (?:(?:be )?allowed to |(?:want |wish |like )(?:to )?|to )?"
    r"(?:us(?:e|ing)|consider|include|(?:look|peek|glance) at|rely on|touch|take|see|know|feed)\b|"
    r"(?:avoid(?:s|ing)?|(?:refrain(?:s|ing)?|abstain(?:s|ing)?) from|steer(?:ing)? clear of|stop|against) "
    r"(?:the use of|(?:us|consider|includ|touch|tak|see|feed)ing|(?:look|peek|rely)ing (?:at|on))|"
    r"(?:uses?|using) (?:neither|no)|without(?! (?:(?:forgett|ignor|dropp|exclud|leav|omitt|skipp|remov|los)ing|"
    r"\w+ing (?:about|to|for|over))\b)(?: (?:us|look|consider|know|touch|see|tak|rely|regard)ing(?: at| on|"
    r" to)?)?|"
    r"w/o|forbid(?:s|den)?(?: to use| using| the use of)?|prohibit(?:s|ed)?(?: using| the use of)?|"
    r"ban(?:s|ned)? (?:the use of|using)|(?:not|n't) discriminate (?:by|on)(?: the basis of)?|"
    r"ignor(?:e|ing)|exclud(?:e|ing)|drop(?:ping)?|leav(?:e|ing) out|remov(?:e|ing)|"
    r"omit(?:ting)?|skip(?:ping)?|disregard|neither|blind to|irrespective of|regardless of|stay away from|keep out|"
    r"forget(?:ting)?(?: everything| all| anything)?(?: about)?|but not|not by|use not)(?!\w)"
)
"""What comes before the columns that it rules out."""
_BUT = r"(?:except(?: for)?|apart from|aside from|besides|other than)"
_BARRED = re.compile(rf"{_RULES_OUT}|\b(?:{_BUT}|(?:everything|all|anything)(?: \w+)? (?:but|except))(?!\w)", re.I)
"""As `_RULES_OUT`, or what comes before exceptions from all that may be used."""
_NEGATED = re.compile(r"(?:\b(?:not|never|cannot|without)|n't)\s+$", re.I)
"""Before words that rule out: do not forget."""
_OUT = re.compile(
    r"\b(?:leav|keep|tak|throw|put)(?:e|ing)?\s+(?P<list>[^.;:?!]{2,80}?)\s+(?:out|aside|away|alone)\b|"
    r"(?:\bnot|n't) (?:want|like|wish)(?: to (?:see|have|find))?\s+(?P<names>[^.;:?!]{2,80}?)\s+"
    r"(?:in (?:there|it|the model)|to (?:be (?:used|in|part)|matter|count|enter|play)|(?:used|considered|involved))\b",
    re.I,
)
_TELLS = re.compile(
    r"\b(?:gives? (?:it|the (?:target|answer|label)|this|everything) away|leaks?\b|"
    r"(?:may|must|should|can) ?(?:not|n't)\s*(?=[.,;]|$)|"
    r"(?:must|may|should|shall|can|ought to) ?(?:not|n't|never) (?:be (?:used|considered|included|part|looked at|taken|"
    r"known|fed)|go in|get in|come in|appear|flow in|enter|influence|play|matter|count|affect)|"
    r"(?:is|are) (?:not|un) ?(?:to be used|available)|"
    r"plays? no r[oô]le|(?:is|are)(?:n't| not) to (?:be used|play|matter|count|enter|influence)|"
    r"(?:(?:is|are|was|were|gets?) )?(?:\w+ )?(?:only |much |far )?(?:too late|later on|after the fact|afterwards)\b|"
    r"(?:(?:is|are|will)(?:n't| not| never) (?:yet )?(?:be )?|un)(?:available|known|measured|recorded|there)(?: yet)? "
    r"(?:when|at|until|before|in (?:use|production|advance|time)|beforehand)\b|"
    r"(?:is|are) (?:just|only|merely|nothing but) (?:an? )?(?:running |row |serial |line )?(?:numbers?|ids?|keys?|"
    r"index|counters?|identifiers?)\b|means? nothing|"
    r"(?:has|have|need|needs|ought|must|should|shall|is|are) (?:to )?(?:stay|be left|be kept|remain|be) (?:out|aside|"
    r"away)\b|"
    r"(?:is|are) (?:not allowed|forbidden|prohibited|banned|illegal|taboo|off limits|a leak|cheating|meaningless|"
    r"useless|"
    r"irrelevant|misleading|only known (?:afterwards|later|after)))",
    re.I,
)
"""What comes after the columns that it rules out."""
_OF_THEM = re.compile(
    r"^(?:.*?\b(?:says?|that|think|because)\b)?(?P<list>[^.;:?!]+?)\s+(?:is|are|was|were|has|have|had|can|contains?)\b"
    r"[^.;:?!]*?\b(?:(?:keep|leave|throw|take|put) (?:it|them|those|that|both) (?:out|away|aside)|"
    r"(?:drop|exclude|ignore|remove|forget|skip|omit) (?:it|them|those|both))\b",
    re.I,
)
"""A sentence about columns that ends in leaving them out."""
_LIST_BEGINS = re.compile(
    r"[;:]|\b(?:predict|classif|estimat|forecast|target)\w*\b[^,]*|\b(?:but|because|since|from|that|which|when|if|so|"
    r"while|where|whereas|using|use|for|of|the column)\b",
    re.I,
)
_OTHERS = re.compile(r"\b(?:other|others|rest|remaining|everything|all|etc|more)\b", re.I)
_NOUN = r"(?:columns?|features?|variables?|fields?|attributes?|information|data|values?)"
_IDS = re.compile(
    r"(?:the |all |any |every )?(?:ids?|identifiers?|keys?|(?:row|record|line|running|serial|consecutive) "
    r"(?:numbers?|ids?|index))(?: columns?)?",
    re.I,
)
_FAMILY = re.compile(
    r"(?:(?:any|all|both|every|none|each|everything)\s+)?(?:(?:of|about)\s+)?(?:the\s+)?(?:\d+\s+)?"
    r"(?:(?P<words>[\w ]+?)(?:[ -](?:related|like))?\s+(?:columns|features|variables|fields|attributes)|"
    r"(?:columns|features|variables|fields|attributes) (?:about|on|of|with|for|related to)\s+(?P<after>[\w ]+))",
    re.I,
)
_SURE = 0.65
"""How well words must fit a column that is not named in full, for it to be left out."""
_LIKELY = 0.6
"""As `_SURE`, where the words can only mean columns: they are all that is to be used."""
_LONGEST = 4
"""Words of what means a column without naming it."""
_LIST = (
    r"(?P<list>[\w $#%()/'\"&-]+?(?:,\s*[\w $#%()/'\"&-]+?)*?)"
    r"(?=\s*(?:[.;:?!]|$)|,?\s+(?:to|for|into|in order|as|when|please|and (?:then|predict|nothing|tell|give)|"
    r"with (?:an?|at)|but|only|alone)\b|,\s*\w*\s*=?\s*\d)"
)
_FROM = (
    r"(?:use|using|based on|in terms of|from|on|given|with|by|along|consider(?:ing)?|look(?:ing)? at|"
    r"judged by|columns?|features?|variables?|the)\s+"
)
_ALL = r"(?:everything|anything|all|any|every|no|nothing|none)"
_ALL_BUT = (
    rf"(?:{_RULES_OUT}\s+{_ALL}|\b(?:no|nothing|none))(?: (?:of|the|other|else|{_NOUN[3:-1]}))*,?\s+(?:{_BUT}|but)\s+"
)
"""What rules out everything, up to the columns that alone may be used."""
_ALONE = (
    rf"{_ALL_BUT}(?:{_FROM})*{_LIST}",
    r"\b(?:only|just|solely|exclusively|nothing but|nothing other than|restricted to|limited to)\s+"
    r"(?!(?:for|if|when|where|those|the (?:rows|ones)|rows|among)\b)"
    rf"(?:{_FROM})*{_LIST}",
    rf"\b(?:{_FROM})+{_LIST}\s*,?\s+(?:only|alone|and nothing else|and no other)\b",
)
_RESTS = rf"\b(?:from|based on|using|given|with|by means of)\s+(?:the\s+)?{_LIST}"
_BY = (
    r"\b(?:(?:by|on|in|along|based on|using|from|according to|in terms of|considering|with respect to)\s+|(?=similar ))"
    rf"(?:the(?:ir)?\s+)?{_LIST}"
)


class Barred(NamedTuple):
    """Columns that must not be used, and where words rule something out that is no column."""

    columns: tuple[Excluded, ...]
    missed: tuple[Span, ...]


def excluded(text: Text, columns: Columns) -> Barred:
    """Columns that must not be used: known ones, or such as are called a column."""
    found: dict[str, Excluded] = {}
    missed: list[Span] = []
    rules = (_after, _none_of, _of_them)
    for item in (*_before(text), *_around(text), *(item for rule in rules for item in rule(text, columns))):
        said = text.plain[item.start : item.end]
        names = _names(said, columns) if columns else _called(said)
        for name in names:
            found.setdefault(name, Excluded(column=name, words=text.quote(item.start, item.end)))
        if not names and re.search(r"[A-Za-z]{3}", said):
            missed.append(item)
    return Barred(tuple(found[name] for name in (columns or found) if name in found), tuple(missed))


def _before(text: Text) -> Iterator[Span]:
    """The items of lists after words that rule out."""
    alone = [Span(*match.span()) for match in re.finditer(_ALL_BUT, text.plain, re.I)]
    for match in _BARRED.finditer(text.plain):
        if _NEGATED.search(text.plain, 0, match.start()) or any(
            one.start < match.end() and match.start() < one.end for one in alone
        ):
            continue
        rest = text.plain[match.end() : text.sentence(match.start()).end]
        stop = re.search(
            r"[;:.!?](?=\s|$)|\b(?:for|but|because|since|as they|as it|they|it|and (?:use|predict|train|is|the model|"
            r"make|then)|"
            r"which|that|when|while|to (?:predict|train|estimate))\b|,\s+(?:predict|train|estimate|using|use|make|"
            r"with)\b",
            rest,
        )
        clause = (rest[: stop.start()] if stop else rest).rstrip()
        yield from _spans(clause, match.end())


def _around(text: Text) -> Iterator[Span]:
    for match in _OUT.finditer(text.plain):
        group = "list" if match["list"] else "names"
        if not re.fullmatch(r"it|them|those|that|both", match[group], re.I) and not _NEGATED.search(
            text.plain, 0, match.start()
        ):
            yield from _spans(match[group], match.start(group))


def _after(text: Text, columns: Columns) -> Iterator[Span]:
    """Back from the words that rule out, as long as items are columns."""
    earlier = 0
    for match in _TELLS.finditer(text.plain):
        start = max(text.sentence(match.start()).start, earlier)
        start = max((one.end() for one in _LIST_BEGINS.finditer(text.plain, start, match.start())), default=start)
        earlier = match.end()
        for item in reversed(_spans(text.plain[start : match.start()], start)):
            if not _names(text.plain[item.start : item.end], columns):
                break
            yield item


def _none_of(text: Text, columns: Columns) -> Iterator[Span]:
    """What follows a mere no, as long as it ends in the word for a column: `no car names`, but not `no age limit`."""
    for match in re.finditer(r"\bno\s+(?P<list>[^.,;:!?]{2,60})", text.plain, re.I):
        exceptions = re.search(rf"\b{_BUT}\s", match["list"], re.I)
        for item in () if exceptions else _spans(match["list"], match.start("list")):
            said = _turned(text.plain[item.start : item.end]).split()
            name = _column(" ".join(said), columns, _SURE)
            if name is None or len(said) > _LONGEST or likeness(said[-1], split_name(name)[-1]) < 0.9:
                break
            yield item


def _of_them(text: Text, columns: Columns) -> Iterator[Span]:
    """The columns that a sentence is about which ends in leaving them out."""
    for sentence in text.sentences:
        for part in re.finditer(r"[^;:]+", text.plain[sentence.start : sentence.end]):
            match = _OF_THEM.match(part[0])
            start = sentence.start + part.start()
            items = _spans(match["list"], start + match.start("list")) if match else []
            yield from (one for one in items if _names(text.plain[one.start : one.end], columns))


def _called(said: str) -> list[str]:
    """What is called a column, where no columns are known."""
    match = re.match(
        rf"\s*(?:the )?{_NOUN}?\s*['\"`]([\w .-]+)['\"`]|\s*the (\w+) (?:column|feature|variable|field)\b", said, re.I
    )
    return [match[1] or match[2]] if match else []


def _names(said: str, columns: Columns) -> list[str]:
    """The columns that an item of a list names or means."""
    said = _turned(said)
    if (family := _FAMILY.fullmatch(said.strip(" ,.'\""))) is not None:
        words = (family["words"] or family["after"]).split()
        near = [name for name in columns if all(any(likeness(w, p) > 0.9 for p in split_name(name)) for w in words)]
        if near:
            return near
    return list(dict.fromkeys([*(name for _, _, name in named_in(said, columns)), *_meant(said, columns)]))


def _spans(listed: str, start: int) -> list[Span]:
    return [Span(*place) for place in _items(listed, start)]


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
    for separator in re.finditer(r",?\s*\b(?:and|or|nor|as well as)\b|,|/(?=[A-Za-z])|\s&\s|$", listed):
        if listed[begin : separator.start()].strip(" ,."):
            yield start + begin, start + separator.start()
        begin = separator.end()


class Used(NamedTuple):
    """The columns that alone may be used, and the words that say so; empty where the request does not limit them."""

    columns: tuple[str, ...] = ()
    words: str = ""
    missed: tuple[Span, ...] = ()
    """Where it speaks of what to use, and that fits no columns."""


def only(text: Text, columns: Columns, task: Task | None, target: str = "") -> Used:
    """What alone may be used.

    A list after `from` or `using` limits them if every item of it names a column, or most do and the others fit one;
    one that says `only`, or by which rows are to be divided into groups, if every item fits one.
    """
    missed: list[Span] = []
    forms = [(pattern, _LIKELY) for pattern in _ALONE] + [(_RESTS, 1.0)] + [(_BY, _LIKELY)] * (task == "clustering")
    for pattern, least in forms if columns else ():
        for match in re.finditer(pattern, text.plain, re.I):
            places = _listed(text, match, columns)
            items = [text.plain[one.start : one.end] for one in places]
            known = [_column(item, columns, least) for item in items]
            if least == 1 and 2 * sum(map(bool, known)) > len(items):
                known = [_column(item, columns, _LIKELY) for item in items]
            found = tuple(dict.fromkeys(name for name in known if name and name != target))
            if found and all(known):
                return Used(found, text.quote(match.start(), match.end("list")))
            called = least < 1 and re.search(rf"\b{_NOUN}$|^similar", match["list"].strip(), re.I)
            if called or (least == 1 and any(known)):
                missed += [place for place, name in zip(places, known, strict=True) if not name]
    missed = [one for one in missed if not _OTHERS.search(text.plain[one.start : one.end])]
    return Used(missed=tuple(missed))


def _listed(text: Text, match: re.Match[str], columns: Columns) -> list[Span]:
    """The items of a list of columns: without the words before a bracket, and apart where only blanks divide them."""
    found: list[Span] = []
    for place in _spans(match["list"], match.start("list")):
        start = text.plain.rfind("(", place.start, place.end) + 1 or place.start
        words = list(re.finditer(r"\S+", text.plain[start : place.end]))
        if len(words) > 1 and all(exact(word[0], columns) for word in words):
            found += [Span(start + word.start(), start + word.end()) for word in words]
        else:
            found.append(Span(start, place.end))
    return found


def _meant(clause: str, columns: Columns) -> list[str]:
    """The columns that the items of a list mean without naming them in full."""
    found: list[str] = []
    for begin, end in _items(clause, 0):
        item = clause[begin:end].strip(" ,.'\"")
        if _IDS.fullmatch(item):
            found += [name for name, one in columns.items() if one.kind == "identifier" or split_name(name)[-1] == "id"]
        elif len(item.split()) <= _LONGEST and not re.search(r"\d", item) and (name := _column(item, columns, _SURE)):
            found.append(name)
    return found


def _turned(item: str) -> str:
    """`ids of the users` as `users id`."""
    told = r"(id|identifier|key|name|number)s? of (?:(?:the|our|all|any) )?([\w-]+)"
    match = re.fullmatch(told, item.strip(), re.I)
    return f"{match[2]} {match[1]}" if match else item


def _column(item: str, columns: Columns, least: float) -> str | None:
    """The one column that an item of a list means."""
    digits = set(re.findall(r"\d+", item))
    if len(item.split()) > _LONGEST + 2 or (digits and not any(digits <= set(re.findall(r"\d+", n)) for n in columns)):
        return None
    around = rf"^(?:(?:the|their|its|an?|any|all|my|our|column|columns)\s+)+|\s+{_NOUN}$"
    item = re.sub(around, "", item.strip(" ,.'\"()"), flags=re.I)
    if (name := exact(item, columns)) is not None or least >= 1:
        return name
    best = rank(item, columns)[:2]
    clear = len(best) == 1 or (best and best[0].score - best[1].score > 0.05)
    return best[0].column if clear and best[0].score >= least else None
