"""Writes a document as YAML, JSON or TOML, in the layout of neighbouring files."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from palmette.engine.actor import TextFile
from palmette.features.team_document import document_text, format_of


class YamlLayout(NamedTuple):
    """The YAML style of a team."""

    indent_lists: bool = True
    """Whether the dash of a list is indented below its key."""
    flow_lists: bool = True
    """Whether short lists of scalars are written on one line."""
    flow_items: bool = False
    """Whether each mapping in a list is written on one line."""
    double_quotes: bool = False
    """Whether strings that need quotes get double quotes."""
    start_marker: bool = False
    indent: int = 2


def layout_of(files: Sequence[TextFile]) -> YamlLayout:
    """The style of the files; the defaults if the files do not show one."""
    text = "\n".join(file.text for file in files)

    def count(pattern: str) -> int:
        return len(re.findall(pattern, text, re.MULTILINE))

    indents = [len(spaces) for spaces in re.findall(r"^[\w-]+: *\n( +)[\w-]+:", text, re.MULTILINE)]
    return YamlLayout(
        indent_lists=count(r"^( *)[^\s#-][^:\n]*: *\n\1 +- ") >= count(r"^( *)[^\s#-][^:\n]*: *\n\1- "),
        flow_lists=count(r"(:|-) \[[^\[{]*\]") >= count(r": *\n *- +[^\s\[{:]+$"),
        flow_items=count(r"^ *- +\{") > count(r"^ *- +[\w-]+:( |$)"),
        double_quotes=count(r'[:,\[-] *"') > count(r"[:,\[-] *'"),
        start_marker=bool(files) and all(file.text.lstrip().startswith("---") for file in files),
        indent=max(set(indents), key=indents.count) if indents and 2 <= max(indents) <= 8 else 2,
    )


def write_document(value: Any, path: str, files: Sequence[TextFile], width: int = 100) -> str:
    """Writes `value` in the format given by the name of the file."""
    if format_of(path) == "yaml":
        return write_yaml(value, layout_of(files), width)
    indents = [found[1] for file in files if (found := re.match(r"\s*\{\r?\n([ \t]+)", file.text))]
    return document_text(path, value, max(indents, key=indents.count, default=2))


def write_yaml(value: Any, layout: YamlLayout, width: int = 100) -> str:
    """Writes `value` as a YAML document."""

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, indentless and not layout.indent_lists)

        def choose_scalar_style(self) -> str:
            style = str(super().choose_scalar_style())
            return '"' if style == "'" and layout.double_quotes else style

        def ignore_aliases(self, _: Any) -> bool:
            return True

    def represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
        short = layout.flow_lists and all(not isinstance(item, list | dict) for item in data)
        node = dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=short or not data)
        for item in node.value:
            if isinstance(item, yaml.MappingNode) and layout.flow_items:
                item.flow_style = True
        return node

    Dumper.add_representer(list, represent_list)
    return yaml.dump(
        value,
        Dumper=Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=width,
        indent=layout.indent,
        default_flow_style=False,
        explicit_start=layout.start_marker,
    )
