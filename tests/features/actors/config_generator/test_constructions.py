"""The code by which scripts read a configuration, against what Pydantic makes of the same document."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from palmette.engine.actor import TextFile
from palmette.features.actors.config_generator import team_program
from palmette.features.artefacts import Config
from palmette.features.pyspark.io import config_object

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


@pytest.mark.parametrize(("field", "document"), SHAPES, ids=[f"{field} of {given}" for field, given in SHAPES])
def test_scripts_make_what_pydantic_makes(field: str, document: dict[str, Any]) -> None:
    team = ModuleType("team_of_shapes")
    sys.modules[team.__name__] = team
    exec(TEAM % field, vars(team))
    whole = {"view": "v", **document}
    by_pydantic = team_program.adapter(team.Config).validate_python(whole)
    assert _read(team.Config, whole) == by_pydantic
    del sys.modules[team.__name__]


@pytest.mark.parametrize(("own", "built_by"), [
    ("self.window = Window(**self.window)", "keywords"),
    ("self.window = self.window if isinstance(self.window, Window) else Window(**self.window)", "keywords"),
    ("self.window = self.window or Window(5)", "type_adapter"),
    ("assert self.window.days > 0", "type_adapter"),
])  # fmt: skip
def test_what_a_class_makes_itself_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, built_by: str
) -> None:
    file = tmp_path / f"{tmp_path.name}.py"  # a module of its own
    file.write_text(f"{TEAM % 'window: Window'}\n    def __post_init__(self):\n        {own}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    team = importlib.import_module(file.stem)
    assert team_program.built_by(team.Config) == built_by
    assert _read(team.Config, {"view": "v", "window": {"days": 3}}).window == team.Window(3)


def _read(cls: Any, document: dict[str, Any]) -> Any:
    """What the code of scripts makes of a document."""
    config = Config.model_validate({
        "file": TextFile(path="view.yaml", text=""), "class_name": "team:Config", "accessors": {},
        "built_by": team_program.built_by(cls)})  # fmt: skip
    names = {"yaml": yaml, "text": yaml.safe_dump(document), "TypeAdapter": TypeAdapter, "Config": cls}
    return eval(config_object(config, "text", "Config"), names)
