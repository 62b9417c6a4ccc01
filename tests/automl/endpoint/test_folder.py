"""A delivered folder is placed whole or not at all, and replaces only what was delivered before, unchanged."""

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pandas", reason="the packages of AutoML are not installed")

from palmette.automl.endpoint import delivered
from palmette.automl.endpoint.folder import MANIFEST, add, differing, place, read_manifest
from palmette.errors import MachineError, UserError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "models").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)")
    (folder / "models" / "one.py").write_text("ONE = 1")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "train.pyc").write_text("")
    return folder


def test_a_delivery_replaces_an_earlier_one_and_leaves_nothing_else(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "delivered"
    for text in ("print(1)", "print(2)"):
        (project / "train.py").write_text(text)
        manifest = place(project, folder)
        assert sorted(manifest.files) == ["models/one.py", "train.py"] and read_manifest(folder) == manifest
        assert (folder / "train.py").read_text() == text and differing(folder, manifest) == []
        (folder / "__pycache__").mkdir()
        assert differing(folder, manifest) == [], "what running leaves behind is nothing"
    assert [path.name for path in folder.parent.iterdir()] == ["delivered"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / MANIFEST).unlink(), "folder-taken"),
        (lambda folder: (folder / MANIFEST).write_text("{}"), "folder-taken"),
        (lambda folder: (folder / "train.py").write_text("mine"), "folder-changed"),
        (lambda folder: (folder / "notes.txt").write_text("mine"), "folder-changed"),
        (lambda folder: (folder / "models" / "one.py").unlink(), "folder-changed"),
    ],
)
def test_what_somebody_has_done_is_not_destroyed(project: Path, tmp_path: Path, change, code: str) -> None:
    folder = tmp_path / "delivered"
    place(project, folder)
    change(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError) as caught:
        place(project, folder)
    assert caught.value.code == code and caught.value.remedy
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_in_the_way_is_not_replaced(project: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(UserError, match="is not a delivered package"):
        place(project, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_what_cannot_be_written_leaves_the_earlier_delivery(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "delivered"
    place(project, folder)
    (project / "train.py").write_text("print(3)")
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if target == folder and self.name.endswith("-new"):
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(MachineError) as caught:
        place(project, folder)
    assert caught.value.code == "delivery-unwritable"
    assert (folder / "train.py").read_text() == "print(1)"
    assert {path.name for path in tmp_path.iterdir()} == {"project", "delivered"}


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Whether a process that dies before its n-th file or folder is moved dies before the work is done."""
    pid = os.fork()
    if pid == 0:
        moves = count(1)
        for name in ("rename", "replace"):
            move = getattr(Path, name)

            def dying(self: Path, target: Path, move: Callable[[Path, Path], Path] = move) -> Path:
                if next(moves) == number:
                    os._exit(9)
                return move(self, target)

            setattr(Path, name, dying)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize("work", ["place", "add"])
def test_a_delivery_that_is_killed_anywhere_can_be_made_again(work: str, project: Path, tmp_path: Path) -> None:
    texts = {"report.html": "first", "train.py": "print(1)"}
    for number in count(1):
        folder = tmp_path / str(number) / "delivered"
        place(project, folder)
        add(folder, texts)
        second = partial(add, folder, {**texts, "report.html": "second"})
        is_killed = killed_at(number, second if work == "add" else partial(place, project, folder))
        place(project, folder)
        second()
        manifest = read_manifest(folder)
        assert manifest and not manifest.coming and not differing(folder, manifest)
        assert (folder / "report.html").read_text() == "second"
        assert [path.name for path in folder.parent.iterdir()] == ["delivered"]
        if not is_killed:
            break
    assert number == {"place": 3, "add": 5}[work]


def test_what_is_delivered_outlasts_a_loss_of_power(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file and every folder is on the disk before the delivery has its name, and then the name is."""
    synced, sync, folder = list[str](), os.fsync, tmp_path / "out" / "delivered"

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        assert folder.exists() == (synced[-1] == "out")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    place(project, folder)
    assert sorted(synced[:-1]) == [".delivered.palmette-new", MANIFEST, "models", "one.py", "train.py"]
    assert synced[-1] == "out"


def test_the_latest_model_is_that_of_the_newest_run_that_delivered_one(monkeypatch: pytest.MonkeyPatch) -> None:
    artefacts = {"broken": {}, "features": {}, "second": {"delivery": 1}, "first": {"delivery": 1}}
    runs = [
        SimpleNamespace(folder=Path(name), status="unreadable" if name == "broken" else "completed")
        for name in artefacts
    ]
    monkeypatch.setattr(delivered, "list_runs", lambda: runs)
    monkeypatch.setattr(delivered, "run_state", lambda folder: SimpleNamespace(artefacts=artefacts[folder.name]))
    assert delivered.run_of("latest") == Path("second")
