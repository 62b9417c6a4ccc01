"""Collections of data sets: OpenML, UCI, and the sets that scikit-learn and PyTorch Geometric have by name."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from palmette.documents import read_plain
from palmette.errors import UserError, did_you_mean
from palmette.knowledge.source import Record, RecordKind, Source, dicts, file_name, number, paged
from palmette.knowledge.sources.papers import STOP
from palmette.knowledge.web import download, unusable

MOST_BYTES = 2 * 2**30
MOST_CELLS = 50_000_000  # of the features of a graph


def words_of(text: str) -> set[str]:
    """Words that can be compared, without endings of plurals.

    >>> sorted(words_of("House-prices in the USA"))
    ['house', 'price', 'usa']
    """
    found = re.findall(r"[a-z0-9]+", text.lower())
    return {word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found if word not in STOP}


class _TableSource(Source):
    """Sets of a list that names a file of each."""

    kinds = ("dataset",)
    ending: ClassVar[str]

    def fetch(self, record: Record, folder: Path) -> None:
        if not record.files:
            message = f"{record.place!r} has no file {self.ending}."
            raise UserError(message, "Choose another set, or download it yourself.", code="unsafe-format")
        download(self.name, record.files[0], folder / file_name(record, self.ending), MOST_BYTES)


class OpenML(_TableSource):
    """https://www.openml.org/apis: lists by offset, 412 at their end. Names are matched here."""

    name = "openml"
    ending = ".parquet"
    address = "https://www.openml.org/api/v1/json"
    page = 1000

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        wanted = words_of(text)
        hits = {str(one.get("did")): len(wanted & words_of(str(one.get("name")))) for one in self._listed()}
        for id in sorted((id for id in hits if hits[id]), key=lambda id: -hits[id]):
            yield self.detail(id, kind)

    def _listed(self) -> Iterator[dict[str, Any]]:
        def ask(page: int) -> list[dict[str, Any]]:
            listed = f"data/list/status/active/limit/{self.page}/offset/{page * self.page}"
            return dicts(self.json(listed), "data", "dataset")

        try:
            yield from paged(ask, self.page)
        except UserError as error:
            if error.code != "no-such-record":
                raise

    def detail(self, id: str, kind: RecordKind) -> Record:
        """By number, or by name: then the first active version."""
        if not id.isdecimal():
            found = dicts(self.json(f"data/list/data_name/{quote(id)}/status/active/limit/1"), "data", "dataset")
            id = str(found[0].get("did")) if found else id
        one = self.json(f"data/{id}").get("data_set_description") or {}
        qualities = {
            each.get("name"): each.get("value")
            for each in dicts(self.json(f"data/qualities/{id}"), "data_qualities", "quality")
        }
        return self.record(
            *("dataset", id, one.get("name")),
            text=one.get("description"),
            url=f"https://www.openml.org/d/{id}",
            licence=one.get("licence"),
            target=one.get("default_target_attribute"),
            rows=number(qualities.get("NumberOfInstances")),
            features=number(qualities.get("NumberOfFeatures")),
            year=number(str(one.get("upload_date", ""))[:4]),
            files=tuple(str(one[key]) for key in ("parquet_url",) if one.get(key)),
        )


class UCI(_TableSource):
    """https://archive.ics.uci.edu: a list by words, and a description with the address of a CSV file."""

    name = "uci"
    ending = ".csv"
    address = "https://archive.ics.uci.edu/api"

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        for one in dicts(self.json("datasets/list", {"search": text, "filter": "python"}), "data"):
            yield self.detail(str(one.get("id")), kind)

    def detail(self, id: str, kind: RecordKind) -> Record:
        """By number or name."""
        one = self.json("dataset", {"id" if id.isdecimal() else "name": id}).get("data")
        if not isinstance(one, dict):
            raise unusable(self.name, f"the description of {id!r} has another shape")
        targets = one.get("target_col") or ()
        return self.record(
            *("dataset", one.get("uci_id"), one.get("name")),
            text=one.get("abstract"),
            url=str(one.get("repository_url") or ""),
            authors=one.get("creators"),
            year=number(one.get("year_of_dataset_creation")),
            licence="CC BY 4.0 unless its page states otherwise",
            tasks=one.get("tasks"),
            columns=[each.get("name") for each in dicts(one, "variables")],
            target=str(targets[0]) if targets else "",
            rows=number(one.get("num_instances")),
            features=number(one.get("num_features")),
            files=(str(one["data_url"]),) if one.get("data_url") else (),
        )


def bundled() -> Mapping[str, Mapping[str, dict[str, Any]]]:
    """The fields of records, by library and name; `url` is that of the file, where the library downloads one."""
    known: Mapping[str, Mapping[str, dict[str, Any]]] = read_plain(Path(__file__).with_name("bundled.yaml"))
    return known


class _Bundled(Source):
    """Sets of a library: the list is here, so that it can be searched without the library or a network."""

    kinds: ClassVar[tuple[RecordKind, ...]] = ("dataset",)
    online = False

    def search(self, text: str, kind: RecordKind) -> Iterator[Record]:
        wanted, listed = words_of(text), bundled()[self.name]
        hits = {name: len(wanted & words_of(f"{name} {one['title']} {one['text']}")) for name, one in listed.items()}
        for name in sorted((name for name in hits if hits[name]), key=lambda name: -hits[name]):
            yield self.detail(name, kind)

    def detail(self, id: str, kind: RecordKind) -> Record:
        known = bundled()[self.name]
        if id not in known:
            message = f"{self.name} has no set {id!r}.{did_you_mean(id, known)}"
            raise UserError(message, f"It has {', '.join(known)}.", code="no-such-set")
        return self.record("dataset", id, files=tuple(filter(None, [known[id].get("url")])), **known[id])


class ScikitLearn(_Bundled):
    """https://scikit-learn.org/stable/datasets.html: read by scikit-learn itself."""

    name = "sklearn"

    def fetch(self, record: Record, folder: Path) -> None:
        from sklearn import datasets

        reader = getattr(datasets, f"load_{record.id}", None) or getattr(datasets, f"fetch_{record.id}")
        try:
            found = reader(as_frame=True)
        except OSError as error:  # it downloads the larger sets
            raise unusable(self.name, f"{record.id!r} could not be fetched: {error}") from error
        labels = list(getattr(found, "target_names", ()))
        if len(labels) == found.frame[record.target].nunique():
            named = [str(labels[code]) for code in found.frame[record.target]]
            found.frame = found.frame.assign(**{record.target: named})
        found.frame.to_parquet(folder / file_name(record, ".parquet"), index=False)


class PyTorchGeometric(_Bundled):
    """Sets for node classification whose files hold arrays; sets of pickles (Planetoid) are not read."""

    name = "pyg"

    def fetch(self, record: Record, folder: Path) -> None:
        """Writes `nodes.csv` (`id`, `label` and features) and `edges.csv` (`source` and `target`)."""
        path = folder / ".arrays.npz"
        try:
            download(self.name, record.files[0], path, MOST_BYTES)
            _write_graph(self.name, path, folder)
        finally:
            path.unlink(missing_ok=True)


def _write_graph(source: str, path: Path, folder: Path) -> None:
    """Tables of an archive of arrays in one of the two layouts that these sets have."""
    import numpy as np
    import pandas as pd

    try:
        with np.load(path, allow_pickle=False) as arrays:
            if "edges" in arrays:
                features, labels, ends = arrays["node_features"], arrays["node_labels"], arrays["edges"]
            else:
                shape = arrays["attr_shape"] if "attr_shape" in arrays else (len(arrays["labels"]), 0)
                if int(np.prod(shape)) > MOST_CELLS:
                    raise unusable(source, f"its features have more than {MOST_CELLS} cells", "Choose a smaller set.")
                features, labels = np.zeros(tuple(shape), "float32"), arrays["labels"]
                rows = np.repeat(np.arange(shape[0]), np.diff(arrays["attr_indptr"]))
                features[rows, arrays["attr_indices"]] = arrays["attr_data"]
                starts = np.repeat(np.arange(len(labels)), np.diff(arrays["adj_indptr"]))
                ends = np.stack([starts, arrays["adj_indices"]], axis=1)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise unusable(source, f"its file has other arrays than expected: {error}") from error
    nodes = pd.DataFrame(features, columns=[f"x{place}" for place in range(features.shape[1])])
    nodes.insert(0, "label", [f"class {label}" for label in labels])
    nodes.insert(0, "id", range(len(nodes)))
    nodes.to_csv(folder / "nodes.csv", index=False)
    pd.DataFrame(ends, columns=["source", "target"]).to_csv(folder / "edges.csv", index=False)
