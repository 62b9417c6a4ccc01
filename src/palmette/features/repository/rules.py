"""Checks the delivered files against each rule of the team's README: followed, not followed, or not checkable.

Rules in prose are checked for explicit statements: an import, a function with its parameters, a path, a number, or
something that must not be called. A rule with several statements is followed if all of them hold.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from palmette.features.artefacts import Conventions
from palmette.features.repository.checkout import called_names, is_python
from palmette.features.repository.habits import (
    CASTS,
    DOCSTRING_FORMS,
    EXACT_FUNCTIONS,
    SORTED,
    is_sorted,
    output_columns,
)
from palmette.features.repository.readme import LINE_LENGTH
from palmette.features.signature import is_frame, parameters_of, shape_of

_CODE = re.compile(r"`([^`]+)`")
_NEVER = re.compile(r"\b(no|never|not|don't|avoid|without|forbid\w*|instead of)\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<[^<>/]*>|\{[^{}/]*\}")
_FUNCTIONS = re.compile(r"\b(functions?|methods?|defines?)\b")
_OF_FRAMES_TOO = ("coalesce", "count", "exists", "filter", "first", "replace", "transform")
"""Methods of data frames with the name of a function for columns."""
_BUILDING = re.compile(
    r"\b(pure|side effects?|(?:reads?|writes?|sets?|touch(?:es)?) (?:nothing|neither)|never (?:reads?|writes?)(?! `)"
    r"|no (?:reading|writing))\b",
    re.IGNORECASE,
)
_DEMANDED = re.compile(r"\b(use[sd]?|calls?|compares?|derives?|inherits?|must)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(where|when|if|unless|or|for|may|can)\b", re.IGNORECASE)
"""A word before a name without which a rule does not demand it, and words that make it depend on the view."""
_CONSTANTS = re.compile(r"\bconstants?\b", re.IGNORECASE)
_FUNCTION_LENGTH = re.compile(r"\b(?:functions?|methods?)\b[^.;]*?\b(\d{1,3}) lines\b", re.IGNORECASE)
_PLACE_OF_HELPERS = re.compile(r"\bhelpers?\b.*\b(above|before|below|after)\b", re.IGNORECASE)


class RuleReport(NamedTuple):
    rule: str
    status: Literal["followed", "not followed", "not checkable"]
    how: str
    """The evidence, or why the rule cannot be checked."""


class _Claim(NamedTuple):
    what: str
    holds: bool | None
    """None if nothing shows whether the rule applies to the script."""


@dataclass(frozen=True)
class DeliveredFiles:
    script: str
    script_path: str
    tests: str
    test_path: str
    config_path: str
    conventions: Conventions
    view: str
    linted: Mapping[str, bool] = field(default_factory=dict)
    """For each of the team's linters that ran: whether it finds nothing."""

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; empty for a query."""
        return ast.parse("" if self.conventions.is_query else self.script)

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)}

    @cached_property
    def builder(self) -> ast.FunctionDef | None:
        return self.functions.get(shape_of(self.conventions, "build").name)

    @cached_property
    def called(self) -> set[str]:
        return {name.rpartition(".")[2] for name in called_names(self.tree)}


def rule_reports(files: DeliveredFiles) -> tuple[RuleReport, ...]:
    return tuple(_report(rule, files) for rule in files.conventions.rules)


def _report(rule: str, files: DeliveredFiles) -> RuleReport:
    parts = re.split(r"(?<=[.;]) ", rule)
    claims = list(dict.fromkeys(claim for part in parts for reader in _READERS for claim in reader(part, files)))
    if not claims:
        return RuleReport(rule, "not checkable", "it states nothing that can be looked up in the files")
    broken = [claim.what for claim in claims if claim.holds is False]
    if broken:
        return RuleReport(rule, "not followed", f"not so: {'; '.join(broken)}")
    is_open = any(claim.holds is None for claim in claims)
    return RuleReport(rule, "not checkable" if is_open else "followed", "; ".join(claim.what for claim in claims))


def _codes(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    """Each piece of code in backticks: it is not called after a word that forbids it, else it is there."""
    start = _NEVER.search(rule)
    for found in _CODE.finditer(rule):
        is_forbidden = start is not None and start.start() < found.start()
        code = found[1]
        name = re.fullmatch(r"[.@]?(?:[\w.]+\.)?([A-Za-z_]\w*)(?<!\.py)(?P<rest>\(.*\))?(?: -> .+)?", code)
        if re.match(r"(from [\w.]+ )?import |[\w.]+ as \w+$", code):
            yield _import(code, files, is_forbidden=is_forbidden)
        elif runner := re.match(r"(?:python3? -m )?(pytest(?= |$)|unittest\b)", code):
            collects = runner[1] == "pytest" or "unittest.TestCase" in files.tests
            yield _Claim(f"{runner[1]} collects the tests", collects != is_forbidden)
        elif re.match(r"--[a-z]|(python3?|spark-submit) ", code):
            yield _call_or_option(code, files)
        elif _PLACEHOLDER.search(code):
            yield _named_for_view(code, rule, files)
        elif name and (name[1] == "Final" or any(name[1] == command[0] for command in files.conventions.linters)):
            continue
        elif name and is_forbidden:
            yield _forbidden(code, name[1], name["rest"] or "", files)
        elif name and (node := files.functions.get(name[1])) is not None:
            yield _signature(node, name["rest"] or "", files)
        elif name and name[1] not in files.script and _FUNCTIONS.search(rule):
            yield _Claim(f"{'class' if name[1][0].isupper() else 'function'} `{name[1]}`", holds=False)
        elif name:
            is_there = name[1] in f"{files.script} {files.tests} {files.conventions.linters}"
            yield _Claim(f"`{code}` is {'used' if is_there else 'not found'}", is_there or _absent(rule, found.start()))
        elif " " not in code or code in files.script:
            is_there = code in files.script
            yield _Claim(f"`{code}` is {'there' if is_there else 'not found'}", is_there or None)


def _call_or_option(code: str, files: DeliveredFiles) -> _Claim:
    """A command that runs a script, or an option of it."""
    entry = files.conventions.entry
    options = {re.split(r"[ =]", word)[0] for word in code.split() if word.startswith("--")}
    if code.startswith("--"):
        return _Claim(f"`{min(options)}` is an option", min(options) in f"{files.script} {entry.arguments}")
    is_read = bool(entry.source) and not entry.source.endswith(".py")
    return _Claim("its call is a check", (is_read and options <= {*entry.arguments}) or None)


def _absent(rule: str, at: int) -> bool | None:
    """Whether a rule holds without the name at this place: not if it demands the name in every script."""
    return False if _DEMANDED.search(rule[:at]) and not _CONDITION.search(rule) else None


def _named_for_view(code: str, rule: str, files: DeliveredFiles) -> _Claim:
    """A path, class or other code with a placeholder for the view's name."""
    snake, camel = (_PLACEHOLDER.sub(name, code) for name in (files.view, files.view.title().replace("_", "")))
    if re.search(r"\.\w+$", code) and " " not in code:
        path = snake.removeprefix("./")
        query = files.conventions.query_path.replace("{view}", files.view)
        return _Claim(f"`{path}`", path in (files.script_path, files.test_path, files.config_path, query))
    if found := next((name for name in (snake, camel) if name in f"{files.script} {files.tests}"), ""):
        return _Claim(f"`{found}` is there", holds=True)
    is_required = _FUNCTIONS.search(rule) or re.search(r"\bclass(es)?\b", rule)
    return _Claim(f"`{camel}` is not found", False if is_required else None)


def _forbidden(code: str, name: str, arguments: str, files: DeliveredFiles) -> _Claim:
    """Something that is never called, or not with these arguments."""
    if arguments.strip("(.)") and is_python(code):
        return _Claim(f"`{code}` is not there", ast.unparse(ast.parse(code)) not in ast.unparse(files.tree))
    called = set(called_names(files.tree))
    if name in _OF_FRAMES_TOO:
        modules = [
            alias for node in files.tree.body if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
        ]
        called -= {f"{alias.asname or alias.name}.{name}" for alias in modules}
    return _Claim(f"`{name}` is never called", name not in {each.rpartition(".")[2] for each in called})


def _import(code: str, files: DeliveredFiles, *, is_forbidden: bool) -> _Claim:
    """An import statement, or the name that a module has (`functions as F`)."""
    wanted, imports = _single_imports(ast.parse(code)) if is_python(code) else [code], _single_imports(files.tree)
    subject = code.split(" as ")[0].rpartition(" ")[2].rpartition(".")[2]
    concerned = any(re.search(rf"\b{subject}\b", line) for line in imports)
    if not concerned:
        return _Claim(f"the script does not import `{subject}`", holds=True)
    is_there = set(wanted).issubset(imports) or any(re.search(rf"[ .]{re.escape(code)}$", line) for line in imports)
    return _Claim(f"`{code}` is {'not ' * is_forbidden}in the script", is_there != is_forbidden)


def _single_imports(tree: ast.Module) -> list[str]:
    """The import statements, with one for each name."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found += [ast.unparse(ast.ImportFrom(node.module, [alias], node.level)) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [ast.unparse(ast.Import([alias])) for alias in node.names]
    return found


def _signature(node: ast.FunctionDef, rest: str, files: DeliveredFiles) -> _Claim:
    """The parameters of a function, if the rule gives them; tables of the view stand for tables of any name."""
    given = [one.name for one in parameters_of(node)]
    names = (re.split("[:=]", part)[0].strip() for part in rest.strip("()").partition(")")[0].split(","))
    wanted = [one for one in names if one not in ("", "self", "cls")]
    is_builder = node is files.builder and any(map(is_frame, shape_of(files.conventions, "build").parameters))
    same = given == wanted or (is_builder and given[-1:] == wanted[-1:])
    return _Claim(f"`{node.name}({', '.join(given)})`", same or not wanted)


def _words(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    """What a rule forbids or counts in words."""
    if re.search(r"\bstar imports?\b", rule):
        yield _Claim("no star import", "import *" not in files.script)
    forbidden = rule[start.start() :] if (start := _NEVER.search(rule)) else ""
    if re.search(r"\bUDFs?\b|\buser-defined functions?\b", forbidden, re.IGNORECASE):
        yield _Claim("no UDF", not {"udf", "pandas_udf"} & files.called)
    if re.search(r"\bpandas\b", forbidden):
        yield _Claim("`pandas` is not imported", not re.search(r"\bimport pandas\b|\bfrom pandas\b", files.script))
    if re.search(r"\bprint\b", forbidden):
        yield _Claim("`print` is never called", "print" not in files.called)
    number = EXACT_FUNCTIONS.search(rule)
    words = {"these": len(files.conventions.functions), "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
    if number and (wanted := words.get(number[1] or number[2])):
        found = [name for name in files.functions if number[1] or not name.startswith("_")]
        yield _Claim(f"it has {', '.join(f'`{name}`' for name in found)}", len(found) == wanted)


def _lines(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if found := LINE_LENGTH.search(rule):
        longest = max(len(line) for line in [*files.script.splitlines(), *files.tests.splitlines()])
        yield _Claim(f"the longest line has {longest} characters", longest <= int(found[1] or found[2]))


def _constants(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if _CONSTANTS.search(rule) and "Final" in rule:
        bare = [
            ast.unparse(node.targets[0])
            for node in files.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        ]
        yield _Claim(f"constants without `Final`: {', '.join(bare) or 'none'}", not bare)


def _function_lengths(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if (found := _FUNCTION_LENGTH.search(rule)) and files.functions:
        lengths = {name: (node.end_lineno or 0) - node.lineno + 1 for name, node in files.functions.items()}
        longest = max(lengths, key=lengths.__getitem__)
        has = f"`{longest}`, the longest function, has {lengths[longest]} lines"
        yield _Claim(has, lengths[longest] <= int(found[1]))


def _docstrings(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if not re.search(r"\bdocstrings?\b", rule, re.IGNORECASE) or _NEVER.search(rule):
        return
    docs = {name: ast.get_docstring(node) for name, node in files.functions.items() if not name.startswith("__")}
    bare = [name for name, doc in docs.items() if not doc]
    yield _Claim(f"{len(docs)} functions have a docstring", not bare)
    for style, mark in DOCSTRING_FORMS.items():
        if style in rule.lower():
            other = [name for name, doc in docs.items() if not re.search(mark, doc or "", re.MULTILINE)]
            but = f", but for {', '.join(other)}" if other else ""
            yield _Claim(f"in the form of {style.title()}{but}", not other)
    if re.search(r"\b(one|single)[- ]line\b(?! summar)", rule, re.IGNORECASE):
        longer = [name for name, doc in docs.items() if "\n" in (doc or "")]
        yield _Claim(f"docstrings of several lines: {', '.join(longer) or 'none'}", not longer)
    if re.search(r"\bimperative\b", rule, re.IGNORECASE):
        yield _Claim("whether they are imperative cannot be checked", None)


def _pure(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if not _BUILDING.search(rule) or files.builder is None:
        return
    text = ast.unparse(files.builder)
    found = [word for word in (".read", ".write", ".conf.set", ".table(", "saveAsTable") if word in text]
    what = f"`{files.builder.name}` has {', '.join(f'`{word}`' for word in found)}" if found else "it only computes"
    yield _Claim(what, not found)


def _casts(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if not CASTS.search(rule):
        return
    columns = output_columns(files.builder) if files.builder else []
    bare = [column for column in columns if ".cast(" not in column]
    yield _Claim(f"{len(columns) - len(bare)} of {len(columns)} output columns are cast", bool(columns) and not bare)


def _sorted(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if SORTED.search(rule) and files.builder is not None:
        yield _Claim("the output is sorted", is_sorted(files.builder))


def _helpers(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if re.search(r"\bhelpers?\b", rule, re.IGNORECASE) and re.search(r"\bunderscore\b|`_", rule):
        roles = {shape.name for shape in files.conventions.functions}
        plain = [name for name, node in files.functions.items() if not node.decorator_list]
        public = [name for name in plain if name not in roles and not name.startswith("_")]
        yield _Claim(f"helpers without underscore: {', '.join(public) or 'none'}", not public)
    if (place := _PLACE_OF_HELPERS.search(rule)) and files.builder is not None:
        at = files.builder.lineno
        private = [node for name, node in files.functions.items() if name.startswith("_")]
        above = [node.name for node in private if node.lineno < at]
        expected = len(private) if place[1] in ("above", "before") else 0
        yield _Claim(
            f"{len(above)} of {len(private)} helpers stand above `{files.builder.name}`", len(above) == expected
        )


def _linters(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    """What the team's linters that a rule names find."""
    how = {True: "finds nothing", False: "objects", None: "did not run here"}
    for name in (command[0] for command in files.conventions.linters):
        if re.search(rf"\b{name}\b", rule):
            yield _Claim(f"`{name}` {how[files.linted.get(name)]}", files.linted.get(name))


def _annotated(rule: str, files: DeliveredFiles) -> Iterator[_Claim]:
    if _CONSTANTS.search(rule) or _NEVER.search(rule):
        return
    if re.search(r"\b(annotat\w+|type hints?|typed)\b", rule, re.IGNORECASE):
        every = [(name, one) for name, node in files.functions.items() for one in parameters_of(node)]
        bare = [name for name, one in every if not one.annotation]
        yield _Claim(f"parameters without a type: {', '.join(bare) or 'none'}", not bare)
    if re.search(r"\b(results?|returns?)\b[^.;]*\bannotat", rule, re.IGNORECASE):
        bare = [name for name, node in files.functions.items() if node.returns is None]
        yield _Claim(f"results without a type: {', '.join(bare) or 'none'}", not bare)


_READERS: Sequence[Callable[[str, DeliveredFiles], Iterator[_Claim]]] = (
    _codes, _words, _lines, _constants, _function_lengths, _docstrings, _pure, _casts, _sorted, _helpers, _annotated,
    _linters,
)  # fmt: skip
