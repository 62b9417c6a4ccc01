"""The folders that the web page and the MCP server may read and write."""

from collections.abc import Sequence
from pathlib import Path

from palmette.documents import read_document
from palmette.errors import UserError


class Roots:
    """Allowed folders; relative paths start at the first."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folder.resolve() for folder in folders)

    def path(self, text: str) -> Path:
        """The path, within the allowed folders; links are followed first.

        Raises:
            UserError: it leads elsewhere, or is not a path.
        """
        try:
            path = (self.folders[0] / text).resolve()
        except (OSError, ValueError) as error:
            raise UserError(f"{text[:100]!r} is not a path.", "Name a file.", code="outside-roots") from error
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders))
            message = f"{text!r} is not in the allowed folders ({allowed})."
            raise UserError(message, "Start the server with --root FOLDER to allow another.", code="outside-roots")
        return path

    def run_file(self, text: str) -> Path:
        """The path of a run file of which everything that it names lies in the allowed folders as well."""
        from palmette.features.spec.dfr import Registry
        from palmette.features.spec.run import Run

        path = self.path(text)
        run = read_document(path, Run)
        dfr = self.path(str(path.parent / run.dfr))
        tables = (part for table in read_document(dfr, Registry).tables for part in (table.path, table.sample))
        named = [(path, run.fsc), (path, run.repository.path), (path, run.output.path), (path, run.topology)]
        for base, part in [*named, *((dfr, part) for part in tables)]:
            if part and "://" not in part:
                self.path(str(base.parent / part))
        return path
