"""Reads a README's conventions for feature scripts as data: rules, file patterns and required functions.

Only a fixed set of conventions is recognised; all other text is ignored.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from palmette.features.artefacts import FunctionShape, Role
from palmette.features.repository.checkout import TEST_NAMES, is_called, is_python
from palmette.features.repository.neighbours import role_by_name
from palmette.features.signature import parameters_of, source_of
from palmette.features.team_document import SUFFIXES
from palmette.llm.text import estimate_tokens

_SUBJECT = re.compile(
    r"`|\b(?:lines?|helpers?|outputs?|rows|scripts?|jobs?|views?|entry points?|sorted|casts?|udfs?|name[ds]?|naming"
    r"|snake_case|imports?|select|collect|topandas|withcolumn|functions?|docstrings?|types?|typed|annotat\w+"
    r"|constants?|joins?|window\w*|forbid\w*|columns?|print|cache|count\(\)|repartition|format\w*|line length|module"
    r"|(?:sub)?quer(?:y|ies)|expressions?|keywords?|class(?:es)?|methods?|modules?|settings|pyspark|null\w*|default\w*"
    r"|write\w*|partition\w*|tests?|global\w*|spark)\b",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\b(must|never|always|only|no|not|don't|every|each|all|use|avoid|prefer|ends?|begins?|starts?|define[sd]?|is|are"
    r"|follows?|lists?|refers?|belongs?|returns?|derives?|write|per|keep|live[sd]?|lie[sd]?|go(?:es)?|as|ha[sv]e?|takes?"
    r"|passes|begins?|should|instead|formats?|checks?|with|everywhere)\b|`[^`<]*<\w+>",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"\b(defin\w*|provid\w*|expos\w*|contain\w*|implement\w*|has|have|consists?|functions?)\b", re.IGNORECASE
)
_SCRIPTS = re.compile(
    r"\b(every|each|all|a|any|feature)\s+(?:\w+\s+)?(script|module|file|view|job|feature)s?\b", re.IGNORECASE
)
_CODE = re.compile(r"`([^`\n]+)`")
_PLACEHOLDER = re.compile(
    r"<[^<>/]*>|\{[^{}/]*\}|\$\{?\w*(?:view|name)\w*\}?|\bVIEW(?:_NAME)?\b|\bNAME\b|\*", re.IGNORECASE
)
LINE_LENGTH = re.compile(r"\b(\d{2,3})[ -](?:characters|columns|chars)\b|\bline length\D{0,12}(\d{2,3})", re.IGNORECASE)
_MOST_RULES = 40
_LONGEST = 300


@dataclass(frozen=True)
class ReadmeConventions:
    """Explicit statements of the README; empty where it has none."""

    functions: tuple[FunctionShape, ...] = ()
    script_path: str = ""
    test_path: str = ""
    config_path: str = ""
    line_length: int | None = None
    rules: tuple[str, ...] = ()


_FENCE = re.compile(r"^[ ]{0,3}(```|~~~)[^\n]*\n(?P<body>.*?)^[ ]{0,3}\1[ ]*$", re.MULTILINE | re.DOTALL)
_BULLET_MARK = re.compile(r"\A\s*([-*+]|\d+[.)])\s+")


class _Block(NamedTuple):
    """A bullet, paragraph, table or code block, with its heading."""

    heading: str
    text: str

    @property
    def is_item(self) -> bool:
        return _BULLET_MARK.match(self.text) is not None

    @property
    def plain(self) -> str:
        """The text in one line, without the mark of a list's item."""
        return " ".join(_BULLET_MARK.sub("", self.text, count=1).split())


def read_readme(text: str, test_names: Sequence[str] = TEST_NAMES, helpers: Collection[str] = ()) -> ReadmeConventions:
    """The conventions in a README.

    Args:
        test_names: Patterns for names of test files.
        helpers: Functions that scripts import; a README that names one does not ask for it in each script.

    >>> read_readme("- Scripts live in `jobs/<view>.py`.").script_path
    'jobs/{view}.py'
    """
    blocks = [*_blocks(_FENCE.sub("", text))]
    length = LINE_LENGTH.search(text)
    return ReadmeConventions(
        functions=_functions(text, blocks, helpers),
        **_paths(text, test_names),
        line_length=int(length[1] or length[2]) if length and 60 <= int(length[1] or length[2]) <= 200 else None,
        rules=tuple(rule[:_LONGEST] for block in blocks for rule in _rules(block))[:_MOST_RULES],
    )


def _rules(block: _Block) -> list[str]:
    """The rules of a block: a list's item, or the sentences of a paragraph, but for those that introduce a list."""
    if block.text.startswith(("|", "<", ">")):
        return []
    sentences = [block.plain] if block.is_item else re.split(r"(?<=[.;]) (?=[A-Z`])", block.plain)
    is_listed = block.is_item and _RULES.search(block.heading)
    return [
        one
        for one in sentences
        if is_listed or (_SUBJECT.search(one) and _DUTY.search(one) and (block.is_item or not one.endswith(":")))
    ]


def _paths(text: str, test_names: Sequence[str]) -> dict[str, str]:
    """For each kind of file, the first path in backticks with a placeholder."""
    found: dict[str, str] = {}
    for code in [
        *_CODE.findall(text),
        *(line.split()[0] for fence in _FENCE.finditer(text) for line in fence["body"].splitlines() if line.strip()),
    ]:
        if " " in code or not code.endswith((".py", *SUFFIXES)) or not _PLACEHOLDER.search(code):
            continue
        path = _PLACEHOLDER.sub("{view}", code).removeprefix("./")
        if path.startswith("/") or ".." in path or path.count("{view}") > 2:
            continue
        name = path.rsplit("/", 1)[-1]
        is_test = "test" in name or is_called(name, test_names)
        kind = "json_path" if path.endswith(".json") else "test_path" if is_test else "script_path"
        found.setdefault(kind if path.endswith((".py", ".json")) else "config_path", path)
    other = found.pop("json_path", "")
    return {"config_path": other, **found} if other else found


def _functions(text: str, blocks: Sequence[_Block], helpers: Collection[str]) -> tuple[FunctionShape, ...]:
    """Functions that every script defines, from sentences that require them, then from tables and code blocks."""
    shapes: dict[Role, FunctionShape] = {}
    bullets, others = ([one.plain for one in blocks if one.is_item == kind] for kind in (True, False))
    required = [s for s in (*bullets, *others) if _SCRIPTS.search(s) and _DEFINES.search(s)]
    codes = [code for statement in required for code in _CODE.findall(statement)]
    if required:
        listed = (statement for statement in bullets if statement.startswith(("`", "**`")))
        codes += [code for statement in listed for code in _CODE.findall(statement)[:1]]
        codes += re.findall(r"^\s*\|\s*\**`([^`\n|]+)`", text, re.MULTILINE)
        for fence in _FENCE.finditer(text):
            definitions = ast.unparse(ast.parse(fence["body"] if is_python(fence["body"]) else ""))
            codes += [line for line in definitions.splitlines() if line.startswith("def ")]
    for code in codes:
        shape = parse_signature(code)
        if shape is None or shape.name in helpers:
            continue
        if shape.role not in shapes or (shape.parameters and not shapes[shape.role].parameters):
            shapes[shape.role] = shape
    return tuple(shapes.values())


def parse_signature(code: str) -> FunctionShape | None:
    """Parses `build(tables, as_of) -> DataFrame`, `def build(...)`, `build()` or just `build`."""
    signature = code.strip().removeprefix("def ").removesuffix(":")
    if re.fullmatch(r"[a-z_][a-z0-9_]*", signature):
        signature += "()"
    try:
        node = ast.parse(f"def {signature}: ...").body[0]
    except SyntaxError:
        return None
    assert isinstance(node, ast.FunctionDef)
    role = role_by_name(node.name)
    if role is None:
        return None
    return FunctionShape(name=node.name, role=role, parameters=parameters_of(node), returns=source_of(node.returns))


Stage = Literal["config", "utilities", "scripts", "tests"]
"""The kind of file that the reader of the excerpt writes."""

_WORDS: dict[Stage, re.Pattern[str]] = {
    "config": re.compile(r"config|ya?ml|\bnames\b|naming|snake", re.IGNORECASE),
    "utilities": re.compile(r"util|helper|shared|deprecat|import|\bre-?use", re.IGNORECASE),
    "scripts": re.compile(r"script|feature|transform|\bjobs?\b|pipeline|util|helper|import", re.IGNORECASE),
    "tests": re.compile(r"\btests?\b|testing|pytest|fixture|assert", re.IGNORECASE),
}
"""Patterns of texts about each stage."""
_TITLES: dict[Stage, re.Pattern[str]] = {
    "config": re.compile(r"config", re.IGNORECASE),
    "utilities": re.compile(r"util|helper", re.IGNORECASE),
    "scripts": re.compile(r"script|feature|transform|\bjobs?\b|pipeline", re.IGNORECASE),
    "tests": re.compile(r"\btest", re.IGNORECASE),
}
"""Patterns of headings about each stage, which also mark sections for other stages."""
_NARROW: tuple[Stage, ...] = ("config", "utilities")
"""Stages that need only texts about them."""
_EVERYWHERE = re.compile(
    r"\b(every|all|each|any|no)\s+(\w+\s+)?(files?|modules?|functions?|code|imports?)\b|everywhere|line length",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"install|set.?up|licen[cs]e|contribut|deploy|getting started|usage|running", re.IGNORECASE)
_COMMANDS = re.compile(r"\s*(```|~~~)\w*\n\s*(\$ |(pip|make|git|python|pytest|ruff|docker|uv|poetry|spark-submit)\b)")
_TREE = re.compile(r"(?:(?:```|~~~)\w*\n)?(?:[│├└─|\s]*[\w.<>{}*-]+/\S*(?:[ \t]{2,}.*)?(?:\n|$))+(?:```|~~~)?")
"""A list of paths; the paths that matter are given to each actor."""
_LONGEST_BLOCK = 12
"""Maximum length of a block in lines."""
_HEADING = re.compile(r"#{1,6} ")
_FENCE_LINE = re.compile(r" {0,3}(```|~~~)")
_RULES = re.compile(r"rule|convention|style|guideline|standard|practice", re.IGNORECASE)
"""Headings of lists in which each item is a rule."""


def excerpt(text: str, stage: Stage, tokens: int) -> str:
    """The parts of a README that are relevant to the stage, in file order; the most relevant ones if not all fit."""
    blocks = list(_blocks(text))
    scores = [_score(block, stage) for block in blocks]
    wanted = sorted((score, index) for index, score in enumerate(scores) if score is not None)
    kept: set[int] = set()
    for _, index in wanted:
        size = estimate_tokens(blocks[index].text) + 2
        if size <= tokens:
            kept.add(index)
            tokens -= size
    return "\n\n".join(_rendered(blocks, kept))


def _score(block: _Block, stage: Stage) -> int | None:
    """Rank of a block, where 0 is the most relevant; None to leave it out."""
    if _COMMANDS.match(block.text) or _TREE.fullmatch(block.text):
        return None
    if _WORDS[stage].search(block.heading):
        return 0
    named, general = bool(_WORDS[stage].search(block.text)), bool(_EVERYWHERE.search(block.text))
    if stage in _NARROW:
        return 1 if named else None
    elsewhere = any(pattern.search(block.heading) for pattern in _TITLES.values())
    if not named and not general and (elsewhere or _OPERATION.search(block.heading)):
        return None
    is_rule = read_readme(block.text) != read_readme("")
    return 1 if is_rule and (named or general) else 2 if is_rule or named or general else 3


def _blocks(text: str) -> Iterator[_Block]:
    heading, lines, fence = "", list[str](), ""
    for line in map(str.rstrip, text.splitlines()):
        opened = _FENCE_LINE.match(line)
        if fence or opened:
            lines.append(line)
            fence = "" if fence and opened and opened[1] == fence else fence or (opened[1] if opened else "")
            continue
        if not line.strip() or _HEADING.match(line) or _BULLET_MARK.match(line):
            if lines:
                yield _Block(heading, "\n".join(lines))
            lines = []
            heading = line if _HEADING.match(line) else heading
            if not line.strip() or _HEADING.match(line):
                continue
        lines.append(line)
        if len(lines) == _LONGEST_BLOCK:
            yield _Block(heading, "\n".join(lines))
            lines = []
    if lines:
        yield _Block(heading, "\n".join(lines))


def _rendered(blocks: list[_Block], kept: set[int]) -> Iterator[str]:
    """The selected blocks under their headings, with a list's bullets kept together, and a note about omissions."""
    for heading, group in groupby((blocks[index] for index in sorted(kept)), key=lambda block: block.heading):
        texts = [block.text if block.is_item else f"{block.text}\n" for block in group]
        yield "\n".join([*([heading, ""] if heading else []), *texts]).rstrip()
    left_out = (block for index, block in enumerate(blocks) if index not in kept)
    if missing := dict.fromkeys(block.heading.lstrip("# ") or "the beginning" for block in left_out):
        yield f"[Left out, all or part of: {'; '.join(missing)}.]"
