"""The statements by which scripts read a configuration, against what Pydantic makes of the same document."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator import team_program
from palmette.features.artefacts import Config, Construction
from palmette.features.pyspark.configuration import config_classes, config_lines

TEAM = """
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Optional

from pydantic import BaseModel


class Format(Enum):
    PARQUET = "parquet"
    DELTA = "delta"


class Owner(BaseModel):
    team: str


@dataclass(frozen=True)
class Window:
    days: int = 7


@dataclass(frozen=True)
class Source:
    path: str
    format: Format = Format.PARQUET
    window: Window | None = None
    aliases: tuple[str, ...] = ()


@dataclass
class Node:
    name: str
    below: list[Node] = field(default_factory=list)


@dataclass
class Config:
    view: str
    limits: ClassVar[dict[str, int]] = {}
    %s
"""
FULL, BARE = {"path": "a/b", "format": "delta", "window": {"days": 30}}, {"path": "c"}
SHAPES = [
    ("days: int = 3", {}),
    ("source: Source", {"source": FULL}),
    ("source: Source", {"source": BARE}),
    ("source: Optional[Source] = None", {}),
    ("source: Optional[Source]", {"source": None}),
    ("source: Optional[Source] = None", {"source": FULL}),
    ("window: Window = Window(5)", {}),
    ("window: Window = Window(5)", {"window": {}}),
    ("source: str | Source", {"source": "a/b"}),
    ("source: str | Source", {"source": FULL}),
    ("sources: list[Source]", {"sources": [FULL, BARE]}),
    ("sources: tuple[Source, ...] = ()", {"sources": [FULL, BARE]}),
    ("sources: Sequence[Window | None]", {"sources": [{"days": 1}, None]}),
    ("sources: Sequence[Source | None]", {"sources": [FULL, None]}),
    ("sources: dict[str, Source]", {"sources": {"x": FULL, "y": BARE}}),
    ("sources: Mapping[str, list[Source]] = field(default_factory=dict)", {"sources": {"x": [FULL], "y": []}}),
    ("sources: list[dict[str, Window]]", {"sources": [{"x": {"days": 1}}, {}]}),
    ("formats: set[Format]", {"formats": ["delta", "parquet"]}),
    ("formats: frozenset[Window] | None = None", {"formats": [{"days": 2}, {"days": 2}]}),
    ("format: Format | None = None", {"format": None}),
    ("owner: Owner", {"owner": {"team": "ml"}}),
    ("owners: dict[str, Owner]", {"owners": {"x": {"team": "ml"}}}),
    ("tree: Node", {"tree": {"name": "x"}}),
    ("anything: Any = None", {"anything": {"path": "x"}}),
]


@pytest.fixture
def team() -> Iterator[ModuleType]:
    module = ModuleType("team_of_shapes")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def _lines(module: ModuleType, text: str) -> list[str]:
    """The statements that read a document, whose text the code `text` gives."""
    name = f"{module.__name__}:Config"
    made = Construction.model_validate(team_program.describe(name, {})["construction"])
    config = Config(file=TextFile(path="view.yaml", text=""), class_name=name, accessors={}, construction=made)
    return config_lines(config, text, {name: name.partition(":")[2] for name in config_classes(config)})


def _read(module: ModuleType, document: dict[str, Any]) -> Any:
    """What the statements give."""
    names: dict[str, Any] = {**vars(module), "yaml": yaml, "text": yaml.safe_dump(document)}
    exec("\n".join(_lines(module, "text")), names)
    return names["config"]


@pytest.mark.parametrize(("field", "document"), SHAPES, ids=[f"{field} of {given}" for field, given in SHAPES])
def test_scripts_make_what_pydantic_makes(team: ModuleType, field: str, document: dict[str, Any]) -> None:
    exec(TEAM % field, vars(team))
    whole = {"view": "v", **document}
    by_pydantic = team_program.adapter(team.Config).validate_python(whole)
    assert _read(team, whole) == by_pydantic


@pytest.mark.parametrize(("own", "made"), [
    ("self.window = Window(**self.window)", []),
    ("self.window = self.window if isinstance(self.window, Window) else Window(**self.window)", []),
    ("object.__setattr__(self, 'window', Window(**self.window))", []),
    ("self.window = self.window or Window(5)", ["window"]),
    ("assert self.window.days > 0", ["window"]),
    ("self.view = f'{self.view}_{self.window.days}'", ["window"]),
    ("if self.view == '': self.window = Window(1)", ["window"]),
])  # fmt: skip
def test_what_a_class_makes_itself_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, made: list[str]
) -> None:
    file = tmp_path / f"{tmp_path.name}.py"  # a module of its own
    file.write_text(f"{TEAM % 'window: Window'}\n    def __post_init__(self):\n        {own}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    team = importlib.import_module(file.stem)
    fields = team_program.describe(f"{file.stem}:Config", {})["construction"]["fields"]
    assert [*fields] == made
    assert _read(team, {"view": "v", "window": {"days": 3}}).window == team.Window(3)


def test_the_statements_are_what_a_person_would_write(team: ModuleType) -> None:
    exec(TEAM % "sources: dict[str, Source]\n    window: Window | None = None", vars(team))
    assert _lines(team, "read()") == [
        "document = yaml.safe_load(read())",
        'for item in document["sources"].values():',
        '    if item.get("format") is not None:',
        '        item["format"] = Format(item["format"])',
        '    if isinstance(item.get("window"), dict):',
        '        item["window"] = Window(**item["window"])',
        'document["sources"] = {key: Source(**item) for key, item in document["sources"].items()}',
        'if isinstance(document.get("window"), dict):',
        '    document["window"] = Window(**document["window"])',
        "config = Config(**document)",
    ]
