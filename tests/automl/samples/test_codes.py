"""Whole numbers that are codes of classes, by what the data show of them."""

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")

import numpy as np  # noqa: E402 - needs pandas

from palmette.automl.samples import Repairs, SampleColumn  # noqa: E402 - as above
from palmette.automl.samples.values import described, typed, with_codes  # noqa: E402 - as above

RANDOM = np.random.default_rng(0)
CODES = np.repeat(range(53), 8)
COUNTS = np.array([n for n in RANDOM.poisson(7, 600) if 1 <= n <= 14])


def codes(files: bool = False, **columns: object) -> str:
    table = pd.DataFrame(columns)
    found = [described(name, name, typed(table[name], name, ".", Repairs()), len(table)) for name in columns]
    beside = [SampleColumn.model_validate({**dict(found[0]), "name": "path", "kind": "image", "codes": ""})] * files
    return with_codes([*found, *beside], table)[0].codes


@pytest.mark.parametrize(("evidence", "columns"), [
    ("each belongs to one value of 'name'", {"code": CODES, "name": [f"card {'abc'[n % 3]}{n}" for n in CODES]}),
    ("neighbours are not alike", {"class": CODES}),
    ("neighbours are not alike", {"code": CODES, "files": True}),
    ("neighbours are not alike", {"code": np.repeat(range(1, 21), RANDOM.permutation(20) + 5), "files": True}),
    ("", {"code": CODES}),
    ("", {"code": CODES, "name": [f"card {n % 50}" for n in CODES]}),
    ("", {"code": CODES * 2, "files": True}),
    ("", {"code": CODES / 2, "files": True}),
    ("", {"code": CODES + 3, "files": True}),
    ("", {"code": range(53), "files": True}),
    ("", {"class": np.repeat(range(400), 8), "files": True}),
    ("", {"class": COUNTS, "files": True}),
])  # fmt: skip
def test_codes_are_dense_and_named_or_of_files(evidence: str, columns: dict[str, object]) -> None:
    found = codes(**columns)  # type: ignore[arg-type]  # columns beside a flag
    assert evidence in found and bool(evidence) == bool(found)
