"""Hubs of models, data sets and notebooks: Hugging Face and Kaggle."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palmette.errors import UserError
from palmette.knowledge.source import DATASET_FILES, Record, RecordKind, Source, dicts, file_name, number, paged
from palmette.knowledge.web import Params, download

MOST_BYTES = 2 * 2**30  # of one file
WEIGHTS = (".safetensors", ".onnx")
CONFIGURATION = (".json", ".txt", ".model")
"""Files beside weights that are read as text; `.model` is a SentencePiece vocabulary."""


class HuggingFace(Source):
    """https://huggingface.co/docs/hub/api: lists whose header `Link` names the next page."""

    name = "huggingface"
    kinds = ("model", "dataset", "paper")
    address = "https://huggingface.co"

    @property
    def headers(self) -> dict[str, str]:
        token = os.environ.get("HF_TOKEN")
        return {"authorization": f"Bearer {token}"} if token else {}

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        """Words of the form `task:NAME` keep to models of that task."""
        if kind == "paper":
            papers = (one.get("paper", one) for one in dicts(self.json("api/papers/search", {"q": text})))
            yield from (self._paper(one) for one in papers if isinstance(one, dict) and one.get("title"))
            return
        tasks, words = list[str](), list[str]()
        for word in text.split():
            (tasks if word.startswith("task:") else words).append(word.removeprefix("task:"))
        params: Params = {"search": " ".join(words), "sort": "downloads", "direction": -1, "limit": 20, "full": "true"}
        page = self.get(f"api/{kind}s", {**params, "filter": tasks[0]} if tasks else params)
        while True:
            listed = dicts(page.json(self.name))
            yield from (self._repository(one, kind) for one in listed if one.get("id"))
            if not page.next or not listed:
                return
            page = self.get(page.next)

    def _paper(self, one: dict[str, Any]) -> Record:
        authors = [each.get("name") for each in dicts(one, "authors")]
        year = number(str(one.get("publishedAt", ""))[:4])
        id, text, url = one.get("id"), one.get("summary"), f"{self.address}/papers/{one.get('id')}"
        return self.record("paper", id, one["title"], text=text, url=url, authors=authors, year=year)

    def _repository(self, one: dict[str, Any], kind: RecordKind) -> Record:
        tags = [str(tag) for tag in one.get("tags") or ()]
        tagged = {name: value for name, _, value in (tag.partition(":") for tag in tags) if value}
        tasks = [tag.removeprefix("task_categories:") for tag in tags if tag.startswith("task_categories:")]
        tensors, config = one.get("safetensors"), one.get("config")
        path = f"{'datasets/' if kind == 'dataset' else ''}{one['id']}"
        return self.record(
            *(kind, one["id"], one["id"]),
            text=one.get("description"),
            url=f"{self.address}/{path}",
            licence=tagged.get("license"),
            tasks=[one["pipeline_tag"]] if one.get("pipeline_tag") else tasks,
            parameters=number(tensors.get("total")) if isinstance(tensors, dict) else None,
            architecture=config.get("model_type") if isinstance(config, dict) else "",
            downloads=number(one.get("downloads")),
            rows=_most_rows(tagged.get("size_categories", "")),
            files=tuple(str(each.get("rfilename")) for each in dicts(one, "siblings"))[:500],
        )

    def detail(self, id: str, kind: RecordKind) -> Record:
        """An entry with the sizes of its files and its parameters."""
        one = self.json(f"api/{kind}s/{quote(id)}", {"blobs": "true"})
        record = self._repository({"id": id, **one}, kind)
        endings = WEIGHTS if kind == "model" else DATASET_FILES
        wanted = [each for each in dicts(one, "siblings") if any(ending in str(each) for ending in endings)]
        size = sum(number(each.get("size")) or 0 for each in wanted)
        return record.model_copy(update={"megabytes": round(size / 2**20, 1)})

    def fetch(self, record: Record, folder: Path) -> None:
        """Weights as safetensors or ONNX with their configuration, or tables; never code or pickles."""
        if record.kind == "paper":
            super().fetch(record, folder)
            return
        wanted = [name for name in record.files if _readable(record.kind, name)]
        if not any(name.endswith(WEIGHTS if record.kind == "model" else DATASET_FILES) for name in wanted):
            forms = "safetensors or ONNX weights" if record.kind == "model" else f"{', '.join(DATASET_FILES)} files"
            message = f"{record.place!r} has no {forms}; nothing else is loaded."
            raise UserError(message, "Choose another entry.", code="unsafe-format")
        base = f"{self.url}/{'datasets/' if record.kind == 'dataset' else ''}{record.id}/resolve/main"
        for name in wanted:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            download(self.name, f"{base}/{quote(name)}", path, MOST_BYTES, self.headers)


def _readable(kind: RecordKind, name: str) -> bool:
    endings = (*WEIGHTS, *CONFIGURATION) if kind == "model" else DATASET_FILES
    leads_out = any(part.startswith((".", "/")) for part in Path(name).parts)
    return name.endswith(endings) and not leads_out and name.count("/") <= (0 if kind == "model" else 2)


def _most_rows(category: str) -> int | None:
    """The upper end of a category of sizes.

    >>> _most_rows("1K<n<10K"), _most_rows("")
    (10000, None)
    """
    end = category.rpartition("<")[2]
    factor = {"K": 10**3, "M": 10**6, "B": 10**9}.get(end[-1:], 1)
    count = number(end.rstrip("KMB"))
    return None if count is None else count * factor


class Kaggle(Source):
    """https://www.kaggle.com/docs/api: pages by number; `KAGGLE_API_TOKEN`, or `KAGGLE_USERNAME` and `KAGGLE_KEY`."""

    name = "kaggle"
    kinds = ("dataset", "notebook")
    address = "https://www.kaggle.com/api/v1"
    page = 20

    @property
    def headers(self) -> dict[str, str]:
        token, user, key = (os.environ.get(f"KAGGLE_{name}") for name in ("API_TOKEN", "USERNAME", "KEY"))
        basic = base64.b64encode(f"{user}:{key}".encode()).decode() if user and key else ""
        return {"authorization": f"Bearer {token}" if token else f"Basic {basic}"} if token or basic else {}

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        def ask(page: int) -> list[dict[str, Any]]:
            listed = "datasets/list" if kind == "dataset" else "kernels/list"
            return dicts(self.json(listed, {"search": text, "page": page + 1}))

        yield from (self._entry(one, kind) for one in paged(ask, self.page) if one.get("ref"))

    def _entry(self, one: dict[str, Any], kind: RecordKind) -> Record:
        size, place = number(one.get("totalBytes")), "datasets" if kind == "dataset" else "code"
        return self.record(
            *(kind, one["ref"], one.get("title")),
            text=one.get("subtitle") or one.get("description") or one.get("title"),
            url=str(one.get("url") or f"https://www.kaggle.com/{place}/{one['ref']}"),
            authors=[one["author"]] if one.get("author") else (),
            year=number(str(one.get("lastUpdated") or one.get("lastRunTime") or "")[:4]),
            licence=one.get("licenseName"),
            megabytes=None if size is None else round(size / 2**20, 2),
            downloads=number(one.get("downloadCount") or one.get("totalVotes")),
        )

    def detail(self, id: str, kind: RecordKind) -> Record:
        if kind == "notebook":
            return super().detail(id, kind)
        return self._entry({**self.json(f"datasets/view/{quote(id)}"), "ref": id}, kind)

    def fetch(self, record: Record, folder: Path) -> None:
        if record.kind == "notebook":
            user, _, slug = record.id.partition("/")
            blob = self.json("kernels/pull", {"userName": user, "kernelSlug": slug}).get("blob") or {}
            (folder / "notebook.ipynb").write_text(str(blob.get("source", "")), "utf-8")
            return
        address, path = f"{self.url}/datasets/download/{quote(record.id)}", folder / file_name(record, ".zip")
        download(self.name, address, path, MOST_BYTES, self.headers)
