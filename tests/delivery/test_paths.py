"""What a pull request may touch."""

from pathlib import Path

import pytest

from palmette.delivery.paths import check_paths, matches
from palmette.errors import DeliveryError

ALLOW = ("src/**/*.py", "configs/*.yaml", "README.md")


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("src/a.py", "src/**/*.py", True),
        ("src/a/b/c.py", "src/**/*.py", True),
        ("src/a/b.py", "src/*.py", False),
        ("xsrc/a.py", "src/**", False),
        ("src/a.pyc", "src/**/*.py", False),
        ("a+b.yaml", "a+b.yaml", True),
        ("ab.yaml", "a?.yaml", True),
        ("a/.yaml", "a?.yaml", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:
    assert matches(path, glob) is expected


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside.py",
        "src/../../outside.py",
        "src/./a.py",
        "src//a.py",
        "",
        "C:/a.py",
        "src\\a.py",
        ".git/hooks/pre-push",
        "src/.GIT/config",
        "setup.py",
        "configs/deep/a.yaml",
        "linked/a.py",
        "src/link.py",
        "src/folder",
    ],
)
def test_other_paths_are_refused(path: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "src" / "folder").mkdir(parents=True)
    (root / "linked").symlink_to(tmp_path)
    (root / "src" / "link.py").symlink_to(tmp_path / "victim.py")
    with pytest.raises(DeliveryError) as caught:
        check_paths(
            ["src/fine.py", path], (*ALLOW, "linked/**", ".git/**", "src/**"), root
        ) if path != "configs/deep/a.yaml" else check_paths([path], ALLOW, root)
    assert caught.value.code == "path-not-allowed"
    assert repr(path) in str(caught.value) and "'src/fine.py'" not in str(caught.value)


def test_allowed_paths_pass_and_all_others_are_named(tmp_path: Path) -> None:
    check_paths(["src/x/new.py", "configs/a.yaml", "README.md"], ALLOW, tmp_path)
    with pytest.raises(DeliveryError, match=r"'a\.txt'.*'b\.txt'"):
        check_paths(["a.txt", "b.txt"], ALLOW, tmp_path)
