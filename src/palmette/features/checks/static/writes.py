"""Rules for the structure of the script and for its writes."""

import ast
from collections.abc import Iterator

from palmette.features.script_tree import ScriptTree, called, calls, method_calls, texts

_SINKS = frozenset({"parquet", "orc", "csv", "json", "save", "saveAsTable", "insertInto"})
_ADDING = frozenset({"append", "", "error", "errorifexists", "ignore"})
"""Write modes for which a second run does not leave the same data."""


def missing_function(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """A missing entry function."""
    if source.entry not in source.functions:
        yield source.tree, f"function {source.entry!r} is missing; the script has {sorted(source.functions)}"


def not_re_runnable(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Writes for which a second run does not leave the same data."""
    for node, mode in _writes(source):
        if mode in _ADDING:
            shown = mode or "errorifexists"
            yield node, f"write mode {shown!r}: a second run does not leave the same data; use overwrite"
    for node in _writes_to(source, {"append"}):
        yield node, "writeTo().append() adds the same rows again at a second run"


def static_overwrite(source: ScriptTree) -> Iterator[tuple[ast.AST, str]]:
    """Writes of one day that delete other days."""
    if not source.view.partition:
        return
    for node in _writes_to(source, {"createOrReplace", "replace"}):
        yield node, f"writeTo().{called(node)}() deletes the other days; use overwritePartitions()"
    if _is_dynamic(source):
        return
    for node, mode in _writes(source):
        if mode == "overwrite" and not _one_partition(source, node):
            yield node, "a static overwrite deletes the other days; set partitionOverwriteMode to dynamic"


def _writes(source: ScriptTree) -> Iterator[tuple[ast.Call, str]]:
    """Calls that end a `write`, with their modes; calls with an unknown mode are omitted."""
    for node, method in method_calls(source.nodes, _SINKS):
        if not any(isinstance(item, ast.Attribute) and item.attr == "write" for item in ast.walk(method)):
            continue
        mode: str | None = _mode(source, node)
        if method.attr == "insertInto":
            flag = _keyword(node, "overwrite") or next(iter(node.args[1:2]), None)
            mode = "overwrite" if isinstance(flag, ast.Constant) and flag.value else "append"
        if mode is not None:
            yield node, mode


def _writes_to(source: ScriptTree, names: set[str]) -> Iterator[ast.Call]:
    """Calls with these names that end a `writeTo`."""
    for node, method in method_calls(source.nodes, names):
        if any(calls(ast.walk(method), {"writeTo"})):
            yield node


def _mode(source: ScriptTree, node: ast.Call) -> str | None:
    """The write mode: empty if not given, None if unknown."""
    for call in source.chain(node):
        value = call.args[0] if called(call) == "mode" and call.args else _keyword(call, "mode")
        if value is not None:
            value = source.value_of(value)
            return str(value.value).lower() if isinstance(value, ast.Constant) else None
    return ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_dynamic(source: ScriptTree) -> bool:
    words = {text.lower() for _, text in texts(source.nodes)}
    names = {keyword.arg.lower() for node in calls(source.nodes) for keyword in node.keywords if keyword.arg}
    named = any(word.endswith("partitionoverwritemode") for word in words | names)
    return (named and "dynamic" in words) or "replacewhere" in words | names


def _one_partition(source: ScriptTree, node: ast.Call) -> bool:
    """Whether the path names a single partition: `.../day=...`."""
    given = [text for one in (*node.args, *(word.value for word in node.keywords)) for text in source.literals(one)]
    return any(f"{source.view.partition}=" in text for text in given)
