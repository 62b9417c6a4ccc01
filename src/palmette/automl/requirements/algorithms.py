"""The algorithms that a request names, and whether it wants them."""

from __future__ import annotations

import re
from typing import NamedTuple

from palmette.automl.requirements.model import AlgorithmWish, Mood
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import Mention

_NOT = (
    r"\b(?:no|not|never|without|avoid(?:s|ing)?|exclud(?:e|es|ing)|except|neither|nor|"
    r"instead of|rather than|other than|forbid(?:den)?|"
    r"ban(?:ned)?|skip|refrain|anything but|dislike|hate|omit|cannot|rule out)\b|n't\b"
)
_MAY = (
    r"\b(?:potentially|maybe|perhaps|possibly|e\.g|for (?:example|instance)|"
    r"such as|like|"
    r"prefer(?:s|ably|red|ring)?|ideally|could|might|can|may|consider|"
    r"try(?:ing)?|favou?rite|first choice|suggest|recommend|if possible|happy with|"
    r"fond of|something like|start with|think of|probably)\b"
)
_MUST = (
    r"\b(?:use|using|must|only|with|train|fit|build|based on|implement|employ|via|"
    r"go for|"
    r"choose|apply|run|fine-?tune|develop|need|want|require)\b"
)
_BASELINE = (
    r"\b(?:beats?|outperforms?|better than|compar(?:e|ed|ing|ison)|against|"
    r"(?:versus|vs)\b(?!\.? (?:the )?(?:rest|others?|all)\b)|"
    r"baseline|"
    r"current(?:ly)?|existing|today|so far|our old|at the moment)\b"
)
_BEFORE: tuple[tuple[Mood, re.Pattern[str]], ...] = (
    ("not", re.compile(_NOT, re.I)),
    ("baseline", re.compile(_BASELINE, re.I)),
    ("may", re.compile(_MAY, re.I)),
    ("must", re.compile(_MUST, re.I)),
)
_AFTER: tuple[tuple[Mood, re.Pattern[str]], ...] = (
    (
        "must",
        re.compile(
            r"^(?:\s+models?|\s+ones?)?\s+(?:is|are|will be|would be)?\s*"
            r"(?:enough|sufficient|all (?:we|i) need|will do|suffices?)\b",
            re.I,
        ),
    ),
    (
        "not",
        re.compile(
            r"^[^,.;]{0,12}\b(?:not (?:be )?(?:allowed|used|wanted|permitted|an option)|"
            r"forbidden|"
            r"banned|excluded|out of the question|unwanted|off limits)",
            re.I,
        ),
    ),
    (
        "baseline",
        re.compile(
            r"^(?!\s*(?:that|which)\b)[^,.;]{0,12}\b(?:baseline|reaches|gets|gives|achieves|has|scores|is (?:our|"
            r"the) (?:current|existing))\b",
            re.I,
        ),
    ),
    (
        "may",
        re.compile(
            r"^[^,.;]{0,30}\b(?:preferred|first choice|favou?rite|if possible|preferabl[ey]|"
            r"suggests?|suggested|recommends?|recommended|"
            r"would be (?:nice|great|good|fine|ok)|(?:is |are )?(?:fine|ok|okay|acceptable)\b|welcome|optional|"
            r"or similar|or something)",
            re.I,
        ),
    ),
)
_NEW_THOUGHT = re.compile(
    r";|,\s*(?:but|so|use|using|try|train|fit|prefer|please|just|rather|instead|"
    r"and (?:use|try|train|fit))\b|(?<!anything )(?<!everything )(?<!all )\b(?:but|"
    r"however|though)\b|(?<=\s)-\s",
    re.I,
)
_LIST = re.compile(
    r"\W*(?:\b(?:and|or|nor|either|neither|an?|the|any|no|even|also|as well as|model|"
    r"models|with)\b\W*)*",
    re.I,
)
_COMPARED_WITH = re.compile(r"^[^.;]{0,30}\b(?:against|with|to|versus|vs)\b", re.I)
"""After the first of two that are compared, which is not the baseline."""
_DONE_WITH = re.compile(
    r"^(?!\W*(?:(?:any(?:thing)?|every(?:thing)?|all|models?|methods?|ever|even)\W+)*using\b)[^,;]*\w\W+using\b", re.I
)
"""After a no: what it is about has been said, and what is to be used comes now."""
_STRENGTH: dict[Mood, int] = {"not": 3, "must": 2, "may": 1, "baseline": 0}
_NOT_ONLY = re.compile(
    r"\bnot (?:only|just|necessarily)\b|\bno (?:later|more|less|longer|bigger|larger|"
    r"worse) than\b|\bwhy not\b",
    re.I,
)


class _Read(NamedTuple):
    mention: Mention
    mood: Mood


def algorithms(text: Text, found: list[Mention]) -> tuple[AlgorithmWish, ...]:
    """The wishes among the mentions, by algorithm the strongest one, in the order of the text."""
    read: list[_Read] = []
    for mention in found:
        read.append(_Read(mention, _mood(text, mention, read)))
    if any(one.mood == "must" for one in read):
        # Who says what to use and what they like best of it has said what to use.
        read = [one._replace(mood="must") if one.mood == "may" and _repeated(one, read) else one for one in read]
    wishes: dict[str, AlgorithmWish] = {}
    for one in read:
        name = one.mention.name
        wish = AlgorithmWish(
            name=name, mood=one.mood, pretrained=_pretrained(text, one.mention), words=_words(text, one.mention)
        )
        if name not in wishes or _STRENGTH[one.mood] > _STRENGTH[wishes[name].mood]:
            wishes[name] = wish
    return tuple(wishes.values())


def _repeated(one: _Read, read: list[_Read]) -> bool:
    return any(other.mention.name == one.mention.name and other.mood == "must" for other in read)


def _mood(text: Text, mention: Mention, earlier: list[_Read]) -> Mood:
    sentence = text.sentence(mention.start)
    rest = text.plain[mention.end : sentence.end]
    start, inherited = sentence.start, None
    if earlier and earlier[-1].mention.end > start:
        gap = text.plain[earlier[-1].mention.end : mention.start]
        start = earlier[-1].mention.end
        if _LIST.fullmatch(re.sub(r"[()/&]", " ", gap)) and not re.search(r"\bno\b", gap):
            return earlier[-1].mood
        inherited = earlier[-1].mood if not _NEW_THOUGHT.search(gap) and len(gap.split()) < 4 else None
    before = _NOT_ONLY.sub(lambda m: " " * len(m[0]), text.plain[start : mention.start])
    for cut in _NEW_THOUGHT.finditer(before):
        before = " " * (cut.start() + 1) + before[cut.start() + 1 :]
    cues = [(match.end(), -rank, mood) for rank, (mood, p) in enumerate(_BEFORE) for match in p.finditer(before)]
    cues = [cue for cue in cues if cue[2] != "not" or not _DONE_WITH.match(before[cue[0] :])]
    if _AFTER[0][1].search(rest):
        return _AFTER[0][0]
    if any(mood == "not" and len(before[end:].split()) <= 6 for end, _, mood in cues):
        return "not"
    for mood, pattern in _AFTER[1:]:
        if pattern.search(rest):
            return mood
    if _COMPARED_WITH.search(rest):
        cues = [cue for cue in cues if cue[2] != "baseline"]
    soft = [mood for mood in ("baseline", "may") if any(mood == one for _, _, one in cues)]
    return soft[0] if soft else (inherited or "must")  # type: ignore[return-value]  # moods


def _pretrained(text: Text, mention: Mention) -> bool:
    before = text.plain[max(0, mention.start - 20) : mention.start]
    return re.search(r"\b(?:pre-?trained|fine-?tun\w+)\s*(?:an?\s+|the\s+)?$", before, re.I) is not None


def _words(text: Text, mention: Mention) -> str:
    """The name with some words before it, as they stand in its clause."""
    sentence = text.sentence(mention.start)
    clause = (
        max((m.end() for m in re.finditer(r"[,;:()]", text.plain[sentence.start : mention.start])), default=0)
        + sentence.start
    )
    starts = [clause + m.start() for m in re.finditer(r"\S+", text.plain[clause : mention.start])]
    return text.quote(starts[-5] if len(starts) > 5 else (starts or [mention.start])[0], mention.end)
