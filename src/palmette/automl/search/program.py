"""Runs a module of palmette in the sandbox, where it may execute code that a language model wrote."""

from __future__ import annotations

import os
from pathlib import Path

from palmette.automl.weights import FOLDER, weights_folder
from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Environment variables that limit each library to one thread, for programs that parallelize by processes."""
FILE_MB = 4096
"""Largest file that the program may write, in MB."""
LIBRARY = "lib"


def run_module(sandbox: Sandbox, module: str, folder: Path, seconds: float) -> ExecutionResult:
    """Runs `python -m module folder`. The program may write to `folder`, and read palmette and installed packages."""
    package = Path(__file__).resolve().parents[2]
    library, models = folder / LIBRARY, weights_folder()
    library.mkdir(parents=True, exist_ok=True)  # other files beside the package stay unreadable
    parts = (package, *package.parent.glob(f"{package.name}.egg-info"))  # plug-ins of a source tree
    for part in parts:
        link = library / part.name
        if not link.is_symlink():
            link.symlink_to(part, target_is_directory=True)
    return sandbox.run(
        python_command("-m", module, str(folder)),
        cwd=folder,
        access=Access(read=(*parts, *([models] if models else [])), write=(folder,)),
        env={**ONE_THREAD, "PYTHONPATH": str(library)} | ({FOLDER: str(models)} if models else {}),
        limits=Limits(seconds=seconds, file_mb=FILE_MB, disk_mb=4 * FILE_MB),
    )


def cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
