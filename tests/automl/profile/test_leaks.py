"""Leak detectors: each planted leak is found by name; honest columns are never dropped."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - comes with pandas

from palmette.automl.kinds import kind_of  # noqa: E402 - as above
from palmette.automl.profile.association import LeakContext  # noqa: E402 - as above
from palmette.automl.profile.leaks import DETECTORS, find_leaks  # noqa: E402 - as above
from palmette.automl.samples.load import load  # noqa: E402 - as above
from palmette.automl.splitting.data_splits import SplitRequest  # noqa: E402 - as above
from palmette.automl.splitting.split import RowSplit, split  # noqa: E402 - as above

Frame = pd.DataFrame


CODES = {one.__name__.replace("_", "-") for one in DETECTORS}


def classes(seed: int = 0, count: int = 1200) -> Frame:
    """Five honest columns that predict two classes fairly well."""
    random = np.random.default_rng(seed)
    frame = Frame({f"a{n}": random.normal(size=count) for n in range(4)})
    frame["colour"] = random.choice(["red", "blue", "green"], count)
    score = frame["a0"] + 0.7 * frame["a1"] + (frame["colour"] == "red") + random.normal(size=count)
    return frame.assign(churn=np.where(score > 0.8, "yes", "no"))


def amounts(seed: int = 0, count: int = 1200) -> Frame:
    """Five honest columns that predict a skewed amount."""
    frame = classes(seed, count)
    random = np.random.default_rng(seed + 100)
    price = np.exp(0.5 * frame["a0"] + 0.3 * frame["a1"] + 0.3 * random.normal(size=count) + 4)
    return frame.drop(columns="churn").assign(price=price.round(2))


class Planted(NamedTuple):
    """A set with a leak, and the code and columns by which it is to be found."""

    make: Callable[[np.random.Generator], Frame]
    target: str
    task: str
    code: str
    columns: tuple[str, ...]
    actions: tuple[str, ...] = ("drop", "ask")


def _yes(frame: Frame) -> np.ndarray:
    return (frame["churn"] == "yes").to_numpy()


def _with(**columns: Callable[[Frame, np.random.Generator], object]) -> Callable[[np.random.Generator], Frame]:
    """The classes with further columns."""

    def make(random: np.random.Generator) -> Frame:
        frame = classes()
        return frame.assign(**{name: column(frame, random) for name, column in columns.items()})

    return make


def _priced(**columns: Callable[[Frame, np.random.Generator], object]) -> Callable[[np.random.Generator], Frame]:
    def make(random: np.random.Generator) -> Frame:
        frame = amounts()
        return frame.assign(**{name: column(frame, random) for name, column in columns.items()})

    return make


def _visits(random: np.random.Generator) -> Frame:
    frame = classes()
    patients = np.arange(len(frame)) % 150
    sick = random.random(150)[patients] > 0.5
    return frame.assign(patient_id=[f"p{n}" for n in patients], churn=np.where(sick, "yes", "no"))


CLASS, AMOUNT = ("churn", "classification"), ("price", "regression")
PLANTED: dict[str, Planted] = {
    "a copy": Planted(_with(flag=lambda f, r: f["churn"]), *CLASS, "target-copy", ("flag",), ("drop",)),
    "a copy under other names": Planted(
        _with(code=lambda f, r: np.where(_yes(f), 7, 3)), *CLASS, "target-copy", ("code",), ("drop",)
    ),
    "a copy with a few mistakes": Planted(
        _with(flag=lambda f, r: np.where(r.random(len(f)) < 0.003, "no", f["churn"])), *CLASS, "target-copy", ("flag",)
    ),
    "a copy as numbers with noise": Planted(
        _with(score=lambda f, r: _yes(f) + 0.1 * r.normal(size=len(f))), *CLASS, "target-proxy", ("score",), ("report",)
    ),
    "a category that refines the class": Planted(
        _with(segment=lambda f, r: [f"{y[0]}{n}" for y, n in zip(f["churn"], r.integers(0, 6, len(f)), strict=True)]),
        *CLASS, "target-proxy", ("segment",), ("report",),
    ),
    "the target rescaled": Planted(
        _priced(cents=lambda f, r: f["price"] * 100 + 3), *AMOUNT, "target-copy", ("cents",), ("drop",)
    ),
    "the log of the target": Planted(
        _priced(magnitude=lambda f, r: np.log(f["price"])), *AMOUNT, "target-copy", ("magnitude",), ("drop",)
    ),
    "the target reversed": Planted(
        _priced(place=lambda f, r: f["price"].rank(ascending=False)), *AMOUNT, "target-copy", ("place",), ("drop",)
    ),
    "the target rounded": Planted(
        _priced(about=lambda f, r: f["price"].round(-1)), *AMOUNT, "target-proxy", ("about",), ("report",)
    ),
    "parts of a sum": Planted(
        _priced(net=lambda f, r: (f["price"] * r.uniform(0.1, 0.9, len(f))), tax=lambda f, r: 0.0), *AMOUNT,
        "target-parts", ("net", "tax"),
    ),
    "factors of a product": Planted(
        _priced(pieces=lambda f, r: r.integers(1, 9, len(f)), each=lambda f, r: 0.0), *AMOUNT,
        "target-parts", ("pieces", "each"),
    ),
    "a ratio of the target": Planted(
        _priced(price_per_unit=lambda f, r: f["price"] / r.uniform(1, 1.5, len(f))), *AMOUNT,
        "derived-from-target", ("price_per_unit",),
    ),
    "a date that only one class has": Planted(
        _with(left_on=lambda f, r: pd.Series(pd.Timestamp("2024-01-01"), f.index).where(_yes(f))
              + pd.to_timedelta(r.integers(0, 300, len(f)), unit="D")),
        *CLASS, "missing-tells", ("left_on",),
    ),
    "a reason that mostly one class has": Planted(
        _with(note=lambda f, r: pd.Series(r.choice(["price", "service", "moved"], len(f)), f.index)
              .where(_yes(f) & (r.random(len(f)) < 0.97))),
        *CLASS, "missing-tells", ("note",),
    ),
    "what is known afterwards": Planted(
        _with(refund_amount=lambda f, r: np.where(_yes(f), r.gamma(2, 20, len(f)), 0) * (r.random(len(f)) < 0.8)),
        *CLASS, "known-afterwards", ("refund_amount",),
    ),
    "the reason of the target": Planted(
        _with(churn_reason=lambda f, r: np.where(_yes(f) & (r.random(len(f)) < 0.85), r.choice([*"ab"], len(f)), "n")),
        *CLASS, "known-afterwards", ("churn_reason",),
    ),
    "the class in a key": Planted(
        _with(ticket=lambda f, r: [f"{'CX' if y else 'OK'}-{n:05}" for n, y in enumerate(_yes(f))]),
        *CLASS, "target-in-text", ("ticket",),
    ),
    "the class at the end of a key": Planted(
        _with(reference=lambda f, r: [f"{n:06}{int(y)}" for n, y in enumerate(_yes(f))]),
        *CLASS, "target-in-text", ("reference",),
    ),
    "keys given in the order of the class": Planted(
        lambda r: classes().sort_values("churn", ignore_index=True).reset_index(names="id").sample(
            frac=1, random_state=0, ignore_index=True),
        *CLASS, "identifier-tells", ("id",),
    ),
    "a column far ahead": Planted(
        _with(mark=lambda f, r: np.where(r.random(len(f)) < 0.025, "b", np.where(_yes(f), "b", "a"))), *CLASS,
        "suspicious-jump", ("mark",), ("report",),
    ),
    "a threshold between two quantiles": Planted(
        lambda r: classes(count=300).assign(rain=lambda f: np.where(_yes(f), 1 + r.exponential(5, 300), r.random(300))),
        *CLASS, "target-proxy", ("rain",), ("report",),
    ),
    "entities on both sides": Planted(_visits, *CLASS, "shared-entities", ("patient_id",), ("group",)),
    "equal rows on both sides": Planted(
        lambda r: pd.concat([classes(count=600)] * 2, ignore_index=True), *CLASS, "equal-rows", (), ("group",)
    ),
}  # fmt: skip


def make(name: str) -> Frame:
    """The set of this name."""
    frame = PLANTED[name].make(np.random.default_rng(7))
    if "tax" in frame:
        frame["tax"] = frame["price"] - frame["net"]
    return frame.assign(each=frame["price"] / frame["pieces"]) if "pieces" in frame else frame


SHARED = Path(__file__).resolve().parents[4] / "shared" / "datasets"
"""Real sets beside the checkout, where there are any."""


def kinds(table: pd.DataFrame) -> dict[str, Any]:
    return {str(name): kind_of(table[name], str(name)) for name in table.columns}


def carelessly(table: pd.DataFrame) -> RowSplit:
    """A split as people make it: every fifth row, whatever it repeats."""
    made = split(table.assign(nr=range(len(table))), SplitRequest(target="nr", problem="regression"), {})
    order = np.random.default_rng(0).permutation(len(table))
    parts = np.sort(order[: len(table) // 5]), np.sort(order[len(table) // 5 :])
    return RowSplit(*parts, made.facts.model_copy(update={"strategy": "random"}))


def leaks(table: pd.DataFrame, target: str, problem: str, made: RowSplit | None = None) -> list[Any]:
    known, request = kinds(table), SplitRequest(target=target, problem=problem)
    return list(find_leaks(LeakContext(table, request, made or split(table, request, known), known)))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_leak_is_found(name: str) -> None:
    case, table = PLANTED[name], make(name)
    made = carelessly(table) if "group" in case.actions else None
    found = leaks(table, case.target, case.task, made)
    (leak,) = (one for one in found if one.code == case.code)
    assert set(leak.columns) == set(case.columns) and leak.action in case.actions and leak.text and leak.severity
    honest = {"a0", "a1", "a2", "a3", "colour"}
    assert not [one for one in found if one.action in ("drop", "ask") and honest & set(one.columns)]


def test_files_that_are_nearly_alike_are_found_across_the_split(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    random, rows = np.random.default_rng(0), []
    for place in range(12):
        pixels = random.normal(200, 8, (90, 90, 3))  # a thing before a plain wall
        top, left, height, width = random.integers(5, 40, 4)
        pixels[top : top + height, left : left + width] -= random.integers(60, 150, 3)
        small = image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        for quality in (95, 30) if place < 2 else (95,):
            path = tmp_path / f"{place}-{quality}.jpg"
            small.save(path, quality=quality)
            rows.append({"photo": str(path), "label": "ab"[place % 2], "held": quality == 30 or place > 9})
    table = Frame(rows)
    train, held = (np.flatnonzero(table["held"] == one) for one in (False, True))
    request = SplitRequest(target="label", problem="classification")
    known = {"photo": "image", "label": "category"}
    made = split(table[["photo", "label"]], request, known)
    made = replace(made, train=train, holdout=held)
    found = find_leaks(LeakContext(table[["photo", "label"]], request, made, known))
    (leak,) = (one for one in found if one.code == "nearly-equal-files")
    assert leak.text.startswith("50.0% of the files of the hold-out (2)") and leak.action == "report"


def test_every_detector_has_a_planted_leak_or_a_test_of_its_own() -> None:
    assert CODES - {case.code for case in PLANTED.values()} == {
        "time-overlap",
        "known-after",
        "nearly-equal-files",
    }


def test_the_reference_lists_every_detector() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "data.md").read_text("utf-8")
    assert not [code for code in CODES if f"| {code} |" not in text]


@pytest.mark.parametrize("name", ["entities on both sides", "equal rows on both sides"])
def test_the_split_of_the_harness_has_no_such_leak(name: str) -> None:
    case = PLANTED[name]
    assert case.code not in {leak.code for leak in leaks(make(name), case.target, case.task)}


@pytest.mark.parametrize("seed", range(5))
def test_honest_data_have_no_leak(seed: int) -> None:
    assert not leaks(classes(seed), "churn", "classification") and not leaks(amounts(seed), "price", "regression")


def test_the_only_feature_is_never_dropped_unasked() -> None:
    table = amounts()[["price"]].assign(square=lambda f: f["price"] ** 2)
    (leak,) = leaks(table, "price", "regression")
    assert (leak.code, leak.action, leak.default) == ("target-copy", "ask", "keep")


def test_training_rows_later_than_a_hold_out_by_time_are_found() -> None:
    days = pd.date_range("2024-01-01", periods=1200, freq="h")
    table = classes().assign(day=days, signup=days)
    made = carelessly(table)
    by_time = RowSplit(made.holdout, made.train, made.facts.model_copy(update={"strategy": "time", "time": "day"}))
    (leak,) = (one for one in leaks(table, "churn", "classification", by_time) if one.code == "time-overlap")
    assert leak.severity == "high" and leak.columns == ("day",)


def test_a_column_declared_known_after_the_outcome_is_dropped_by_request_and_reported_once() -> None:
    table = classes().assign(flag=lambda f: f["churn"], copy=lambda f: f["churn"])
    request, known = SplitRequest(target="churn", problem="classification", hidden=("flag", "copy")), kinds(table)
    (leak,) = find_leaks(LeakContext(table, request, split(table, request, known), known, known_after=("flag",)))
    assert (leak.code, leak.columns, leak.action) == ("known-after", ("flag",), "drop") and "100.0%" in leak.evidence


def shared_sets() -> list[str]:
    if not SHARED.is_dir():
        return []
    return [p.parent.name for p in sorted(SHARED.glob("*/meta.yaml")) if "tabular" in p.read_text("utf-8")[:900]]


HONESTLY_DOUBTED = {"bike_sharing_hour": {"casual", "registered"}}
"""Columns of which the set's own notes say that they give the target away."""


def sample_of(name: str, folder: Path, most: int = 4000) -> Path:
    """Lines of the set's table, spread over it, beside the folders of files that it names."""
    for beside in filter(Path.is_dir, (SHARED / name).iterdir()):
        (folder / beside.name).symlink_to(beside)
    wanted = {name, "listings", "houses"}
    (file,) = (path for path in (SHARED / name).iterdir() if path.name.split(".")[0] in wanted)
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as opened:
        header, *rest = opened.read().splitlines(keepends=True)
    chosen = rest if name.startswith("airbnb") else rest[:: 1 + len(rest) // most]
    path = folder / f"{name}.csv"
    path.write_bytes(b"".join([header, *chosen]))
    return path


@pytest.mark.parametrize("name", shared_sets() or [pytest.param("", marks=pytest.mark.skip("no shared sets here"))])
def test_no_honest_column_of_a_real_set_is_dropped(name: str, tmp_path: Path) -> None:
    meta = yaml.safe_load((SHARED / name / "meta.yaml").read_text("utf-8"))
    loaded = load([sample_of(name, tmp_path)])
    target = str(meta["target"]).rpartition(".")[2]
    if target not in loaded.table:
        pytest.skip("it has no target")
    task = "regression" if "regression" in meta["task"] else "classification"
    found = leaks(loaded.table, target, task)
    doubted = {column for leak in found if leak.action in ("drop", "ask") for column in leak.columns}
    identifiers = {column.name for column in loaded.samples.columns if column.kind == "identifier"}
    assert doubted - identifiers == HONESTLY_DOUBTED.get(name, set()), found
