"""Finds the existing feature scripts of a repository, and the functions that they have in common."""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from palmette.features.artefacts import Parameter, Role
from palmette.features.repository.checkout import Checkout, Function, Module, called_names
from palmette.features.repository.decorated import marked_functions
from palmette.features.repository.spelling import respelt
from palmette.features.signature import BY_NAME
from palmette.features.team_document import SUFFIXES

_READS = re.compile(r"(^|[._])(read|load|table|fetch|extract)(_|\.|$)")
_WRITES = re.compile(
    r"(^|[._])(write|overwrite|save|saveAsTable|insertInto|store|publish|persist_features|writeTo)(_|\.|$)"
)
_AFFIXES = ("features", "feature", "feat", "fv", "view", "job", "pipeline", "script")
_KINDS = (*_AFFIXES, "main", "run", "compute", "transform", "etl")
"""Stems that name the kind of a file rather than its view."""
_ROLE_WORDS: tuple[tuple[Role, str], ...] = (
    ("main", r"^(main|run|cli)$"),
    ("write", r"(^|_)(write|save|store|publish|persist|sink|output)"),
    ("load", r"(^|_)(load|read|extract|fetch|input|inputs|ingest)"),
    ("build", r"(^|_)(build|compute|transform|make|create|calculate|features|assemble|derive)"),
)

_FRAME_METHODS = frozenset({
    "select", "groupBy", "join", "filter", "where", "withColumn", "agg", "write", "union", "unionByName",
    "dropDuplicates", "orderBy", "drop", "fillna", "alias", "transform", "selectExpr", "distinct",
})  # fmt: skip
_ITS_VIEW = "{view}"
"""The name of a function with the name of its view."""
_MEANINGS = {"tables": "dict[str, DataFrame]", "spark": "SparkSession"}


@dataclass(frozen=True)
class Neighbour:
    """A feature script of the repository."""

    module: Module
    view: str
    """Name of its feature view, taken from its path."""
    pattern: str
    """Its path with `{view}` instead of the name."""


@lru_cache(maxsize=4)
def find_neighbours(checkout: Checkout) -> tuple[Neighbour, ...]:
    """Views that share the most frequent path pattern.

    They are of the most frequent kind: scripts that run on their own, modules with a common build function or with
    decorated functions, or queries. A driver, which finds views by their names, is no view.
    """
    scripts = [module for module in checkout.modules if not module.is_test and _builds_frames(module)]
    others = [module for module in scripts if "import_module" in module.text or _finds_queries(module, checkout)]
    runnable = [module for module in scripts if entry_of(module) and module not in others]
    marked = [module for module in checkout.modules if module.path in marked_functions(checkout)]
    views = max(runnable, _siblings(scripts), marked, _queries(checkout), key=len)
    named = [Neighbour(module, *_view_and_pattern(module, views, checkout)) for module in views]
    if not named:
        return ()
    patterns = Counter(neighbour.pattern for neighbour in named)
    favourite, _ = max(patterns.items(), key=lambda item: (item[1], "feature" in item[0], -len(item[0])))
    return tuple(neighbour for neighbour in named if neighbour.pattern == favourite)


def _builds_frames(module: Module) -> bool:
    if "pyspark" not in module.text:  # parsing every file of a large repository takes too long
        return False
    uses_spark = any(name.startswith("pyspark") for name in module.imports.values())
    functions = (*module.functions, *module.methods)
    return uses_spark and any("DataFrame" in inferred_returns(function) for function in functions)


def _finds_queries(module: Module, checkout: Checkout) -> bool:
    """Whether a module reads SQL files other than its own whose names it does not contain."""
    if ".sql" not in module.text or str(PurePosixPath(module.path).with_suffix(".sql")) in checkout.paths:
        return False
    texts = (node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant))
    files = {PurePosixPath(text).name for text in texts if isinstance(text, str) and text.endswith(".sql")}
    return not files <= {PurePosixPath(path).name for path in checkout.paths}


def _queries(checkout: Checkout) -> list[Module]:
    """The queries without a script if a module finds them by their names, as modules without Python.

    Or the scripts that name each of them to that module.
    """
    if not any(_finds_queries(module, checkout) for module in checkout.modules if not module.is_test):
        return []
    paths, stems = [path for path in checkout.paths if path.endswith(".sql")], {one.stem for one in checkout.modules}
    named = {PurePosixPath(path).stem for path in paths}
    scripts = [one for one in checkout.modules if one.stem in named and not one.is_test and "pyspark" not in one.text]
    if len(scripts) == len(paths):
        return scripts
    paths = [path for path in paths if PurePosixPath(path).stem not in stems]
    return [Module(path, checkout.import_name(path), checkout.text(path)) for path in paths]


def _siblings(scripts: Sequence[Module]) -> list[Module]:
    """The largest group of modules in one folder that share a build function or method, or name one after the view."""
    shared: dict[tuple[str, str], list[Module]] = {}
    for module in scripts:
        built = [f.name for f in (*module.functions, *module.methods) if "DataFrame" in inferred_returns(f)]
        for name in {respelt(name, module.stem, _ITS_VIEW) for name in built}:
            if name == _ITS_VIEW or role_by_name(name) == "build":
                shared.setdefault((str(PurePosixPath(module.path).parent), name), []).append(module)
    largest = max(shared.values(), key=len, default=[])
    return largest if len(largest) > 1 else []


def config_annotations(neighbours: Sequence[Neighbour]) -> list[str]:
    """The annotations of configurations in scripts, most frequent first."""
    every = (one for neighbour in neighbours for function in neighbour.module.functions for one in function.parameters)
    found = Counter(one.annotation for one in every if BY_NAME.get(one.name) == "config" and one.annotation)
    return [annotation for annotation, _ in found.most_common()]


def guard_of(module: Module) -> ast.If | None:
    """The statement for a module that is run: `if __name__ == "__main__"`."""
    ifs = (node for node in module.tree.body if isinstance(node, ast.If))
    return next((node for node in ifs if "__name__" in ast.unparse(node.test)), None)


def entry_of(module: Module) -> str | None:
    """Name of the function that runs a script: `main`, or the only one that its `__main__` guard calls.

    `main` if the guard does the work itself; None if the module is not run, or only tests itself.
    """
    names = {function.name for function in module.functions}
    if (guard := guard_of(module)) is None:
        return "main" if "main" in names else None
    called = names & set(called_names(guard))
    entry = called.pop() if len(called) == 1 else "main"
    return None if "test" in entry else entry


def _view_and_pattern(module: Module, scripts: Sequence[Module], checkout: Checkout) -> tuple[str, str]:
    """The view's name and the path pattern: from the folder if files are named by kind, otherwise from the stem."""
    path = PurePosixPath(module.path)
    same_name = [other for other in scripts if PurePosixPath(other.path).name == path.name]
    if path.parent.name and (len(same_name) > 1 or (path.stem in _KINDS and _is_a_views(path.parent, checkout))):
        return path.parent.name, str(path.parent.parent / "{view}" / path.name)
    prefix, view, suffix = _affixes(path, checkout)
    return view, str(path.parent / f"{prefix}{{view}}{suffix}{path.suffix}")


def _is_a_views(folder: PurePosixPath, checkout: Checkout) -> bool:
    """Whether a folder belongs to one view: it contains a configuration, or a test is named after it."""
    paths, test = map(PurePosixPath, checkout.paths), f"test_{folder.name}"
    return any((path.parent == folder and path.suffix in SUFFIXES) or path.stem == test for path in paths)


def _affixes(path: PurePosixPath, checkout: Checkout) -> tuple[str, str, str]:
    """Splits a stem at the affixes that are a convention: configurations omit them, or all scripts have a usual one."""
    stems = {PurePosixPath(other).stem for other in checkout.paths if other.endswith(SUFFIXES)}
    plain = "", path.stem, ""
    if path.stem in stems:
        return plain
    words = path.stem.split("_")
    cuts = [("_".join(words[:at]), "_".join(words[at:])) for at in range(1, len(words))]
    named = [(f"{head}_", tail, "") for head, tail in cuts if tail in stems]
    named += [("", head, f"_{tail}") for head, tail in reversed(cuts) if head in stems]
    if named:
        return named[0]
    usual = split_affixes(path.stem)
    beside = [
        PurePosixPath(other).stem
        for other in checkout.paths
        if PurePosixPath(other).parent == path.parent and other.endswith(".py") and "__init__" not in other
    ]
    shared = len(beside) > 1 and all(stem.startswith(usual[0]) and stem.endswith(usual[2]) for stem in beside)
    return usual if shared else plain


def split_affixes(stem: str) -> tuple[str, str, str]:
    """Splits customary affixes from a view's name.

    >>> split_affixes("feat_user_activity")
    ('feat_', 'user_activity', '')
    """
    parts = stem.split("_")
    if len(parts) > 1 and parts[0] in _AFFIXES:
        return parts[0] + "_", "_".join(parts[1:]), ""
    if len(parts) > 1 and parts[-1] in _AFFIXES:
        return "", "_".join(parts[:-1]), "_" + parts[-1]
    return "", stem, ""


def path_pattern(path: str, view: str, script: str) -> str | None:
    """`path` with `{view}` for the view's name; None if neither the file nor its folder is named after the view."""
    file = PurePosixPath(path)
    folders = ["{view}" if part == view else part for part in file.parent.parts]
    stem, named = re.subn(rf"(^|[_.-]){re.escape(view)}(?=[_.-]|$)", r"\1{view}", file.stem, count=1)
    if named or (view in file.parent.parts and stem != PurePosixPath(script).stem):
        return str(PurePosixPath(*folders, stem + file.suffix))
    return None


def role_by_name(name: str) -> Role | None:
    """The role that a function's name suggests."""
    return next((role for role, pattern in _ROLE_WORDS if re.search(pattern, name)), None)


def role_of(function: Function, entry: str | None) -> Role | None:
    """The role indicated by a function's signature and body."""
    if function.name == entry:
        return "main"
    takes_frames = any(
        "DataFrame" in parameter.annotation
        or (BY_NAME.get(parameter.name) == "tables" and _holds_frames(parameter.annotation))
        for parameter in inferred_parameters(function)
    )
    returns = inferred_returns(function)
    calls = called_names(function.node)
    if "DataFrame" in returns and takes_frames:
        return "build"
    writes = role_by_name(function.name) == "write" or any(_WRITES.search(call) for call in calls)
    if takes_frames and returns in ("None", "", "str", "int") and writes:
        return "write"
    if _holds_frames(returns) and any(_READS.search(call) for call in calls):
        return "load"
    return None


def query_path(neighbour: Neighbour, checkout: Checkout) -> str:
    """Path with `{view}` of the SQL file with the query that a neighbour runs; empty if it runs none."""
    home = PurePosixPath(neighbour.module.path).parent
    paths = sorted(checkout.paths, key=lambda path: PurePosixPath(path).parent != home)
    found = [path_pattern(path, neighbour.view, "") for path in paths if path.endswith(".sql")]
    runs_query = ".sql(" in neighbour.module.text or "pyspark" not in neighbour.module.text
    return next(filter(None, found), "") if runs_query else ""


def query_tables(text: str) -> tuple[str, ...]:
    """The tables that a query reads, without its common table expressions."""
    own = re.findall(r"(?i)(\w+)\s+as\s*\(\s*(?:select|with)\b", text)
    read = re.findall(r"(?i)\b(?:from|join)\s+\{?(\w+)\}?", text)
    return tuple(name for name in dict.fromkeys(read) if name not in own)


def builder_of(module: Module) -> Function | None:
    """The function or method that builds a script's features; None if there is none or if it is ambiguous."""
    entry = entry_of(module)
    fitting = [f for f in module.functions if f.name != entry and role_of(f, entry) == "build"]
    called = {name.rpartition(".")[2] for f in module.functions if f not in fitting for name in called_names(f.node)}
    for candidates in ([f for f in fitting if f.name in called], fitting):
        found = [f for f in candidates if not f.name.startswith("_")]
        found = [f for f in found if role_by_name(f.name) == "build"] or found
        if len(found) == 1:
            return found[0]
    methods = [f for f in module.methods if not f.name.startswith("_") and role_of(f, entry) == "build"]
    return methods[0] if len(methods) == 1 and not fitting else None


def _holds_frames(annotation: str) -> bool:
    """Whether values of this type are or may contain data frames."""
    return "DataFrame" in annotation or annotation in ("dict", "Dict")


def inferred_parameters(function: Function) -> tuple[Parameter, ...]:
    """The parameters; if the function has no annotations, with those inferred from its body."""
    parameters = function.parameters
    if function.returns or any(parameter.annotation for parameter in parameters):
        return parameters
    return tuple(p.model_copy(update={"annotation": _annotation(p.name, function.node)}) for p in parameters)


def inferred_returns(function: Function) -> str:
    """The return annotation; if the function has no annotations, the one inferred from its last `return`."""
    if function.returns or any(parameter.annotation for parameter in function.parameters):
        return function.returns
    values = [node.value for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.value]
    if not values:
        return "None"
    match values[-1]:
        case ast.Dict() | ast.DictComp():
            return "dict[str, DataFrame]"
        case ast.Tuple():
            return "tuple[DataFrame, ...]"
        case _:
            used = {child.attr for child in ast.walk(function.node) if isinstance(child, ast.Attribute)}
            return "DataFrame" if used & (_FRAME_METHODS | {"table", "read", "parquet"}) else ""


def _annotation(name: str, node: ast.FunctionDef) -> str:
    used = {
        child.attr
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id == name
    }
    if used & _FRAME_METHODS:
        return "DataFrame"
    return _MEANINGS.get(BY_NAME.get(name, ""), "")
