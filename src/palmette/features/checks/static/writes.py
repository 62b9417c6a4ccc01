"""Rules on the shape of the script and on how it writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from palmette.features.checks.static.finding import Finding
from palmette.features.source import Source, called
from palmette.sandbox.reach import dotted

_SINKS = frozenset({"parquet", "orc", "csv", "json", "save", "saveAsTable", "insertInto"})


def missing_functions(source: Source) -> Iterator[Finding]:
    """The script has the functions that every feature script of the team has."""
    for name in dict.fromkeys((source.entry, *source.predefined)):
        if name not in source.functions:
            yield Finding(
                "missing-function",
                source.tree,
                f"function {name!r} is missing; the script has {sorted(source.functions)}",
            )


def unsafe_writes(source: Source) -> Iterator[Finding]:
    """A second run leaves the same data, and one day's run leaves the other days alone."""
    dynamic = _is_dynamic(source)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _SINKS and any(
            isinstance(item, ast.Attribute) and item.attr == "write" for item in ast.walk(node.func)
        ):
            yield from _judge(source, node, dynamic)
        elif node.func.attr == "append" and any(called(item) == "writeTo" for item in ast.walk(node.func)):
            yield Finding("not-re-runnable", node, "writeTo().append() adds the same rows again at a second run")
        elif (
            node.func.attr in ("createOrReplace", "replace")
            and source.view.partition
            and any(called(item) == "writeTo" for item in ast.walk(node.func))
        ):
            yield Finding(
                "static-overwrite",
                node,
                f"writeTo().{node.func.attr}() deletes the other days; use overwritePartitions()",
            )


def _judge(source: Source, node: ast.Call, dynamic: bool) -> Iterator[Finding]:
    assert isinstance(node.func, ast.Attribute)
    mode, known = _mode(source, node)
    if node.func.attr == "insertInto":
        flag = next(
            (k.value for k in node.keywords if k.arg == "overwrite"),
            node.args[1] if len(node.args) > 1 else None,
        )
        mode, known = ("overwrite" if isinstance(flag, ast.Constant) and flag.value else "append"), True
    if not known:
        return
    if mode in ("append", "", "error", "errorifexists", "ignore"):
        yield Finding(
            "not-re-runnable",
            node,
            f"write mode {mode or 'errorifexists'!r}: a second run does not leave the same data; use overwrite",
        )
    elif mode == "overwrite" and source.view.partition and not dynamic and not _one_partition(source, node):
        yield Finding(
            "static-overwrite",
            node,
            "a static overwrite deletes the other days; set partitionOverwriteMode to dynamic",
        )


def _mode(source: Source, node: ast.Call) -> tuple[str, bool]:
    """The write mode, and whether it can be read from the source."""
    for call in source.chain(node):
        value = next((k.value for k in call.keywords if k.arg == "mode"), None)
        if called(call) == "mode" and call.args:
            value = call.args[0]
        if value is not None:
            value = source.value_of(value)
            return (str(value.value).lower(), True) if isinstance(value, ast.Constant) else ("", False)
    return "", True


def _is_dynamic(source: Source) -> bool:
    texts = {n.value.lower() for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    words = {k.arg.lower() for n in ast.walk(source.tree) if isinstance(n, ast.Call) for k in n.keywords if k.arg}
    named = any(text.endswith("partitionoverwritemode") for text in texts | words)
    return (named and "dynamic" in texts) or bool({"replacewhere"} & (texts | words))


def _one_partition(source: Source, node: ast.Call) -> bool:
    """Whether the path is that of one partition: `.../day=...`."""
    texts = [text for argument in [*node.args, *(k.value for k in node.keywords)] for text in source.literals(argument)]
    return any(f"{source.view.partition}=" in text for text in texts)


def has_main(source: Source) -> bool:
    """Whether the file can be run by spark-submit."""
    return any(isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) for node in source.tree.body) or any(
        dotted(node) == "__name__" for node in source.tree.body
    )


RULES = (missing_functions, unsafe_writes)
