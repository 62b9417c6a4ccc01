"""A module of palmette that runs in the sandbox, where it may execute code that a model has written."""

from __future__ import annotations

import os
from pathlib import Path

from palmette.sandbox import Access, ExecutionResult, Limits, Sandbox, python_command

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Of every library, for programs that share the cores by processes."""
FILE_MB = 4096
"""Largest file that such a program may write."""
LIBRARY = "lib"


def run_module(sandbox: Sandbox, module: str, folder: Path, seconds: float) -> ExecutionResult:
    """Runs `python -m module folder`. It may change the folder, and read palmette beside installed packages."""
    package = Path(__file__).resolve().parents[2]
    link = folder / LIBRARY / package.name  # the folder around the package may hold anything, and stays unreadable
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(package, target_is_directory=True)
    return sandbox.run(
        python_command("-m", module, str(folder)),
        cwd=folder,
        access=Access(read=(package,), write=(folder,)),
        env={**ONE_THREAD, "PYTHONPATH": str(link.parent)},
        limits=Limits(seconds=seconds, file_mb=FILE_MB, disk_mb=4 * FILE_MB),
    )


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
