"""Locks a run folder for one process; the kernel releases the lock when the process dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from palmette.engine.storage_errors import disk_errors
from palmette.errors import MachineError, RunError

LOCK = "run.lock"


def take(folder: Path) -> int:
    """Locks a run for this process until the returned descriptor is closed.

    Raises:
        RunError: another process holds it; the message has its id.
        MachineError: the folder is not writable, or its file system has no locks.
    """
    with disk_errors(folder):
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    for patience in (0.05, 0.2, None):  # a status query holds the lock for an instant
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if patience is None:
                owner = os.read(descriptor, 20).decode(errors="replace").strip()
                os.close(descriptor)
                raise RunError(
                    f"The run in {str(folder)!r} is in use by process {owner or '?'}.",
                    "Wait for it, or stop it and resume the run.",
                    code="run-in-use",
                ) from error
            time.sleep(patience)
        except OSError as error:
            os.close(descriptor)
            raise MachineError(
                f"Where {str(folder)!r} lies, files cannot be locked: {error.strerror}.",
                "Set PALMETTE_RUNS to a folder on a disk of this machine.",
                code="no-locks",
            ) from error
    with suppress(OSError):  # disk full: the lock is held, only the owner's id is not recorded
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def is_running(folder: Path) -> bool:
    """Whether a live process holds the run."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # without locks nobody can work on the run
        return False
    finally:
        os.close(descriptor)
    return False
