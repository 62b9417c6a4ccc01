"""Pretrained networks by request: which can be used here and why not, and what a fetched one is to a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_web import FakeWeb

from palmette.automl.checkpoints import checkpoints, fetch_checkpoint
from palmette.automl.weights import FOLDER, network_folder
from palmette.cli import cli
from palmette.errors import UserError

FILES = ("config.json", "model.safetensors", "tokenizer.json", "modeling.py", "pytorch_model.bin")


def network(id: str, parameters: int = 20_000_000, model_type: str = "bert", files: tuple[str, ...] = FILES) -> Any:
    siblings = [{"rfilename": name, "size": 1 << 20} for name in files]
    return {"id": id, "downloads": 5, "tags": ["license:mit"], "safetensors": {"total": parameters},
            "config": {"model_type": model_type}, "siblings": siblings}  # fmt: skip


def listed(fake: FakeWeb, *networks: Any) -> None:
    fake.answers = [{"path": f"/api/models/{one['id']}", "json": one} for one in networks]
    fake.answers.append({"path": "/api/models", "query": {"filter": "sentence-similarity"}, "json": [*networks]})


def test_networks_that_cannot_be_used_here_come_last_with_the_reason(fake_web: FakeWeb) -> None:
    pickled = network("a/pickled", files=("pytorch_model.bin", "config.json"))
    listed(fake_web, pickled, network("a/odd", model_type="odd"), network("a/large", 10**14), network("a/good"))
    found = checkpoints("text", 1000, 600.0)
    assert [one.record.id for one in found if not one.concerns] == ["a/good"] and found[0].record.licence == "mit"
    reasons = {one.record.id: "; ".join(one.concerns) for one in found}
    assert "no model.safetensors" in reasons["a/pickled"] and "'odd' is not read here" in reasons["a/odd"]
    assert "of memory" in reasons["a/large"] and "more than half" in reasons["a/large"]
    shown = json.loads(CliRunner().invoke(cli, ["checkpoints", "text", "--rows", "1000", "--json"]).stdout)
    assert {one["record"]["id"] for one in shown} == set(reasons)


def test_a_fetched_network_is_the_one_of_later_runs(
    fake_web: FakeWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(fake_web, network("a/good"), network("a/pickled", files=("pytorch_model.bin",)))
    fake_web.files = {f"/a/good/resolve/main/{name}": b"tensors" for name in FILES}
    config = {"model_type": "bert", "hidden_size": 384}
    fake_web.files["/a/good/resolve/main/config.json"] = json.dumps(config).encode()
    with pytest.raises(UserError, match=f"{FOLDER} is not set"):
        fetch_checkpoint("a/good")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    folder = fetch_checkpoint("a/good")
    assert {one.name for one in folder.iterdir()} == {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
    used = network_folder("text")
    assert used and (used.folder, used.features) == ("a--good", 384) and "mit" in used.licence
    with pytest.raises(UserError, match="nothing else is loaded"):
        fetch_checkpoint("a/pickled")
