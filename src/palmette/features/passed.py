"""What has passed in a run, by content: a check or a proof that depends on nothing new is not run again."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from palmette.engine.actor import Measurement


class PassedBefore:
    """Measurements of what has passed, each by everything that it depends on. Failures are measured again."""

    def __init__(self, folder: Path | None = None, *shared: object) -> None:
        """`folder` keeps them, if there is one. All of them depend on `shared`."""
        self._folder, self._shared = folder, (version("palmette"), version("pyspark"), *shared)

    def find(self, *content: object) -> Measurement | None:
        file = self._file(content)
        return Measurement.model_validate_json(file.read_bytes()) if file and file.is_file() else None

    def keep(self, measurement: Measurement, *content: object) -> None:
        if file := self._file(content):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(measurement.model_copy(update={"seconds": 0.0}).model_dump_json(), encoding="utf-8")

    def _file(self, content: tuple[object, ...]) -> Path | None:
        key = hashlib.sha256(repr((*self._shared, *content)).encode()).hexdigest()
        return self._folder / key if self._folder else None


def digest_of(place: Path) -> str:
    """The digest of a file, or of all files in a folder with their paths."""
    digest = hashlib.sha256()
    for file in sorted(path for path in (place, *place.rglob("*")) if path.is_file() and not path.is_symlink()):
        digest.update(f"{file.relative_to(place)}\n".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
