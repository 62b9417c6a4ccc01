"""What programs have made is read as files, and as nothing else."""

import os
from pathlib import Path

import pytest

from palmette.sandbox.reading import copy_made, read_json, read_made
from palmette.sandbox.supervisor.folders import remove


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with a file, and what imitates one."""
    folder = tmp_path / "made"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.json").write_text('"secret"')
    (folder / "below" / "value.json").write_text("[1]")
    (folder / "value.json").write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "secret" / "key.json")
    (folder / "endless").symlink_to("/dev/zero")
    (folder / "there").symlink_to(tmp_path / "secret")
    (folder / "deep").write_text("[" * 100_000)
    os.truncate(os.open(folder / "large", os.O_CREAT | os.O_WRONLY), 1 << 40)
    os.mkfifo(folder / "pipe")
    return folder


def test_a_file_is_read(made: Path) -> None:
    assert read_made(made, "value.json") == b"{}" and read_json(made, "below/value.json") == [1]


@pytest.mark.parametrize(
    "path", ["link.json", "endless", "there/key.json", "pipe", "below", "large", "nowhere", "deep"]
)
def test_what_imitates_a_file_is_refused_at_once(made: Path, path: str) -> None:
    with pytest.raises((OSError, ValueError)):
        read_json(made, path, 1 << 20)


def test_a_copy_has_the_files_alone(made: Path, tmp_path: Path) -> None:
    (made / "large").unlink()
    copy_made(made, tmp_path / "copy")
    found = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert found == {"value.json", "below/value.json", "deep"}
    with pytest.raises(OSError, match="more in it"):
        copy_made(made, tmp_path / "again", most=1000)
    for number in range(20):
        (made / f"empty-{number}").touch()
    with pytest.raises(OSError, match="more in it"):
        copy_made(made, tmp_path / "many", most=50_000)
    for number in range(20):
        (tmp_path / "folders" / str(number)).mkdir(parents=True)
    with pytest.raises(OSError, match="more in it"):
        copy_made(tmp_path / "folders", tmp_path / "many-folders", most=50_000)
    copy_made(tmp_path / "nowhere", tmp_path / "nothing")
    assert not list((tmp_path / "nothing").glob("*"))


def test_folders_in_one_another_are_followed_up_to_a_bound(tmp_path: Path) -> None:
    """Who makes them may be at work until they are read, and after what is too deep was swept away."""
    (tmp_path / "made").mkdir()
    at = os.open(tmp_path / "made", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    with pytest.raises(OSError, match="more folders in one another"):
        copy_made(tmp_path / "made", tmp_path / "copy")
    remove(str(tmp_path / "made"))
