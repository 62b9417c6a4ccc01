"""Sets the example up where it can be run: `python prepare.py [DESTINATION]`, by default `build/offers`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from checkout import announce, set_up  # noqa: E402 - the examples' shared module lies beside them

DESTINATION = HERE.parents[1] / "build" / "offers"


def prepare(destination: Path = DESTINATION) -> Path:
    """Makes or refreshes the example at `destination`, and returns it; harmless to repeat."""
    return set_up(HERE, destination, ("tables", "specs", "runs", "registry.yaml"))


if __name__ == "__main__":
    announce(prepare(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DESTINATION))
