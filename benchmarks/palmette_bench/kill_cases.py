"""The runs that are killed: toys, feature views up to their pull request, and models up to their delivery."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import yaml

from palmette.automl.arguments import arguments_of
from palmette.automl.endpoint.folder import differing, read_manifest
from palmette.delivery.git import Git
from palmette.engine import ArtefactStore, run_state
from palmette_bench import toys
from palmette_bench.kill_chain import RunRequest


class KillCase(Protocol):
    """A kind of run, and what it does outside of its folder."""

    name: str
    timed: tuple[str, ...]
    """Artefacts that say how far training came in its time, which no two runs have alike."""
    is_slow: bool
    """Whether a run takes so long that each dies at moments of all kinds."""

    def job(self, place: Path) -> RunRequest:
        """A run whose world is in the folder `place`."""

    def wrong(self, place: Path, run: Path) -> Iterator[str]:
        """What is not as it must be in the world of a run that is done."""


class ToyRuns:
    """Three paid calls, a fault that is mended, a delivery."""

    name = "toys"
    timed: tuple[str, ...] = ()
    is_slow = False

    def __init__(self, pause: float) -> None:
        self.pause = pause

    def job(self, place: Path) -> RunRequest:
        return RunRequest("topology", toys.arguments(place / "outside", pause=self.pause))

    def wrong(self, place: Path, run: Path) -> Iterator[str]:
        deliveries = list((place / "outside").glob("delivery-*"))
        if len(deliveries) != 1:
            yield f"there are {len(deliveries)} deliveries"


class ModelRuns:
    """A model for a small table, trained for some seconds."""

    name = "automl"
    timed: tuple[str, ...] = ("assembly", "comparison", "assessment", "delivery")
    is_slow = True

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def job(self, place: Path) -> RunRequest:
        sizes = [40 + n * 7 % 90 for n in range(160)]
        rows = [f"{n};{s};{'nse'[n % 3]};{'yes' if s + 10 * (n % 3) > 95 else 'no'}" for n, s in enumerate(sizes)]
        table = place / "houses.csv"
        table.write_text("\n".join(["id;size;side;expensive", *rows, ""]), encoding="utf-8")
        text = "Predict whether a house is expensive, with an accuracy of at least 0.6."
        return RunRequest("automl", arguments_of(text, [str(table)], budget=self.seconds, human="none"))

    def wrong(self, place: Path, run: Path) -> Iterator[str]:
        folder = Path(_value(run, "delivery")["folder"])
        manifest = read_manifest(folder)
        if folder != run / "delivered" or manifest is None:
            yield f"nothing is delivered to {folder}"
        elif changed := differing(folder, manifest):
            yield f"{changed[0]} of the delivery is not what was delivered"
        for path in folder.parent.glob(f".{folder.name}*"):
            yield f"{path.name} is left beside the delivery"


class FeatureRuns:
    """A feature view: its branch is pushed, and its pull request opened on a forge that counts."""

    name = "features"
    timed: tuple[str, ...] = ()
    is_slow = True

    def __init__(self, run_file: Path, forge: CountingForge) -> None:
        self.run_file, self.forge = run_file, forge

    def job(self, place: Path) -> RunRequest:
        example = place / "example"
        shutil.copytree(self.run_file.parents[1], example, symlinks=True)
        git, remote = Git(example / "repository"), place / "remote.git"
        for branch in git("branch", "--format=%(refname:short)").split():
            if branch != git("branch", "--show-current"):  # of runs that the example has seen
                git("branch", "--delete", "--force", branch)
        git("clone", "--quiet", "--bare", ".", str(remote))
        git("remote", "add", "origin", str(remote))
        self.forge.opened.clear()
        run = yaml.safe_load(self.run_file.read_text("utf-8"))
        run["pull_request"] = {"target": "github", "remote": "origin", "project": "shop/offers", "api": self.forge.url}
        file = example / "runs" / self.run_file.name
        file.write_text(yaml.safe_dump(run), encoding="utf-8")
        os.environ.setdefault("GITHUB_TOKEN", "none")
        return RunRequest("features", {"run_file": str(file), "human": "none"})

    def wrong(self, place: Path, run: Path) -> Iterator[str]:
        made, git = _value(run, "pull_request"), Git(place / "example" / "repository")
        if len(self.forge.opened) != 1:
            yield f"{len(self.forge.opened)} pull requests were opened"
        commits = git("rev-list", "--count", f"{made['base']}..{made['branch']}")
        if commits != "1":
            yield f"the branch has {commits} commits"
        if git("rev-parse", made["branch"]) != Git(place / "remote.git")("rev-parse", made["branch"]):
            yield "the remote has another branch"
        branches = git("for-each-ref", "--format=%(refname)", "refs/heads").split()
        if len(branches) != 2:
            yield f"there are the branches {branches}"
        if len(git("worktree", "list").splitlines()) != 1:
            yield "a worktree is left"
        for lock in (git.folder / ".git").rglob("*.lock"):
            yield f"{lock.name} is left in the repository"
        git("fsck", "--strict")


class CountingForge:
    """The part of GitHub's interface that a pull request needs; it counts."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.opened: list[dict[str, Any]] = []


@contextmanager
def forge() -> Iterator[CountingForge]:
    """A forge on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self.answer(200, state.opened)

        def do_POST(self) -> None:
            asked, number = self.asked(), len(state.opened) + 1
            url = f"{state.url}/repos/shop/offers/pulls/{number}"
            head, base = {"ref": asked["head"]}, {"ref": asked["base"]}
            state.opened.append({**asked, "number": number, "url": url, "html_url": url, "head": head, "base": base})
            self.answer(201, state.opened[-1])

        def do_PATCH(self) -> None:
            state.opened[-1] |= {name: text for name, text in self.asked().items() if name in ("title", "body")}
            self.answer(200, state.opened[-1])

        def asked(self) -> dict[str, Any]:
            return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = CountingForge(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


def _value(run: Path, name: str) -> Any:
    return ArtefactStore(run).get(run_state(run).digests[name])
