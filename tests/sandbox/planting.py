"""Keys planted in the environment and in a home folder, and looked for in all that a run has left."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

KEYS = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdef",
    "AWS_SECRET_ACCESS_KEY": "planted/aws+secret/bbbbbbbb",
    "GITHUB_TOKEN": "ghp_planteddddddddd",
    "UNSUSPECTED": "planted-under-no-name-eeee",
}
FILES = {
    ".ssh/id_ed25519": "planted-ssh-key-ffff",
    ".aws/credentials": "planted-cloud-key-gggg",
    ".netrc": "planted-password-hhhh",
}


def plant(patch: pytest.MonkeyPatch, home: Path) -> None:
    """From here on the keys are there for who looks."""
    for name, key in KEYS.items():
        patch.setenv(name, key)
    for name, key in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"key = {key}\n", encoding="utf-8")
    patch.setenv("HOME", str(home))


def leaked(*folders: Path) -> Iterator[str]:
    """Files of the folders in which a key stands, as it is or in base 64."""
    plain = [key.encode() for key in (*KEYS.values(), *FILES.values())]
    wanted = [*plain, *(base64.b64encode(key)[:-4] for key in plain)]
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and any(key in path.read_bytes() for key in wanted):
                yield str(path.relative_to(folder))
