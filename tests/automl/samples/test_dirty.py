"""Dirty input: each kind is read with its repairs reported, or ends in one clear error; never in a trace."""

import gzip
import time
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

from dirty_cases import GOOD, ODD, READ, REFUSED, Read, written  # noqa: E402 - needs pandas
from hypothesis import HealthCheck, given, settings  # noqa: E402 - needs no pandas, but stands with it
from hypothesis import strategies as st  # noqa: E402 - as above

from palmette.automl.samples import Samples  # noqa: E402 - needs pandas
from palmette.automl.samples.load import load  # noqa: E402 - needs pandas
from palmette.errors import InputError, UserError  # noqa: E402 - as above


@pytest.mark.parametrize("kind", READ)
def test_dirty_input_is_read_and_its_repairs_are_reported(kind: str, tmp_path: Path) -> None:
    case = READ[kind]
    path = written(case.name, case.data)(tmp_path)
    loaded = load([path])
    codes = {repair.code for repair in loaded.samples.repairs}
    texts = "\n".join(repair.text for repair in loaded.samples.repairs)
    assert list(loaded.table.columns) == case.columns.split() and len(loaded.table) == case.rows, texts
    assert set(case.repairs.split()) <= codes, texts
    assert case.look(loaded), f"{loaded.table}\n{texts}"
    assert case.repairs or not [one for one in loaded.samples.repairs if one.changed and one.code != "number-as-text"]
    if without_python_names(case) and kind not in ODD:
        require_names_of_pandas(path, loaded.samples, "gzip" if kind.startswith("gzip") else "infer")


def without_python_names(case: Read) -> bool:
    """Whether pandas reads the file with the format that samples give, without further help."""
    odd = {"row-names", "broken-quotes", "long-rows", "comment-lines", "damaged-characters", "broken-lines"}
    return case.name.endswith((".csv", ".bz2", ".xz", ".csv.gz")) and not odd & set(case.repairs.split())


def require_names_of_pandas(path: Path, samples: Samples, compression: str) -> None:
    """The sources of columns are the names that pandas reads."""
    dialect = samples.format.dialect
    read = pd.read_csv(
        path,
        sep=dialect.delimiter or ",",
        encoding=dialect.encoding,
        quotechar=dialect.quote or '"',
        escapechar=dialect.escape or None,
        skiprows=dialect.skipped,
        header=0 if dialect.header else None,
        compression=compression,
    )
    found = [column.source for column in samples.columns]
    assert list(map(str, read.columns))[: len(found)] == found


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_is_no_table_is_refused_with_reason_and_remedy(kind: str, tmp_path: Path) -> None:
    make, code = REFUSED[kind]
    place = make(tmp_path)
    with pytest.raises(UserError) as caught:
        load([place])
    if isinstance(caught.value, InputError):
        (problem,) = caught.value.problems
        assert problem.code == code and problem.remedy and str(place) in problem.file
    else:
        assert caught.value.code == code and caught.value.remedy


def test_header_only_is_a_table_without_rows(tmp_path: Path) -> None:
    loaded = load([written("d.csv", "a,b,c\n")(tmp_path)])
    assert list(loaded.table.columns) == ["a", "b", "c"] and len(loaded.table) == 0


def test_a_million_different_values_are_read_quickly(tmp_path: Path) -> None:
    """Fewer here, to keep the tests quick; the work grows in proportion."""
    path = written("d.csv", "a,b\n" + "".join(f"u{n}x,{n}\n" for n in range(200_000)))(tmp_path)
    start = time.process_time()
    assert load([path]).samples.columns[0].distinct == 200_000
    assert time.process_time() - start < 6


SANE = GOOD.encode(), GOOD.replace(",", ";").encode("utf-16"), gzip.compress(GOOD.encode()), b'[{"a": 1}, {"a": [2]}]'
MARKS = (b'"', b"'", b",", b";", b"\n", b"\r", b"\0", b"\xff", b"\t", b"nan", b"1e999", b"[", b"}", b"\\", b"#")
JUNK = st.sampled_from(MARKS)


@given(st.sampled_from(SANE), st.lists(st.tuples(st.integers(0, 600), JUNK | st.integers(1, 80)), max_size=12))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_of_any_kind_ends_in_a_table_or_in_a_clear_error(
    tmp_path: Path, data: bytes, damage: list[tuple[int, bytes | int]]
) -> None:
    """Bytes are put in, or a run of them is taken out."""
    for place, what in damage:
        data = data[:place] + (what + data[place:] if isinstance(what, bytes) else data[place + what :])
    path = tmp_path / "d.csv"
    path.write_bytes(data)
    try:
        loaded = load([path])
    except UserError as error:
        assert error.message
    else:
        assert [column.name for column in loaded.samples.columns] == list(dict.fromkeys(loaded.table.columns))
