"""Programs that may use a GPU get the devices of its driver; other programs do not."""

from pathlib import Path

import pytest

from palmette.automl.project.built import run_program
from palmette.automl.search.job import run_module
from palmette.sandbox import Access, Sandbox, python_command

OPENED = """
import sys
def opens(path):
    try: return bool(open(path, "r+b"))
    except OSError: return False
print(*filter(opens, sys.argv[1:]))
"""


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Devices of a driver: files, and one device of the machine."""
    monkeypatch.setattr("palmette.sandbox.access.GPU_FOLDER", tmp_path)
    paths = [tmp_path / name for name in ("nvidiactl", "nvidia-uvm", "nvidia0")]
    for path in paths[:2]:
        path.touch()
    paths[2].symlink_to("/dev/zero")
    return [*map(str, paths)]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_program_that_may_use_gpus_opens_their_devices(isolated: Sandbox, work: Path, devices: list[str]) -> None:
    beside = work.parent / "nvidia-caps"
    beside.touch()
    command = python_command("-c", OPENED, *devices, str(beside))
    result = isolated.run(command, cwd=work, access=Access(gpu=True))
    assert result.stdout.split() == devices, result


def test_no_other_program_does(isolated: Sandbox, work: Path, devices: list[str]) -> None:
    files = devices[:2]
    assert isolated.run(python_command("-c", OPENED, *files), cwd=work).stdout == "\n"


def test_without_the_memory_device_of_the_driver_there_is_no_gpu(
    isolated: Sandbox, work: Path, devices: list[str]
) -> None:
    """Otherwise the driver finds a GPU, and its first use fails."""
    Path(devices[1]).unlink()
    result = isolated.run(python_command("-c", OPENED, devices[0]), cwd=work, access=Access(gpu=True))
    assert result.stdout == "\n"


def test_training_and_packages_may_use_gpus(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(Sandbox, "run", lambda *_, access, **__: asked.append(access.gpu))
    run_module(sandbox, "module", tmp_path, 1.0)
    run_program(sandbox, tmp_path, "train.py", seconds=1.0, write=tmp_path)
    assert asked == [True, True]
