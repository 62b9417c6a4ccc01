"""What a person says of a run, as the arguments of the environment `automl`; light, so that commands start quickly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

HUBS = ("openml", "uci", "sklearn")
"""Collections that sets can be named of, as `sklearn:iris`."""
STAGES = {"plan": "guideline_writer", "deploy": "deployer"}
"""What a person may want to agree to, and the actor that waits for it."""


def arguments_of(
    request: str,
    data: Sequence[str],
    *,
    budget: float = 120.0,
    holdout: float = 0.2,
    plans: int = 3,
    seed: int = 0,
    out: str | Path | None = None,
    **other: Any,
) -> dict[str, Any]:
    """The arguments, with paths made absolute; `other` are those of the environment, None for its default."""
    folder = str(Path(out).absolute()) if out else ""
    approve = [STAGES.get(name, name) for name in other.pop("approve", ())]
    return {
        "text": request,
        "data": [_place(place) for place in data],
        "settings": {"seconds": budget, "holdout": holdout, "plans": plans, "seed": seed, "out": folder},
        "approve": approve,
        **{name: _plain(value) for name, value in other.items() if value is not None},
    }


def _place(place: str) -> str:
    """A path as it is from anywhere; an empty one, as of a variable that is not set, is no path."""
    is_path = place.strip() and place.partition(":")[0] not in HUBS
    return str(Path(place).absolute()) if is_path else place


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
