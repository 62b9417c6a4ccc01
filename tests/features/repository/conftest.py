"""Fixture repositories: YAML files that map paths to texts, laid out in a temporary folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

CASES = Path(__file__).parent / "repositories"


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[str], Path]:
    """Lays out the named fixture repository and gives its root."""

    def lay_out(name: str) -> Path:
        root = tmp_path / name
        for path, text in yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8")).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return root

    return lay_out
