"""Reads a README's conventions for feature scripts as data: rules, file patterns and required functions.

Only a fixed set of conventions is recognised; all other text is ignored.
"""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from palmette.features.artefacts import FunctionShape, Role
from palmette.features.repository.checkout import TEST_NAMES, is_called, is_python
from palmette.features.repository.neighbours import role_by_name
from palmette.features.signature import parameters_of, source_of
from palmette.features.team_document import SUFFIXES

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?P<text>.*)$")
_SUBJECT = re.compile(
    r"`|\b(?:lines?|helpers?|outputs?|rows|scripts?|jobs?|views?|entry points?|sorted|casts?|udfs?|name[ds]?|naming"
    r"|snake_case|imports?|select|collect|topandas|withcolumn|functions?|docstrings?|types?|typed|annotat\w+"
    r"|constants?|joins?|window\w*|forbid\w*|columns?|print|cache|count\(\)|repartition|format\w*|line length|module"
    r"|quer(?:y|ies)|keywords?|class(?:es)?|methods?|modules?|settings|pyspark|null\w*|default\w*|write\w*|partition\w*"
    r"|tests?|global\w*|spark)\b",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\b(must|never|always|only|no|not|don't|every|each|all|use|avoid|prefer|ends?|begins?|starts?|define[sd]?|is|are"
    r"|follows?|lists?|refers?|belongs?|returns?|derives?|write|per|keep|live[sd]?|lie[sd]?|go(?:es)?|as|ha[sv]e?|takes?"
    r"|passes|begins?|should)\b|`[^`<]*<\w+>",
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


def read_readme(text: str, test_names: Sequence[str] = TEST_NAMES, helpers: Collection[str] = ()) -> ReadmeConventions:
    """The conventions in a README.

    Args:
        test_names: Patterns for names of test files.
        helpers: Functions that scripts import; a README that names one does not ask for it in each script.

    >>> read_readme("- Scripts live in `jobs/<view>.py`.").script_path
    'jobs/{view}.py'
    """
    bullets = _bullets(_FENCE.sub("", text))
    paths = _paths(text, test_names)
    length = LINE_LENGTH.search(text)
    return ReadmeConventions(
        functions=_functions(text, bullets, helpers),
        **paths,
        line_length=int(length[1] or length[2]) if length and 60 <= int(length[1] or length[2]) <= 200 else None,
        rules=tuple(b[:_LONGEST] for b in bullets if _SUBJECT.search(b) and _DUTY.search(b))[:_MOST_RULES],
    )


def _bullets(text: str) -> list[str]:
    """List items, each joined with its continuation lines."""
    items: list[str] = []
    inside = False
    for line in text.splitlines():
        match = _BULLET.match(line)
        if match:
            items.append(match["text"].strip())
            inside = True
        elif inside and line.startswith((" ", "\t")) and line.strip():
            items[-1] += " " + line.strip()
        else:
            inside = False
    return items


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


def _functions(text: str, bullets: list[str], helpers: Collection[str]) -> tuple[FunctionShape, ...]:
    """Functions that every script defines, from sentences that require them, then from tables and code blocks."""
    shapes: dict[Role, FunctionShape] = {}
    statements = [*bullets, *(" ".join(p.split()) for p in re.split(r"\n\s*\n", _FENCE.sub("", text)))]
    required = [s for s in statements if _SCRIPTS.search(s) and _DEFINES.search(s)]
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
