"""Style of a team's scripts apart from their functions: imports, docstrings, casts, and how they are run."""

import ast
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from palmette.features.artefacts import ScriptEntry, ScriptStyle
from palmette.features.repository.checkout import Checkout, Function, Module, called_names, dotted_name, is_python
from palmette.features.repository.neighbours import Neighbour, builder_of, entry_of, guard_of
from palmette.features.signature import BY_NAME

_MODULES = ("pyspark.sql.functions", "pyspark.sql.types", "pyspark.sql.Window", "datetime")
_DAY = "%Y-%m-%d"
_COMMAND = re.compile(r"^[\s$>*-]*`?((?:[\w./-]*python3?|spark-submit)\s[^`\n]+)`?", re.MULTILINE)
_INLINE_COMMAND = re.compile(r"`((?:python3?|spark-submit)\s[^`\n]+)`")
_TEXTS = (".md", ".rst", ".txt", ".sh", ".yml", ".yaml", ".toml", "Makefile")
_CONFIG = re.compile(r"conf|cfg|settings|params|options")
_CUTOFF = re.compile(r"as_?of|cut_?off|date|until|day|timestamp|^ds$")
_NEXT_DAY = re.compile(r"\+ *(?:\w+\.)?timedelta\((?:days=)?1\)")
_OF_DAY = r"(?m)^--?(?:\w+[-_])?(?:day|date)\n\{cutoff\}$"
"""A day as an option, the end of which is the cut-off."""
CASTS = re.compile(r"\b(every|each|all)\b.*\bcast(s|ed)?\b", re.IGNORECASE)
SORTED = re.compile(r"\b(output|result|rows)\b.*\b(sorted|ordered)\b", re.IGNORECASE)
"""Rules of a README that ask for a cast of every column, and for sorted rows."""
EXACT_FUNCTIONS = re.compile(r"\b(?:exactly (\w+) functions?|(one) public function(?! per))\b")
"""A rule that allows no other function; `these` functions, or their number."""
_VIEW = re.compile(r"view|feature|name|job")
_VIEWS = re.compile(r"<\w*(?:view|name|feature|job|module)\w*>|(?<=[./])<\w+>|\{(?:view|name|feature|job|module)\}")
_FORMATS = re.compile(r"""\.(parquet|csv|orc|json|delta)\(|format\(["'](\w+)["']\)""")
DOCSTRING_FORMS: Mapping[Literal["google", "numpy", "sphinx"], str] = {
    "google": r"^(Args|Returns):$",
    "numpy": r"^-{4,}$",
    "sphinx": r"^:(param|returns?)\b",
}


def style_of(neighbours: Sequence[Neighbour], readme: str) -> ScriptStyle:
    """The style of most neighbours. What the README spells out takes precedence."""
    statements = Counter(found for one in neighbours for found in _import_statements(one.module.tree))
    usual: dict[str, tuple[str, str]] = {}
    for (dotted, local, text), _ in statements.most_common():
        usual.setdefault(dotted, (local, text))
    for code in re.findall(r"`?((?:from [\w.]+ )?import [\w.]+ as \w+)`?", readme):
        for dotted, local, text in _import_statements(ast.parse(code if is_python(code) else "")):
            usual[dotted] = (local, text)
    for name, local in re.findall(r"`(\w+) as (\w+)`", readme):
        if f"pyspark.sql.{name}" in _MODULES:
            usual[f"pyspark.sql.{name}"] = (local, f"from pyspark.sql import {name} as {local}")
    builders = [builder.node for one in neighbours if (builder := builder_of(one.module)) is not None]
    columns = [found for node in builders if (found := output_columns(node))]
    casts = [all(".cast(" in column for column in found) for found in columns]
    cast_types = re.findall(r"\.cast\((.)", "\n".join(one.module.text for one in neighbours))
    helpers, helpers_first = _helpers(neighbours, readme)
    return ScriptStyle(
        imports={dotted: local for dotted, (local, _) in usual.items()},
        statements={dotted: text for dotted, (_, text) in usual.items()},
        docstrings=_stated_form(readme) or _docstrings(neighbours),
        helpers=helpers,
        helpers_first=helpers_first,
        casts=_most(casts) or CASTS.search(readme) is not None,
        type_objects=_most([quote not in "\"'" for quote in cast_types]),
        constant=_constant_annotation(neighbours),
        sorted=_most([is_sorted(node) for node in builders]) or SORTED.search(readme) is not None,
    )


def _constant_annotation(neighbours: Sequence[Neighbour]) -> str:
    """The most frequent annotation of module constants, with `{type}` for the type of a literal."""
    found = Counter[str]()
    for node in (node for one in neighbours for node in one.module.tree.body):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.isupper():
            annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
            found[re.sub(r"\b(int|str|float|bool)\b", "{type}", annotation)] += 1
    usual = max(found, key=found.__getitem__, default="")
    return usual if re.fullmatch(r"Final(\[\{type\}\])?|\{type\}", usual) else ""


def _most(found: Sequence[bool]) -> bool:
    return 2 * sum(found) > len(found)


def _import_statements(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Dotted name, local name and statement of those imports that generated code also needs."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                dotted = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                dotted = dotted.replace("pyspark.sql.window.", "pyspark.sql.")
                if dotted in _MODULES or dotted.startswith("datetime."):
                    single = ast.ImportFrom(node.module, [alias], 0) if isinstance(node, ast.ImportFrom) else None
                    yield dotted, alias.asname or alias.name, ast.unparse(single or ast.Import([alias]))


def _stated_form(readme: str) -> Literal["google", "numpy", "sphinx"] | None:
    """The form of docstrings that a README names."""
    sentences = [
        text.lower() for text in re.split(r"[.\n]", readme) if re.search(r"\bdocstrings?\b", text, re.IGNORECASE)
    ]
    return next((form for form in DOCSTRING_FORMS if any(form in text for text in sentences)), None)


def _docstrings(neighbours: Sequence[Neighbour]) -> Literal["google", "numpy", "sphinx", "plain", "none"]:
    functions = [f for one in neighbours for f in (*one.module.functions, *one.module.methods)]
    docs = [function.doc for function in functions if function.doc]
    if 2 * len(docs) < len(functions):
        return "none"
    for form, pattern in DOCSTRING_FORMS.items():
        if _most([re.search(pattern, doc, re.MULTILINE) is not None for doc in docs]):
            return form
    return "plain"


def _helpers(
    neighbours: Sequence[Neighbour], readme: str
) -> tuple[Literal["public", "private", "method", "none"], bool]:
    """How neighbours name the helper functions of their build function, or of functions without one.

    And whether they stand above the build function.
    """
    found, above = list[Function](), list[bool]()
    for one in neighbours:
        builder, entry = builder_of(one.module), entry_of(one.module)
        called = {name.rpartition(".")[2] for name in called_names(builder.node if builder else one.module.tree)}
        own = (*one.module.functions, *one.module.methods)
        used = [function for function in own if function.name in called and function.name != entry]
        above += [builder is not None and function.node.lineno < builder.node.lineno for function in used]
        found += used
    if not found:
        usual: Literal["public", "private"] = "private" if neighbours else "public"
        return "none" if len(neighbours) > 1 or EXACT_FUNCTIONS.search(readme) else usual, False
    methods = [one for neighbour in neighbours for one in neighbour.module.methods]
    if _most([one in methods for one in found]):
        return "method", _most(above)
    return "private" if _most([one.name.startswith("_") for one in found]) else "public", _most(above)


def _methods_of_result(node: ast.FunctionDef) -> dict[str, ast.Call]:
    """The calls of methods in the last `return`, by name; the outermost ones come first."""
    returned = [child.value for child in ast.walk(node) if isinstance(child, ast.Return) and child.value is not None]
    calls = [child for child in ast.walk(returned[-1]) if isinstance(child, ast.Call)] if returned else []
    return {call.func.attr: call for call in reversed(calls) if isinstance(call.func, ast.Attribute)}


def output_columns(node: ast.FunctionDef) -> list[str]:
    """The arguments of the `select` or `agg` that makes a build function's result, as source text."""
    calls = _methods_of_result(node)
    last = calls.get("select") or calls.get("agg")
    return [ast.unparse(argument) for argument in last.args] if last is not None else []


def is_sorted(node: ast.FunctionDef) -> bool:
    """Whether a build function sorts its result."""
    return not {"orderBy", "sort"}.isdisjoint(_methods_of_result(node))


def usual_entry(
    checkout: Checkout, neighbours: Sequence[Neighbour], options: Sequence[str], *, follows: bool = True
) -> ScriptEntry:
    """How the team runs a script: from the command line, by a function that others call, or through a driver.

    Args:
        options: Default names of the options for configuration and cut-off.
        follows: Whether the script has the shape of a neighbour; else it has an entry point of its own.
    """
    entry = _entry(checkout, neighbours if follows else (), options)
    path = entry.target if entry.kind == "driver" else neighbours[0].module.path if neighbours else ""
    started = next((module for module in checkout.modules if module.path == path), None)
    # A file that imports the package that it is in can only be run as a module from the root.
    own, imported = path.partition("/")[0], started.imports.values() if started is not None else ()
    is_of_package = any(name.split(".")[0] == own for name in imported)
    entry = entry.model_copy(update={"as_module": entry.as_module or is_of_package})
    if started is None or _NEXT_DAY.search(started.text) is None or not re.search(_OF_DAY, "\n".join(entry.arguments)):
        return entry
    arguments = tuple(re.sub(r"^\{cutoff\}$", "{day}", word) for word in entry.arguments)
    return entry.model_copy(update={"arguments": arguments, "cutoff_format": _DAY})


def _entry(checkout: Checkout, neighbours: Sequence[Neighbour], options: Sequence[str]) -> ScriptEntry:
    plain = ScriptEntry(arguments=(options[0], "{config}", options[1], "{cutoff}"))
    if not neighbours:
        return plain
    modules = [one.module for one in neighbours]
    if any(map(guard_of, modules)):
        form = _cutoff_format(modules)
        for path, words in _commands(checkout, neighbours[0].view):
            for one in neighbours:
                if rest := _after(one.module, words):
                    named = rest[0] != one.module.path
                    arguments = _general(rest[1:], one.view)
                    return ScriptEntry(arguments=arguments, as_module=named, cutoff_format=form, source=path)
        return plain.model_copy(update={"cutoff_format": form, "source": modules[0].path})
    called = _entry_function(modules[0])
    if called is not None:
        required = called.args.args[: len(called.args.args) - len(called.args.defaults)]
        given = tuple(_placeholder(argument.arg) or "" for argument in required)
        if all(given):
            form = _cutoff_format(modules)
            return ScriptEntry(
                kind="function", target=called.name, arguments=given, cutoff_format=form, source=modules[0].path
            )
    return _driver(checkout, neighbours) or ScriptEntry(kind="none")


def _after(module: Module, words: Sequence[str]) -> list[str]:
    """The words of a command from a module's path or name on; empty if it does not run the module."""
    names = (module.path, module.name, module.name.removesuffix(".__main__"))
    named = next((word for word in words if word in names), "")
    return [*words[words.index(named) :]] if named else []


def _entry_function(module: Module) -> ast.FunctionDef | None:
    """The function for external callers: it takes a configuration, and neither takes nor returns data frames."""
    for function in module.functions:
        takes_config = any(_placeholder(parameter.name) == "{config}" for parameter in function.parameters)
        handles_frames = re.search(r"DataFrame|SparkSession", ast.unparse(function.node.args)) is not None
        if takes_config and not handles_frames and not function.returns.endswith("DataFrame"):
            return function.node
    return None


def _placeholder(name: str) -> str | None:
    """The placeholder for a parameter or option with this name; None if it has none."""
    plain = name.lstrip("-").replace("-", "_").lower()
    if _CONFIG.search(plain):
        return "{config}"
    if BY_NAME.get(plain) == "as_of" or _CUTOFF.search(plain):
        return "{cutoff}"
    return "{view}" if _VIEW.search(plain) else None


def _commands(checkout: Checkout, view: str) -> Iterator[tuple[str, list[str]]]:
    """Commands that run Python, with the README, script or settings file that contains them.

    Placeholders for a view's name are replaced by `view`.
    """
    for path in checkout.paths:
        if path.endswith(_TEXTS):
            text = _VIEWS.sub(view, checkout.text(path))
            for command in (*_COMMAND.findall(text), *_INLINE_COMMAND.findall(text)):
                try:
                    yield path, [word.removeprefix("./") for word in shlex.split(command, comments=True)]
                except ValueError:
                    continue


def usual_options(neighbours: Sequence[Neighbour], given: Collection[str]) -> tuple[str, str]:
    """The most frequent options of neighbours for configuration and cut-off, else `--config` and `--as-of`.

    `given` contains the parameters of the build function: an option named after its cut-off is the cut-off's.
    """
    config, as_of = Counter[str](), Counter[str]()
    for flag in (flag for one in neighbours for flag in declared_options(one.module) if flag.startswith("--")):
        named = flag.lstrip("-").replace("-", "_") in given
        meaning = _placeholder(flag)
        if meaning == "{config}":
            config[flag] += 1
        elif meaning == "{cutoff}" or named:
            as_of[flag] += 1 + bool(named or re.search(r"as[-_]?of|cut[-_]?off", flag))
    return max(config, key=config.__getitem__, default="--config"), max(as_of, key=as_of.__getitem__, default="--as-of")


def _general(words: Sequence[str], view: str) -> tuple[str, ...]:
    """The words of a command with placeholders, chosen by the option's name if the word is an option's value."""
    found: list[str] = []
    for word in words:
        option, _, value = word.partition("=")
        before = found[-1] if found and found[-1].startswith("-") else ""
        if option.startswith("--") and value:
            found.append(f"{option}={_placeholder(option) or value}")
        elif re.fullmatch(r"\d{4}-\d\d-\d\d\S*", word):
            found.append("{cutoff}")
        elif before and not word.startswith("-"):
            found.append(_placeholder(before) or word.replace(view, "{view}"))
        elif PurePosixPath(word).suffix in (".yaml", ".yml", ".json", ".toml") and view in word:
            found.append("{config}")
        else:
            found.append(word.replace(view, "{view}"))
    return tuple(found)


def _cutoff_format(modules: Iterable[Module]) -> str:
    """The format of cut-offs on the command line, from the call that parses them."""
    for call in (node for one in modules for node in ast.walk(one.tree) if isinstance(node, ast.Call)):
        name = dotted_name(call.func)
        if name.endswith(("strptime", "DateTime")):  # the latter is click's and typer's
            texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant)]
            return next((text for text in texts if isinstance(text, str) and "%" in text), f"{_DAY}T%H:%M:%S")
        if f".{name}".endswith(".date.fromisoformat"):
            return _DAY
    return ""


def declared_options(module: Module) -> Iterator[str]:
    """The options and arguments, by their longest names, that are declared with argparse, click or typer."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and dotted_name(node.func).split(".")[-1] in ("add_argument", "option", "Option"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from sorted(names, key=len)[-1:]


def _driver(checkout: Checkout, neighbours: Sequence[Neighbour]) -> ScriptEntry | None:
    """A module that is run with a view's name and then runs that view."""
    package = neighbours[0].module.name.rpartition(".")[0]
    for module in checkout.modules:
        if module.is_test or not guard_of(module) or package not in module.text:
            continue
        form = _cutoff_format([module])
        entry = ScriptEntry(kind="driver", target=module.path, cutoff_format=form, source=module.path)
        for path, words in _commands(checkout, neighbours[0].view):
            named, *rest = _after(module, words) or [""]
            view = next((one.view for one in neighbours if any(one.view in word for word in rest)), "")
            if view:
                found = {"arguments": _general(rest, view), "as_module": named != module.path, "source": path}
                return entry.model_copy(update=found)
        known = [(option, _placeholder(option)) for option in declared_options(module)]
        if known and all(value for _, value in known):
            given = [[option, value] if option.startswith("-") else [value] for option, value in known]
            arguments = tuple(word for words in given for word in words if word)
            return entry.model_copy(update={"arguments": arguments})
    return None


def readable_formats(text: str, checkout: Checkout) -> frozenset[str]:
    """File formats that a module reads by name, directly or through the team's functions; empty for any format."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    called = [
        ast.get_source_segment(module.text, function.node) or ""
        for module in checkout.modules
        if not module.is_test
        for function in module.functions
        if function.name in names and ".read" in ast.unparse(function.node)
    ]
    mentioned = {name for each in (text, *called) for pair in _FORMATS.findall(each) for name in pair if name}
    reads = any(".read" in each for each in (text, *called))
    return frozenset(mentioned) if reads else frozenset()
