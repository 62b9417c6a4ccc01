"""Reads the conventions of a team's repository from its README and from the neighbouring feature scripts."""

import ast
import builtins
import copy
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from palmette.delivery.paths import is_obeyed
from palmette.features.artefacts import Conventions, FunctionShape, Role
from palmette.features.repository.checkout import Checkout, Module, bound_names, dotted_name
from palmette.features.repository.decorated import unfit_view
from palmette.features.repository.habits import readable_formats, style_of, usual_entry, usual_options
from palmette.features.repository.neighbours import (
    Neighbour,
    builder_of,
    config_annotations,
    entry_of,
    find_neighbours,
    inferred_parameters,
    inferred_returns,
    path_pattern,
    query_path,
    role_by_name,
    role_of,
)
from palmette.features.repository.readme import parse_signature, read_readme
from palmette.features.repository.skeleton import Skeleton, ViewNames, skeleton
from palmette.features.repository.spelling import respelt
from palmette.features.repository.tooling import formatting, linters, session_fixture
from palmette.features.signature import is_day, is_frame, meaning_of
from palmette.features.spec import Run, View
from palmette.features.team_document import SUFFIXES

_DEFAULTS = (
    "load_tables(spark: SparkSession, config: {config}) -> dict[str, DataFrame]",
    "build_features(tables: dict[str, DataFrame], as_of: datetime) -> DataFrame",
    "write_features(features: DataFrame, config: {config}) -> None",
    "main(argv: list[str] | None = None) -> None",
)
"""The functions of a script in a repository without conventions."""
_PARAMETER = re.compile(r"(?<![\w:'\"]):([A-Za-z_]\w*)")
"""A parameter of a query."""
_DOCSTRING = re.compile(r'\A\s*""".*?"""', re.DOTALL)
_DOC_LINES = 12
DEFAULT_LINE_LENGTH = 100
ReasonOf = Callable[[View], str]


def read_conventions(
    root: Path, run: Run, view: View, checkout: Checkout | None = None, why_no_query: ReasonOf | None = None
) -> Conventions:
    """Determines how a script for `view` should look in the repository at `root`.

    The most similar neighbour becomes the skeleton if it can be adapted. Explicit statements of the README take
    precedence over the neighbours; defaults apply to the rest. No text can place a file where programs
    load it automatically. `why_no_query` gives the reason if a view has no query.
    """
    checkout, view_name = checkout or Checkout(root), view.name
    neighbours = find_neighbours(checkout)
    text = checkout.text(run.repository.readme)
    helpers = {name for one in neighbours for name in one.module.imports}
    readme = read_readme(text, checkout.test_names, helpers)
    model, departures = _model(neighbours, checkout, view)
    runs_query = model is not None and bool(model.query or model.model.endswith(".sql"))
    no_query = why_no_query(view) if why_no_query and runs_query else ""
    called = usual_entry(checkout, neighbours, ("", ""))
    driver = checkout.text(called.target) if called.kind == "driver" else ""
    unfit = _unfit(model, checkout, view, readme.functions, no_query, driver) if model is not None else None
    found = model if unfit is None else None
    if found is not None:
        functions = _shapes(found)
    else:
        departures = (unfit,) if unfit is not None else departures
        shapes = _shapes(model) if model is not None else ()
        known = [one for one in shapes if one.role != "build" or _takes_cutoff(one)]
        functions = _functions(readme.functions, known, _config_annotation(run, neighbours))
    script, test, config = _paths(checkout, neighbours)

    def place(*patterns: str) -> str:
        return next(one for one in patterns if one and not is_obeyed(one.replace("{view}", view_name)))

    stated = "" if found is not None and runs_query and not found.query else readme.script_path
    known_path = script if found is not None or script.endswith(".py") else ""
    script_path = place(stated, known_path, "features/{view}.py")
    build = next(shape for shape in functions if shape.role == "build")
    options = usual_options(neighbours, {one.name for one in build.parameters if not is_frame(one)})
    style = formatting(checkout)
    instance, imports = _instance(checkout, found, neighbours, view_name) if found is not None else ("", ())
    callers = driver if found is None or not found.builder else f"{found.text}{driver}"
    test_path = place(readme.test_path, test, "tests/test_{view}.py")
    return Conventions(
        package=_package(checkout, script_path.replace("{view}", view_name)),
        script_path=script_path,
        test_path=test_path,
        config_path=place(readme.config_path, config, "configs/{view}.yaml"),
        functions=functions if found is not None else tuple(map(_with_instant, functions)),
        skeleton=found.text if found is not None else "",
        model=found.model if found is not None else "",
        owner=found.builder.rpartition(".")[0] if found is not None else "",
        feature_functions=found.features if found is not None else None,
        query_path=found.query if found is not None else "",
        style=style_of(neighbours, text),
        entry=usual_entry(checkout, neighbours, options, follows=found is not None),
        naive_cutoffs=bool(callers) and re.search(r"tzinfo|timezone|\bUTC\b", callers) is None,
        config_option=options[0],
        as_of_option=options[1],
        docstring_style=_docstring_style(neighbours, view_name),
        fixture=session_fixture(checkout, test_path),
        formatter=style.command,
        linters=linters(checkout),
        instance=instance,
        instance_imports=imports,
        line_length=style.line_length or readme.line_length or DEFAULT_LINE_LENGTH,
        rules=readme.rules,
        departures=departures if found is not None else (*departures, *_of_days(functions)),
    )


def _with_instant(shape: FunctionShape) -> FunctionShape:
    """The function with a timestamp as its cut-off if the team's is a date, which cannot express every cut-off."""
    parameters = (one.model_copy(update={"annotation": "datetime"}) if is_day(one) else one for one in shape.parameters)
    return shape.model_copy(update={"parameters": tuple(parameters)})


def _of_days(functions: Iterable[FunctionShape]) -> Iterator[str]:
    for shape in functions:
        for parameter in filter(is_day, shape.parameters):
            yield (
                f"`{shape.name}` takes its cut-off `{parameter.name}` as a `datetime`, and not as a "
                f"`{parameter.annotation}`, because a day cannot express every cut-off."
            )


_WRITTEN = "the script is written as functions that load, build and write, also by a model"


def _model(neighbours: Sequence[Neighbour], checkout: Checkout, view: View) -> tuple[Skeleton | None, tuple[str, ...]]:
    """The neighbour to imitate (or None), and differences between new scripts and the neighbours, as sentences."""
    queries = [path for path in checkout.paths if path.endswith(".sql")]
    if queries and not neighbours:
        return None, (f"`{queries[0]}` is run by no function that takes data frames; {_WRITTEN}.",)
    scripts = [module.path for module in checkout.modules if "pyspark" in module.text and not module.is_test]
    if scripts and not neighbours:
        return None, (f"No module that uses Spark, such as `{scripts[0]}`, is recognised as a view; {_WRITTEN}.",)
    names = ViewNames(view.name, tuple(sorted(view.tables)), tuple(view.grain))
    runs_spark = not neighbours or "pyspark" in neighbours[0].module.text
    found = skeleton(neighbours, names, checkout) if runs_spark else _of_queries(neighbours, view.name, checkout)
    if found is not None or not neighbours:
        return found, found.unexplained if found is not None else ()
    model = neighbours[-1].module
    return None, (f"`{model.path}` {_unfit_builder(model)}; {_WRITTEN}.",)


def _of_queries(neighbours: Sequence[Neighbour], view: str, checkout: Checkout) -> Skeleton | None:
    """The skeleton of a query, with the script that names it if each has one; None if these scripts are unlike."""
    paths = [query_path(one, checkout) for one in neighbours]
    named = zip(neighbours, paths, strict=True)
    queries = [checkout.text(path.replace("{view}", one.view)) if path else one.module.text for one, path in named]
    texts = {respelt(_DOCSTRING.sub("", one.module.text).strip() + "\n", one.view, view) for one in neighbours}
    common = set.intersection(*(set(_PARAMETER.findall(query)) for query in queries))  # the cut-off
    is_query = neighbours[0].module.path.endswith(".sql")
    if not is_query and (len(texts) > 1 or not paths[0]):
        return None
    cutoff, text = common.pop() if len(common) == 1 else "", "" if is_query else texts.pop()
    return Skeleton(text, "", neighbours[0].module.path, (), "" if is_query else paths[0], cutoff=cutoff)


def _unfit_builder(model: Module) -> str:
    """What keeps a new view from being modelled on this script."""
    if builder_of(model) is not None:
        return "names tables in ways no rule fills"
    for one in (*model.functions, *model.methods):
        if inferred_returns(one) == "DataFrame" and any(p.annotation == "SparkSession" for p in one.parameters):
            return f"has `{one.name}`, which reads its tables itself and so cannot be tried on others"
    return "has no single function that builds all features"


def _unfit(
    found: Skeleton, checkout: Checkout, view: View, stated: Sequence[FunctionShape], no_query: str, driver: str
) -> str | None:
    """Why the view's script cannot be modelled on this neighbour, as a sentence; None if it can.

    `driver`: The text of the module that runs views.
    """
    if not found.builder and (reason := _unfit_parts(found, view)):
        return f"{reason}; {_WRITTEN}."
    words = re.findall(r"\w+", found.text)
    missing = ", ".join(f"`{shape.name}`" for shape in stated if shape.name not in words)
    if missing and found.builder:
        return f"The README names {missing}, which `{found.model}` does not have; the README is followed."
    builder = next(shape for shape in _shapes(found) if shape.role == "build")
    if view.cutoff != "spine" and not _takes_cutoff(builder):
        return f"`{builder.name}` of `{found.model}` takes no cut-off, which this view needs; {_WRITTEN}."
    formats = readable_formats(f"{found.text}\n{driver}", checkout)
    for table in view.tables.values():
        if formats and table.path is not None and table.format not in formats:
            return (
                f"`{found.model}` reads {', '.join(sorted(formats))}, and `{table.name}` is {table.format}; {_WRITTEN}."
            )
    if no_query:
        return f"`{found.model}` runs a query, but {no_query}; {_WRITTEN}. Define it in another way to have a query."
    return None


def _unfit_parts(found: Skeleton, view: View) -> str:
    """Why the view cannot be written without a build function; empty if it can."""
    if found.query or found.model.endswith(".sql"):
        return "" if found.cutoff else f"`{found.model}` and the other queries share no parameter for the cut-off"
    unfit = unfit_view(found.features, view)
    return f"`{found.model}` has one decorated function per feature, but {unfit}" if unfit else ""


def _takes_cutoff(builder: FunctionShape) -> bool:
    return any(meaning_of(one) == "as_of" for one in builder.parameters)


def _instance(
    checkout: Checkout, found: Skeleton, neighbours: Sequence[Neighbour], view_name: str
) -> tuple[str, tuple[str, ...]]:
    """The expression that creates an object of the class with the build function, as in a neighbour's test, and the
    imports that it needs."""
    owner = found.builder.rpartition(".")[0]
    for one in neighbours if owner else ():
        theirs = respelt(owner, view_name, one.view)
        for module in (each for each in checkout.modules if each.is_test and theirs in each.text):
            assigned = [node for node in module.tree.body if isinstance(node, ast.Assign)]
            constants = {name: node.value for node in assigned for name in bound_names(node)}
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and dotted_name(node.func) == theirs:
                    made = _Constants(constants).visit(copy.deepcopy(node))
                    names = {child.id for child in ast.walk(made) if isinstance(child, ast.Name)} - {theirs}
                    if names <= module.imports.keys() | vars(builtins).keys():
                        homes = [module.imports[name].rpartition(".") for name in sorted(names & module.imports.keys())]
                        imports = tuple(f"from {home} import {name}" for home, _, name in homes)
                        return respelt(ast.unparse(made), one.view, view_name), imports
    return f"{owner}()" if owner else "", ()


class _Constants(ast.NodeTransformer):
    """Replaces names of a module's constants by their values."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        others = {name: value for name, value in self.values.items() if name != node.id}
        value = self.values.get(node.id)
        return node if value is None else _Constants(others).visit(copy.deepcopy(value))


def _shapes(found: Skeleton) -> tuple[FunctionShape, ...]:
    """The functions of a skeleton with a clear role. If it has no build function, that of checks and tests."""
    if not found.builder:
        shape = parse_signature(_DEFAULTS[1].replace("as_of", found.cutoff or "as_of"))
        return (shape,) if shape is not None else ()
    module = Module("skeleton.py", "skeleton", found.text)
    entry, builder = entry_of(module), found.builder.rpartition(".")[2]
    shapes = []
    for function in (*module.functions, *module.methods):
        role: Role | None = "build" if function.name == builder else role_of(function, entry)
        role = role or ("main" if role_by_name(function.name) == "main" else None)
        if role is None or (role == "build" and function.name != builder):
            continue
        parameters = inferred_parameters(function)
        returns = function.returns or "DataFrame" if role == "build" else inferred_returns(function)
        returns = re.sub(r"^tuple\[DataFrame(, DataFrame)*\]$", "tuple[DataFrame, ...]", returns)
        shapes.append(FunctionShape(name=function.name, role=role, parameters=parameters, returns=returns))
    return tuple(shapes)


def _functions(
    stated: Sequence[FunctionShape], known: Sequence[FunctionShape], config: str
) -> tuple[FunctionShape, ...]:
    """One function per role: named by the README, with a neighbour's signature; defaults if both are silent."""
    defaults = [shape for text in _DEFAULTS if (shape := parse_signature(text.format(config=config)))]
    merged = {shape.role: shape for shape in defaults}
    for shape in (*known, *stated):
        callable_as_is = shape.role != "main" or all(p.name in ("argv", "args") or p.default for p in shape.parameters)
        is_annotated = bool(shape.parameters) and all(parameter.annotation for parameter in shape.parameters)
        is_whole = callable_as_is if shape in known else is_annotated
        merged[shape.role] = shape if is_whole else merged[shape.role].model_copy(update={"name": shape.name})
    order = dict.fromkeys(shape.role for shape in (*max(known, stated, key=len), *defaults))
    return tuple(merged[role] for role in sorted(order, key=lambda role: role == "main"))


def _config_annotation(run: Run, neighbours: Sequence[Neighbour]) -> str:
    """The name of the team's configuration class in scripts' annotations."""
    if run.repository.config_class:
        return run.repository.config_class.rpartition(":")[2].rpartition(".")[2]
    return next(iter(config_annotations(neighbours)), "dict[str, Any]")


def _paths(checkout: Checkout, neighbours: Sequence[Neighbour]) -> tuple[str, str, str]:
    """Path patterns with `{view}` of a script, its test and its configuration; empty if no file shows one."""
    tests, configs, others = Counter[str](), Counter[str](), Counter[str]()
    for neighbour in neighbours:
        own = neighbour.module.path
        for path in checkout.paths:
            pattern = path_pattern(path, neighbour.view, own)
            if pattern is None or path == own:
                continue
            if path.endswith(".py") and ("test" in PurePosixPath(path).name or checkout.is_test(path)):
                tests[pattern] += 1
            elif path.endswith(SUFFIXES):
                (others if path.endswith(".json") else configs)[pattern] += 1
    return neighbours[0].pattern if neighbours else "", _favourite(tests), _favourite(configs or others)


def _favourite(patterns: Counter[str]) -> str:
    return max(patterns.items(), key=lambda item: (item[1], -len(item[0])))[0] if patterns else ""


def _package(checkout: Checkout, script_path: str) -> str:
    """Import name of the folder of scripts; empty if scripts cannot be imported as a package."""
    parts = checkout.import_name(script_path).split(".")[:-1]
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""


def _docstring_style(neighbours: Sequence[Neighbour], view_name: str) -> str:
    """The first lines of the longest neighbour's module docstring, which shows most sections, with this view's name."""
    texts = [respelt(ast.get_docstring(one.module.tree) or "", one.view, view_name) for one in neighbours]
    longest = max(texts, key=len, default="")
    return "\n".join(longest.splitlines()[:_DOC_LINES])
