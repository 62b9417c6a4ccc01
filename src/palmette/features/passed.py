"""What has passed in a run or an earlier one, by content: a check or a proof of the same content is not run again."""

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from palmette.engine.actor import Measurement
from palmette.engine.storage import write_whole


class PassedBefore:
    """Measurements of what has passed, each by everything that it depends on. Failures are measured again."""

    def __init__(self, folder: Path | None = None, *shared: object) -> None:
        """`folder` keeps them, if there is one. All of them depend on `shared` and on what is installed."""
        self._folder, self._shared = folder, (_installed() if folder else "", *shared)

    def find(self, *content: object) -> Measurement | None:
        file = self._file(content)
        return Measurement.model_validate_json(file.read_bytes()) if file and file.is_file() else None

    def keep(self, measurement: Measurement, *content: object) -> None:
        """Other runs may write the same measurement at the same time."""
        if file := self._file(content):
            write_whole(file, measurement.model_copy(update={"seconds": 0.0}).model_dump_json().encode())

    def _file(self, content: tuple[object, ...]) -> Path | None:
        key = hashlib.sha256(repr((*self._shared, *content)).encode()).hexdigest()
        return self._folder / key if self._folder else None


@cache
def _installed() -> str:
    """Identifies Python, Java, the installed packages and this version of the checks."""
    packages = sorted(path.name for folder in sys.path for path in Path(folder).glob("*.dist-info"))
    known = (sys.version, os.environ.get("JAVA_HOME"), version("palmette"), packages, digest_of(Path(__file__).parent))
    return hashlib.sha256(repr(known).encode()).hexdigest()


def digest_of(place: Path) -> str:
    """The digest of a file, or of all files in a folder with their paths; without compiled Python files."""
    digest = hashlib.sha256()
    for file in sorted(path for path in (place, *place.rglob("*")) if path.is_file() and not path.is_symlink()):
        if file.suffix != ".pyc":
            digest.update(f"{file.relative_to(place)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
