"""Artefacts on disk: digests, working copies, names that would escape."""

import json
import os
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette.engine import ArtefactStore
from palmette.errors import DeveloperError, RunError

names = st.text(string.ascii_letters + "._-é ", min_size=1, max_size=6).filter(lambda name: name.strip(". ") == name)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
files = st.fixed_dictionaries({"path": paths, "text": st.text(st.characters(exclude_categories=["Cs"]))})
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = st.recursive(
    scalars | files,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "path", "c/d", "0"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values)
def test_values_survive_the_store_and_their_working_copy(tmp_path: Path, value: Any) -> None:
    store = ArtefactStore(tmp_path)
    digest = store.put(value)
    assert store.get(digest) == value
    assert list(json.loads(json.dumps(value))) == list(value) if isinstance(value, dict) else True
    store.publish("it", digest)
    assert store.is_published("it", digest)
    assert store.read_copy("it") == value
    assert store.put(store.read_copy("it")) == digest


def test_texts_are_plain_files_and_claimed_paths_are_kept_apart(tmp_path: Path) -> None:
    store = ArtefactStore(tmp_path)
    value = [
        {"path": "src/a.py", "text": "one\n"},
        {"path": "src/a.py", "text": "two\n"},
        {"path": "b.py", "text": "three\n"},
        {"path": "value.json", "text": "four\n"},
    ]
    store.publish("code", store.put(value))
    view = tmp_path / "artefacts/code"
    assert {str(path.relative_to(view)) for path in view.rglob("*") if path.is_file()} == {
        "0/src/a.py",
        "1/src/a.py",
        "b.py",
        "3/value.json",
        "value.json",
        ".digest",
    }
    assert (view / "b.py").read_text() == "three\n"


def test_a_new_version_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    store = ArtefactStore(tmp_path)
    store.publish("code", store.put({"path": "old.py", "text": ""}))
    store.publish("code", store.put({"path": "new.py", "text": ""}))
    assert not (tmp_path / "artefacts/code/old.py").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "", ".", "a\\b", "a\0b"])
def test_paths_that_would_escape_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(DeveloperError, match="unsafe-path"):
        ArtefactStore(tmp_path).put({"file": {"path": path, "text": ""}})


def test_a_digest_covers_the_texts(tmp_path: Path) -> None:
    store = ArtefactStore(tmp_path)
    assert store.put({"path": "a", "text": "1"}) != store.put({"path": "a", "text": "2"})


def test_an_object_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    store = ArtefactStore(tmp_path)
    digest = store.put({"a": 1})
    (tmp_path / "objects" / digest).unlink()
    os.mkfifo(tmp_path / "objects" / digest)
    with pytest.raises(RunError, match="broken-object"):
        store.get(digest)


@pytest.mark.parametrize("left", ["nothing", "half", "a link"])
def test_an_object_that_a_loss_of_power_has_cut_short_is_made_again(left: str, tmp_path: Path) -> None:
    store = ArtefactStore(tmp_path)
    digest = store.put({"a": "value"})
    path = store.objects / digest
    content = path.read_bytes()
    path.unlink()
    if left == "a link":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(content[: len(content) // 2 if left == "half" else 0])
    assert store.put({"a": "value"}) == digest and path.read_bytes() == content and not path.is_symlink()
