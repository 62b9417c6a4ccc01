"""Every committed configuration is valid, and mistakes are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from offers.config import FeatureViewConfig

FOLDER = Path(__file__).parents[1] / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_configurations_are_valid_and_named_like_their_file(path: Path) -> None:
    assert FeatureViewConfig.from_yaml(path).name == path.stem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "UserActivity"}, "snake_case"),
        ({"colour": "red"}, "Extra inputs"),
        ({"entity_keys": ["clicks_7d"]}, "repeated columns: clicks_7d"),
        ({"sources": {}}, "at least 1 item"),
    ],
)
def test_mistakes_are_refused(change: dict[str, object], message: str) -> None:
    valid = FeatureViewConfig.from_yaml(FOLDER / "user_activity.yaml").model_dump()
    with pytest.raises(ValidationError, match=message):
        FeatureViewConfig.model_validate({**valid, **change})
