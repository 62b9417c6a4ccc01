"""Imports the team's code, describes its failures, and runs a script's `main`."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .answers import Answers
from .session import WarmSession

_MESSAGE = 2000
_TRACE = 4000
_REAL = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.shuffle.partitions": "8",
}
"""Spark settings for data of more than a few rows."""


def module_name(file: Path, path: Sequence[str]) -> str:
    """The name under which the team imports `file`; empty if no entry of `path` contains it.

    Relative to the parent folder of its top package if that is in `path`, otherwise to the deepest entry.
    """
    top = file.parent
    while (top / "__init__.py").exists():
        top = top.parent
    entries = [entry for entry in map(Path, path) if file.is_relative_to(entry)]
    entries.sort(key=lambda entry: (entry != top, -len(entry.parts)))
    for entry in entries:
        parts = file.relative_to(entry).with_suffix("").parts
        if all(part.isidentifier() for part in parts):
            return ".".join(parts)
    return ""


def import_script(file: Path, path: Sequence[str]) -> ModuleType:
    """Imports the script under its package name."""
    if name := module_name(file, path):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


class ScriptVariant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces the text of a file by a variant when it is imported."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.text = ""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.rpartition(".")[2] != self._file.stem:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None or found.origin is None or Path(found.origin).resolve() != self._file:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self._file))

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        exec(compile(self.text, str(self._file), "exec"), module.__dict__)


def forget(root: Path) -> None:
    """Removes every module under `root` from `sys.modules`, so that the next import reads it again."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and "site-packages" not in file and Path(file).is_relative_to(root):
            del sys.modules[name]


def failure(error: BaseException, root: Path) -> dict[str, str]:
    """Describes an exception: class, message (without the server's stack), and the trace inside `root`."""
    message = str(error).split("\n\nJVM stacktrace")[0].strip()
    whole = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in whole if Path(frame.filename).is_relative_to(root)]
    text = f"{type(error).__name__}: {message}"
    return {
        "error": text if len(text) <= _MESSAGE else text[:_MESSAGE] + " ...",
        "trace": "".join(traceback.format_list(frames))[-_TRACE:],
    }


def run_main(job: dict[str, Any], session: WarmSession, answers: Answers) -> None:
    """Runs the script as `__main__`, like spark-submit, or calls one of its functions, once per item."""
    for index, item in job["items"]:
        with answers.timed(index):
            answer = _run_once(job, item["argv"], session)
        answers.write(index, answer)
        if answer:
            return


def _run_once(job: dict[str, Any], argv: Sequence[str], session: WarmSession) -> dict[str, Any]:
    sys.argv = [job["script"], *argv]
    forget(Path(job["root"]))
    try:
        session.renew()
        if not job["few_rows"]:
            session.spark.conf._set_all(configs=_REAL, silent=False)
        if job["function"]:
            getattr(import_script(Path(job["script"]), job["path"]), job["function"])(*argv)
        else:
            runpy.run_path(job["script"], run_name="__main__")
    except SystemExit as exit:
        return failure(exit, Path(job["root"])) if exit.code not in (None, 0) else {}
    except BaseException as error:  # noqa: BLE001 - process boundary: it is the answer
        return failure(error, Path(job["root"]))
    return {}
