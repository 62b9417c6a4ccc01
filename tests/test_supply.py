"""What palmette brings with it: few packages, each with its reason, and every installed one pinned."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INSTALLERS = {"pip", "setuptools", "wheel", "uv"}
"""What a Python brings, or installs the rest."""


def folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


PINNED = {
    folded(name): version
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if (found := re.fullmatch(r"([\w.-]+)==([\w.!]+)", line.strip()))
    for name, version in [found.groups()]
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def needed(name: str, extras: tuple[str, ...], seen: dict[str, str]) -> None:
    """Names and versions of the installed packages that a package needs with these extras."""
    from packaging.requirements import Requirement

    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    seen.setdefault(folded(name), package.version)
    for text in package.requires or ():
        one = Requirement(text)
        wanted = any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)) if one.marker else True
        if wanted and (folded(one.name) not in seen or one.extras):
            needed(one.name, tuple(one.extras), seen)


def test_every_installed_package_that_palmette_needs_is_pinned() -> None:
    pytest.importorskip("packaging")
    seen: dict[str, str] = {}
    needed("palmette", ("dev",), seen)
    seen = {name: version for name, version in seen.items() if name not in INSTALLERS | {"palmette"}}
    assert len(seen) > 10
    assert {name for name in seen if name not in PINNED} == set()


def test_constraints_pin_versions_and_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    rest = [line for line in lines if line.strip() and not line.startswith("#")]
    assert len(rest) == len(PINNED) and not [line for line in rest if "://" in line or "@" in line]


def test_security_names_each_base_dependency() -> None:
    text = re.search(r"Every installation has (.+?)\. All else is an extra", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert text is not None
    names = [re.match(r"[\w-]+", one)[0] for one in PROJECT["dependencies"]]  # type: ignore[index]  # each has a name
    assert re.findall(r"`([\w-]+)`", text[1]) == names
