"""Columns as they stand in the user's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from palmette.automl.data.load import load  # noqa: E402 - needs pandas
from palmette.automl.modalities.tabular.columns import in_file  # noqa: E402 - as above


@pytest.mark.parametrize(
    "header", ["size,rooms,sold", "size,size,size", ",size, rooms ", "size,size,size_2", "a.1,a,a", "'a',Unnamed: 2,"]
)
def test_repeated_and_missing_names_are_found_in_the_file_that_pandas_reads(tmp_path: Path, header: str) -> None:
    path = tmp_path / "houses.csv"
    path.write_text(header + "\n" + "".join(f"{n},{n % 5}.5,{n % 3}\n" for n in range(20)), "utf-8")
    dataset = load([path]).dataset
    columns = dataset.columns
    assert not dataset.key, "without a sample submission there is no column that says which row an answer is for"
    found = {name: own for own, name in in_file(columns).items()}
    rows = pd.read_csv(path, skipinitialspace=True).rename(columns=found)
    assert list(rows) == [column.name for column in columns]
    assert rows[columns[1].name].tolist() == [n % 5 + 0.5 for n in range(20)]
