"""Formats, several files, named sets, and the artefact about them."""

import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from palmette.automl.encoders.columns import without_totals  # noqa: E402 - needs pandas
from palmette.automl.project.reading import reader_source  # noqa: E402 - as above
from palmette.automl.samples import TableError  # noqa: E402 - as above
from palmette.automl.samples.load import (  # noqa: E402 - as above
    as_asked,
    in_classes,
    load,
    reload,
)
from palmette.automl.task_spec.spec import Threshold  # noqa: E402 - as above
from palmette.errors import PalmetteError, UserError  # noqa: E402 - as above
from palmette.knowledge import web  # noqa: E402 - as above


def table(rows: int = 40) -> pd.DataFrame:
    """A frame with a column of each kind."""
    return pd.DataFrame(
        {
            "row_id": [f"r{n:03}" for n in range(rows)],
            "size": [n * 0.5 for n in range(rows)],
            "count": [n % 5 for n in range(rows)],
            "colour": [["red", "blue", None][n % 3] for n in range(rows)],
            "paid": [bool(n % 2) for n in range(rows)],
            "day": pd.date_range("2024-01-01", periods=rows),
            "words": [f"the {n}. row has words of its own" for n in range(rows)],
            "tags": [[n, n + 1] for n in range(rows)],
            "same": ["x"] * rows,
            "label": [["no", "yes"][n % 2] for n in range(rows)],
        }
    )


KINDS = "identifier number number category boolean datetime text text constant boolean"


def to_sqlite(frame: pd.DataFrame, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    texts = {name: frame[name].map(str) for name in ("tags", "paid")}  # there are no lists and no booleans in it
    frame.assign(**texts).to_sql("things", connection, index=False)
    connection.close()


def to_duckdb(frame: pd.DataFrame, path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(path)) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE things AS SELECT * FROM given")


def to_excel(frame: pd.DataFrame, path: Path) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    with pd.ExcelWriter(path) as book:
        texts = frame.assign(tags=frame["tags"].map(str))
        texts.to_excel(book, sheet_name="things", index=False, startrow=2, startcol=1)
        pd.DataFrame().to_excel(book, sheet_name="empty")


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "a.csv": lambda frame, path: frame.to_csv(path, index=False),
    "a.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "a.feather": lambda frame, path: frame.to_feather(path),
    "a.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, date_format="iso"),
    "a.json": lambda frame, path: frame.to_json(path, date_format="iso"),
    "a.xlsx": to_excel,
    "a.db": to_sqlite,
    "a.duckdb": to_duckdb,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name: str, tmp_path: Path) -> None:
    frame = table()
    WRITERS[name](frame, tmp_path / name)
    loaded = load([tmp_path / name])
    assert [column.kind for column in loaded.samples.columns] == KINDS.split()
    for column in ("row_id", "size", "count", "colour", "day", "words", "label"):
        expected, found = frame[column], loaded.table[column]
        if column == "day":
            found = found.astype("datetime64[ns]")
        pd.testing.assert_series_equal(found.fillna("-"), expected.fillna("-"), check_dtype=False)
    assert [str(value) for value in loaded.table["paid"]] == [str(value) for value in frame["paid"]]


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<"])
def test_a_threshold_makes_classes_of_numbers_and_the_files_give_them_again(sign: Any, tmp_path: Path) -> None:
    frame = table().assign(size=[None, 3.0, 3.5, 4.0] * 10)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    made = Threshold(column="size", comparison=sign, value=3.5)
    loaded = in_classes(load([tmp_path / "rows.csv"]), made)
    yes, no = made.classes
    sides = {">=": [no, yes, yes], ">": [no, no, yes], "<=": [yes, yes, no], "<": [yes, no, no]}[sign]
    assert loaded.table["size"].iloc[:4].tolist() == [None, *sides]
    column = loaded.samples.column("size")
    assert column and (column.kind, column.distinct, column.reading.form) == ("category", 2, "number")
    again = reload(loaded.samples)
    assert again.samples == loaded.samples
    pd.testing.assert_frame_equal(again.table, loaded.table)
    with pytest.raises(UserError, match="its kind is category"):
        in_classes(load([tmp_path / "rows.csv"]), made.model_copy(update={"column": "colour"}))


def test_the_artefact_describes_each_file_and_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("größe;n\n1,5 €;1\n2,5 €;2\n?;3\n".encode("cp1252"))
    dataset = load([tmp_path / "a.csv"]).samples
    (file,) = dataset.files
    assert file.dialect is not None and (file.dialect.delimiter, file.dialect.encoding) == (";", "cp1252")
    assert len(file.sha256) == 64 and file.rows == dataset.rows == 3
    size = dataset.column("größe")
    assert size is not None and (size.reading.decimal, size.reading.affix) == (",", "€")
    assert size.missing == pytest.approx(1 / 3, abs=1e-6) and "?" in size.reading.missing
    assert type(dataset).model_validate_json(dataset.model_dump_json()) == dataset


def competition(folder: Path, names: tuple[str, str, str]) -> None:
    frame = table().drop(columns=["tags"])
    frame.iloc[:30].to_csv(folder / names[0], index=False)
    frame.iloc[30:].drop(columns=["label"]).to_csv(folder / names[1], index=False)
    frame.iloc[30:][["row_id"]].assign(label="no").to_csv(folder / names[2], index=False)


@pytest.mark.parametrize(
    "names",
    [("train.csv", "test.csv", "sample_submission.csv"), ("c.csv", "b.csv", "a.csv"), ("a.csv", "b.csv", "c.csv")],
)
def test_a_competition_folder_is_recognised_by_content(names: tuple[str, str, str], tmp_path: Path) -> None:
    competition(tmp_path, names)
    (tmp_path / "README.md").write_text("Predict `words`.", "utf-8")
    loaded = load([tmp_path])
    roles = {Path(file.path).name: file.role for file in loaded.samples.files}
    assert roles == dict(zip(names, ("train", "inference", "submission"), strict=True))
    assert loaded.samples.targets == ("label",) and loaded.samples.key == "row_id"
    assert len(loaded.table) == 30 and loaded.inference is not None and len(loaded.inference) == 10
    assert "label" not in loaded.inference and loaded.submission is not None


def test_a_test_file_with_the_target_is_the_hold_out_and_one_without_it_is_to_be_predicted(tmp_path: Path) -> None:
    frame = table().drop(columns=["tags"])
    frame.iloc[:30].to_csv(tmp_path / "one.csv", index=False)
    frame.iloc[30:].to_csv(tmp_path / "two.csv", index=False)
    frame.iloc[30:].drop(columns=["label"]).to_csv(tmp_path / "three.csv", index=False)
    both = load([tmp_path / "one.csv", tmp_path / "two.csv"])
    assert len(both.table) == 40 and both.samples.test_rows == 10
    other = load([tmp_path / "one.csv", tmp_path / "three.csv"])
    assert other.samples.inference_rows == 10 and other.samples.targets == ("label",)


def test_a_test_file_with_a_blank_target_is_to_be_predicted(tmp_path: Path) -> None:
    frame = table().drop(columns=["tags"])
    frame.iloc[:30].to_csv(tmp_path / "train.csv", index=False)
    frame.iloc[30:].assign(label="?").rename(columns={"size": " size "}).to_csv(tmp_path / "test.csv", index=False)
    loaded = load([tmp_path])
    assert loaded.samples.targets == ("label",) and loaded.samples.inference_rows == 10
    assert loaded.inference is not None and loaded.inference["size"].notna().all()


def test_a_table_beside_training_and_test_tables_is_left_aside_and_reported(tmp_path: Path) -> None:
    competition(tmp_path, ("train.csv", "test.csv", "sample_submission.csv"))
    (tmp_path / "dictionary.csv").write_text("column,meaning\nsize,how large\nlabel,what for\n", "utf-8")
    dataset = load([tmp_path]).samples
    assert dataset.targets == ("label",) and [one.subject for one in dataset.repairs if one.code == "left-aside"]


def test_rows_to_predict_are_all_kept_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,b,y\n" + "".join(f"{n},{n},{n % 2}\n" for n in range(20)), "utf-8")
    (tmp_path / "test.csv").write_text("a,b\n1,2\n,\n3,4\n1,2\n", "utf-8")
    loaded = load([tmp_path / "train.csv", tmp_path / "test.csv"])
    predict = loaded.inference
    assert str(loaded.table["y"].dtype) == "int64"
    assert predict is not None and [str(value) for value in predict["a"]] == ["1.0", "nan", "3.0", "1.0"]


def test_parts_of_one_table_are_put_together(tmp_path: Path) -> None:
    for part in range(3):
        rows = table(30).iloc[10 * part : 10 * part + 10]
        rows.drop(columns=["tags"]).to_csv(tmp_path / f"part-{part}.csv", index=False)
    assert len(load([tmp_path]).table) == 30


def test_the_table_that_is_meant_can_be_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("orders.csv", "id,total\n1,2\n2,3\n")
        packed.writestr("users.csv", "name,age\nx,3\ny,4\n")
    assert list(load([tmp_path / "a.zip"], "users.csv").table.columns) == ["name", "age"]
    with pytest.raises(TableError) as caught:
        load([tmp_path / "a.zip"], "user.csv")
    assert caught.value.options == ("orders.csv", "users.csv") and "users.csv" in caught.value.message


def archive(folder: Path, *names: str) -> Path:
    with zipfile.ZipFile(folder / "a.zip", "w") as packed:
        for place, name in enumerate(names):
            part = table(30).iloc[10 * place : 10 * place + 10].drop(columns=["tags"])
            packed.writestr(name, part.to_csv(index=False))
    return folder / "a.zip"


def test_tables_of_one_file_are_joined_only_on_request(tmp_path: Path) -> None:
    path = archive(tmp_path, "march.csv", "april.csv", "may.csv")
    with pytest.raises(TableError, match="not joined unasked") as caught:
        load([path])
    assert caught.value.options == ("april.csv", "march.csv", "may.csv", "*") and "'*' joins all" in caught.value.remedy
    assert len(load([path], "may.csv").table) == 10 and len(load([path], "*").table) == 30
    both = load([archive(tmp_path, "train.csv", "test.csv")])
    assert (len(both.table), both.samples.test_rows) == (20, 10)


def test_sheets_of_one_workbook_are_not_joined_either(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        for name in ("north", "south"):
            table().drop(columns=["tags"]).to_excel(book, sheet_name=name, index=False)
    with pytest.raises(TableError):
        load([tmp_path / "a.xlsx"])


def test_remarks_and_a_total_in_a_sheet_are_left_out_as_pandas_counts_them(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    rows = [["Report"], [], ["Made by", "someone"], ["town", "n", "price"], *(["a", n, n / 2] for n in range(20))]
    book.create_sheet("notes", 0)
    for row in [*rows, ["x", 20, None], [], ["Total", 210, 95]]:
        book["Sheet"].append(row)
    book.save(tmp_path / "a.xlsx")
    samples = load([tmp_path / "a.xlsx"]).samples
    assert samples.rows == 21 and {one.code for one in samples.repairs} == {"title-lines", "total-rows"}
    with pytest.warns(UserWarning, match="rows of totals were left out: 1"):
        read = eval(
            reader_source(samples.format), {"pd": pd, "path": tmp_path / "a.xlsx", "without_totals": without_totals}
        )
    assert samples.format.format == "excel" and list(read.columns) == [one.source for one in samples.columns]
    assert read["town"].tolist() == ["a"] * 20 + ["x"]


def test_a_column_that_names_the_parts_is_recognised(tmp_path: Path) -> None:
    rows = "".join(f"{n},{'Test' if n % 5 == 0 else 'train'},{'train' if n % 2 else 'bus'}\n" for n in range(40))
    (tmp_path / "a.csv").write_text(f"n,part,by\n{rows}", "utf-8")
    assert load([tmp_path / "a.csv"]).samples.split_column == "part"
    flags = "".join(f"{n},{n % 5 == 0:d}\n" for n in range(40))
    (tmp_path / "b.csv").write_text(f"n,is_test\n{flags}", "utf-8")
    assert load([tmp_path / "b.csv"]).samples.split_column == "is_test"


def test_data_that_changed_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table().to_csv(path, index=False)
    dataset = load([path]).samples
    assert reload(dataset).samples == dataset
    path.write_text(path.read_text("utf-8") + "more\n", "utf-8")
    with pytest.raises(UserError) as caught:
        reload(dataset)
    assert caught.value.code == "data-changed"


def test_sets_of_scikit_learn_need_no_network() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    loaded = load(["sklearn:iris"])
    assert loaded.samples.targets == ("target",) and set(loaded.table["target"]) > {"setosa", "virginica"}
    assert load(["sklearn:iris"]).samples == loaded.samples


@pytest.mark.parametrize(
    ("place", "code"),
    [("sklearn:irsi", "no-such-set"), ("openml:31", "source-unusable"), ("sklearn:covtype", "source-unusable")],
)
def test_a_set_that_cannot_be_fetched_has_a_remedy(
    place: str, code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def offline(*given: object, **settings: object) -> None:
        raise OSError("[Errno -2] Name or service not known")

    monkeypatch.setattr(web, "fetch", offline)
    monkeypatch.setattr(datasets, "fetch_covtype", offline)
    with pytest.raises(PalmetteError) as caught:
        load([place])
    assert caught.value.code == code and caught.value.remedy


def test_runs_in_the_folder_of_the_data_are_not_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALMETTE_RUNS", str(tmp_path / "palmette-runs"))
    (tmp_path / "rows.csv").write_text("a,y\n" + "1,2\n" * 20)
    loaded = load([tmp_path])
    run = tmp_path / "palmette-runs" / "20260101-120000-rows-0"
    run.mkdir(parents=True)
    (run / "journal.sqlite").write_bytes(b"SQLite format 3")
    (run / "answers.csv").write_text("prediction\n2\n")
    (run.parent / "memory.sqlite").write_bytes(b"SQLite format 3")
    assert reload(loaded.samples).samples == loaded.samples == load([tmp_path]).samples


@pytest.mark.parametrize(("unit", "is_time"), [(1, True), (1000, True), (1e-6, False)])
def test_unix_times_are_times_by_any_name_where_the_request_names_them(
    tmp_path: Path, unit: float, is_time: bool
) -> None:
    rows = pd.DataFrame({"taken": [int((1.7e9 + 3600 * hour) * unit) for hour in range(30)], "load": range(30)})
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows[["taken"]].assign(taken=lambda new: new["taken"] + 1).to_csv(tmp_path / "test.csv", index=False)
    loaded = load([tmp_path])
    assert loaded.samples.require("taken", "").kind != "datetime"
    asked = as_asked(loaded, None, "taken")
    assert (asked.samples.require("taken", "").kind == "datetime") is is_time
    assert any(one.code == "unix-times" for one in asked.samples.repairs) is is_time
    again = reload(asked.samples)
    for part, other in ((asked.table, again.table), (asked.inference, again.inference)):
        assert part is not None and other is not None and part["taken"].equals(other["taken"])
        assert (part["taken"].dtype.kind == "M") is is_time
