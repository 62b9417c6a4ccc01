"""What is written is clean, small and only what the data needs; names and words of the data stay data."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from small_projects import COLUMNS, Project, blueprint_of, guests, write

from palmette.automl.data import Dialect, Reading, Threshold
from palmette.automl.measure import Predictions, metric_of, score
from palmette.automl.modalities.tabular import (
    ALGORITHMS,
    TRACKS,
    ColumnPlan,
    Dropped,
    Folds,
    Source,
    Track,
    preparation_files,
    shared_files,
    track_files,
    write_project,
)
from palmette.automl.modalities.tabular.rows import write_rows
from palmette.automl.modalities.tabular.scoring import CLASSIFICATION, REGRESSION
from palmette.sandbox import Limits, Sandbox, python_command

KINDS = {column.kind: column for column in COLUMNS}
MOST_LINES = 210
MADE = Threshold(column="target", comparison=">=", value=1.5)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "everything": ("binary", {"algorithms": ALGORITHMS, "metric": "roc_auc"}),
    "many classes": ("multiclass", {"algorithms": ALGORITHMS, "metric": "roc_auc"}),
    "values": ("regression", {"algorithms": ALGORITHMS, "transform": "none", "bounds": None, "metric": "mae"}),
    "numbers only": ("binary", {"columns": (KINDS["numeric"],), "algorithms": ALGORITHMS, "dropped": ()}),
    "text only": ("multiclass", {"columns": (KINDS["text"],), "algorithms": ALGORITHMS}),
    "categories only": ("regression", {"columns": (KINDS["categorical"],), "transform": "log", "metric": "rmse_log"}),
    "flags only": ("regression", {"columns": (KINDS["boolean"],), "algorithms": ("catboost",)}),
    "one algorithm": ("binary", {"algorithms": ("linear",), "metric": "log_loss"}),
    "groups": ("binary", {"folds": Folds(count=4, kind="grouped", by="City"), "source": Source(format="parquet")}),
    "made classes": ("binary", {"classes": MADE.classes, "positive": "at least 1.5", "source": Source(threshold=MADE)}),
    "time": ("regression", {"folds": Folds(kind="time", by="joined"), "source": Source(format="excel")}),
    "lines of JSON": ("regression", {"source": Source(format="json"), "rows": 1_000_000}),
    **{f"metric {name}": ("multiclass", {"metric": name}) for name in CLASSIFICATION},
    **{f"metric {name}": ("regression", {"metric": name, "columns": (KINDS["numeric"],)}) for name in REGRESSION},
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project of every variant."""
    folder = tmp_path_factory.mktemp("variants")
    for name, (task, changes) in VARIANTS.items():
        for file in write_project(blueprint_of(task, **changes), tuple(TRACKS)):
            path = folder / name.replace(" ", "_") / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
    return folder


def test_every_variant_is_clean(written: Path) -> None:
    """By the project's own settings, and by names that nothing defines or uses."""
    for arguments in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
        done = subprocess.run(command, cwd=written, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_variant_is_small_typed_and_knows_nothing_of_palmette(written: Path) -> None:
    for path in written.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "palmette" not in text and "\n\n\n\n" not in text, path
        assert text.count("\n") <= MOST_LINES, path
        tree = ast.parse(text)
        assert ast.get_docstring(tree), path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert node.returns is not None, f"{path}: {node.name}"
                assert all(one.annotation for one in node.args.args if one.arg != "self"), f"{path}: {node.name}"
                assert (node.end_lineno or 0) - node.lineno < 40, f"{path}: {node.name}"


def test_only_what_is_needed_is_written(written: Path) -> None:
    def text(variant: str, file: str) -> str:
        return (written / variant / file).read_text(encoding="utf-8")

    assert not (written / "one_algorithm" / "models" / "boosting.py").exists()
    assert not (written / "flags_only" / "models" / "classical.py").exists()
    assert "Tfidf" not in text("numbers_only", "models/encoding.py")
    assert "OneHot" not in text("numbers_only", "models/encoding.py")
    assert "datetime" not in text("numbers_only", "serve.py")
    assert "lightgbm" not in text("flags_only", "requirements.txt")
    assert "Left out" not in text("numbers_only", "preprocess.py")
    assert '"knn"' in text("values", "models/traditional.py")
    assert "knn" not in text("lines_of_JSON", "models/traditional.py"), "distances to a million rows"


METRIC_PROBE = """
import json, sys
import numpy as np
for folder, truth, outputs in json.load(open("asked.json")):
    sys.path.insert(0, folder)
    import score
    print(score.metric(np.array(truth), np.array(outputs)))
    for name in ("score", "target", "contract"):
        sys.modules.pop(name, None)
"""


def test_the_metric_of_a_project_is_that_of_the_harness(written: Path, sandbox: Sandbox) -> None:
    random, asked, due = np.random.default_rng(0), [], []
    for name, (task, changes) in VARIANTS.items():
        blueprint = blueprint_of(task, **changes)
        count = len(blueprint.classes)
        outputs = random.dirichlet(np.ones(count), 60) if count else random.uniform(0.2, 4, 60)
        truth = random.integers(0, count, 60) if count else random.uniform(0.2, 4, 60)
        said = np.array(blueprint.classes)[outputs.argmax(axis=1)] if count else blueprint.restored(outputs)
        known = np.array(blueprint.classes)[truth] if count else blueprint.restored(truth)
        made = Predictions(said, outputs if count else None, blueprint.classes)
        asked.append((name.replace(" ", "_"), truth.tolist(), outputs.tolist()))
        due.append(score(metric_of(blueprint.metric, blueprint.task), known, made, blueprint.positive))
    (written / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    argv = python_command("-c", METRIC_PROBE)
    done = sandbox.run(argv, cwd=written, env={"PYTHONPATH": str(written)}, limits=Limits(seconds=120))
    assert done.ok, done.stderr
    assert [float(line) for line in done.stdout.splitlines()] == pytest.approx(due, rel=1e-9)


@pytest.mark.parametrize("tracks", [("traditional",), tuple(TRACKS)])
def test_the_parts_are_the_project(tracks: tuple[Track, ...]) -> None:
    blueprint = blueprint_of("binary", algorithms=("lightgbm",))
    parts = [preparation_files(blueprint), *(track_files(blueprint, one) for one in tracks)]
    parts.append(shared_files(blueprint, tracks))
    assert sorted((file for part in parts for file in part), key=lambda file: file.path) == list(
        write_project(blueprint, tracks)
    )
    for track, files in zip(tracks, parts[1:], strict=False):
        paths = [file.path for file in files]
        assert f"models/{track}.py" in paths and "models/classical.py" not in paths


HOSTILE = (
    'a"""\nimport os; os.system("x")\n"""',
    "b'; raise SystemExit #",
    "c\\",
    "class",
    "model_config",
    "[x], {y}: <z>",
    "{{ 7 * 7 }} {% raw %}",
    "é 价格 🙂",
    "copy",
    "\u2003",
    "C",
    "c ",
)


def test_names_and_words_of_the_data_stay_data(tmp_path: Path, sandbox: Sandbox) -> None:
    words = 'because """ \n\nimport os\nos.abort() \\ {{ 1 }}'
    columns = tuple(ColumnPlan(name=name, kind="numeric", treatment=words, examples=(1.0,)) for name in HOSTILE)
    plain = tuple(ColumnPlan(name=f"n{i}", kind="numeric", treatment="x", examples=(1.0,)) for i in range(len(HOSTILE)))
    hostile = {"title": words, "target": 't"""\n', "classes": ('"""', "\\", "\nx"), "positive": "\\"}
    hostile |= {"columns": columns, "dropped": (Dropped(name=words, reason=words),), "metric": "precision"}
    blueprint = blueprint_of("multiclass", **hostile)
    harmless = blueprint_of("multiclass", columns=plain, metric="precision")
    expected = {file.path: file.text for file in write_project(harmless)}
    for file in write_project(blueprint):
        if file.path.endswith(".py"):
            assert _actions(file.text) == _actions(expected[file.path]), file.path
    data = pd.DataFrame({name: [1.0, 2.0, 3.0] for name in HOSTILE} | {'t"""\n': ['"""', "\\", "\nx"]})
    project = Project(write(tmp_path, blueprint, data), blueprint, data, sandbox)
    code = """
import preprocess, serve, target
features = preprocess.features(preprocess.read("train.csv"))
print(features.sum().tolist(), len(serve.Row.model_fields), target.CLASSES)"""
    done = project.run("-c", code)
    assert done.ok, done.stderr
    assert done.stdout.strip() == f"{[6.0] * len(HOSTILE)} {len(HOSTILE)} {list(blueprint.classes)}"


def _actions(source: str) -> set[str]:
    """What a file imports and calls, but for what depends on how many names are unusual."""
    tree = ast.parse(source)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imports = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}
    return calls - {"Field", "SAFE_NAMES.get"} | imports


READ_PROBE = """
import json, preprocess, serve
print(preprocess.read("german.csv").to_json(date_format="iso"))
def price(text):
    try:
        return preprocess._numbers(preprocess.pd.Series([text], name="price", dtype=object))[0]
    except preprocess.contract.ContractError:
        return "refused"
print(json.dumps([price(text) for text in ("1.234", "12.34", "1.2345", "1.234.567,8 EUR")]))
def lift(value):
    try:
        return serve.Row(lift=value).lift
    except ValueError:
        return "refused"
print(json.dumps([lift(value) for value in ("ja", "Nein ", False, None, "vielleicht")]))"""


def test_a_file_is_read_as_it_is_written(tmp_path: Path, sandbox: Sandbox) -> None:
    prices = Reading(form="number", decimal=",", thousands=".", affix=" EUR", missing=("k.A.", ""))
    columns = (
        ColumnPlan(name="price", source="Preis ä", kind="numeric", reading=prices),
        ColumnPlan(name="day", kind="datetime", reading=Reading(form="date", formats=("%d.%m.%y", "%d.%m.%y %H:%M"))),
        ColumnPlan(name="floor", kind="categorical"),
        ColumnPlan(name="lift", kind="boolean"),
    )
    text = 'notes\nPreis ä;day;floor;lift;extra;y\n"1.234,50 EUR";03.02.24;2;ja;x;1,5\n'
    text += "k.A.;31.12.24 10:30;2.0;Nein;x;2,5\n7;;;;x;3\n"
    dialect = Dialect(encoding="latin-1", delimiter=";", skipped=1)
    source = Source(dialect=dialect, target="y", target_reading=Reading(form="number", decimal=","))
    blueprint = blueprint_of("regression", columns=columns, source=source)
    project = Project(write(tmp_path, blueprint, pd.DataFrame({"x": [1]})), blueprint, pd.DataFrame(), sandbox)
    (tmp_path / "german.csv").write_text(text, encoding="latin-1")
    done = project.run("-c", READ_PROBE)
    assert done.ok, done.stderr
    read, prices_told, asked = map(json.loads, done.stdout.splitlines())
    assert list(read["price"].values()) == [1234.5, None, 7.0]
    assert prices_told == [1234.0, 12.34, 1.2345, 1234567.8], "only before three digits does a point divide thousands"
    assert list(read["day"].values()) == ["2024-02-03T00:00:00.000", "2024-12-31T10:30:00.000", None]
    assert list(read["floor"].values()) == ["2", "2", None]
    assert list(read["target"].values()) == [1.5, 2.5, 3.0]
    assert list(read["lift"].values()) == [True, False, None]
    assert "extra" not in read
    assert asked == [True, False, False, None, "refused"], "a request has the words of the file, too"


def test_classes_are_made_of_numbers_as_the_run_made_them(tmp_path: Path, sandbox: Sandbox) -> None:
    """From the user's file, and from the rows of a run, which have the classes already."""
    numbers = pd.Series([1.4999999, 1.5, 1.6, None])
    source = Source(target="y", target_reading=Reading(form="number", decimal=","), threshold=MADE)
    changes = {"classes": MADE.classes, "positive": MADE.classes[0], "columns": (KINDS["numeric"],), "source": source}
    blueprint = blueprint_of("binary", **changes)
    asked, other = MADE.classes
    rows = pd.DataFrame({"Age (years)": 30.0, "target": [other, asked, asked, None]})
    project = Project(write(tmp_path, blueprint, rows), blueprint, rows, sandbox)
    write_rows(rows, blueprint, tmp_path / "run.csv")
    texts = numbers.map(str, na_action="ignore").str.replace(".", ",")
    pd.DataFrame({"Age (years)": 30, "y": texts}).to_csv(tmp_path / "user.csv", index=False)
    probe = "import preprocess\nfor name in ('run.csv', 'user.csv'): print(list(preprocess.read(name)['target']))"
    done = project.run("-c", probe)
    assert done.ok, done.stderr
    assert done.stdout.splitlines() == [str([other, asked, asked, None])] * 2


@pytest.mark.parametrize(
    ("task", "changes", "said"),
    [
        ("binary", {"metric": "rmse"}, "metric 'rmse' is not one of classification"),
        ("binary", {"columns": COLUMNS + COLUMNS[:1]}, "a name stands for two columns"),
        ("binary", {"target": "City"}, "the target 'City' is among the columns"),
        ("binary", {"classes": ("good",)}, "at least two classes"),
        ("binary", {"positive": "best"}, "'best' is not a class"),
        ("multiclass", {"classes": ("1.0", "2.0")}, "have no fraction"),
        ("binary", {"transform": "log"}, "only numbers are transformed"),
        ("binary", {"folds": Folds(kind="grouped")}, "need the column"),
        ("binary", {"columns": ()}, "at least 1 item"),
    ],
)
def test_a_blueprint_that_does_not_fit_together_is_refused(task: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        blueprint_of(task, **changes)


FOLDS_PROBE = """
import contract, preprocess, train
rows = preprocess.read("rows")
contract.check_rows(rows)
contract.check_features(preprocess.features(rows))
print([str(value) for value in rows.iloc[0]])
rows["fold"] = train.make_folds(rows)
print(rows.groupby("City")["fold"].nunique().max() == 1, rows.sort_values("joined")["fold"].is_monotonic_increasing)
print(sorted(rows["fold"].unique().tolist()))
"""


@pytest.mark.parametrize(
    ("form", "kind", "by", "together", "ordered"),
    [
        ("parquet", "grouped", "City", True, False),
        ("json", "time", "joined", False, True),
        ("excel", "stratified", "", False, False),
    ],
)
def test_other_files_and_folds(
    tmp_path: Path, sandbox: Sandbox, form: str, kind: str, by: str, together: bool, ordered: bool
) -> None:
    data = guests("binary", rows=60).dropna().reset_index(drop=True)
    data["joined"] = pd.to_datetime(data["joined"], format="%d.%m.%Y")
    data["member?"] = data["member?"] == "yes"
    blueprint = blueprint_of("binary", source=Source(format=form), folds=Folds(count=3, kind=kind, by=by))
    project = Project(write(tmp_path, blueprint, data), blueprint, data, sandbox)
    if form == "json":
        data.to_json(tmp_path / "rows", orient="records", lines=True, date_format="iso")
    elif form == "parquet":
        data.to_parquet(tmp_path / "rows", index=False)
    else:
        data.to_excel(tmp_path / "rows.xlsx", index=False)
        (tmp_path / "rows.xlsx").rename(tmp_path / "rows")
    done = project.run("-c", FOLDS_PROBE)
    assert done.ok, done.stderr
    row = data.iloc[0]
    shown = [str(row[name]) for name in ("Age (years)", "member?", "joined", "City", "remark", "target")]
    assert done.stdout.splitlines() == [str(shown), f"{together} {ordered}", "[0, 1, 2]"]


STRICT_PROBE = """
import contract, preprocess, pandas as pd, pydantic, serve
for price in (None, -1.0, 11.0, 5.0):
    try:
        contract.check_rows(preprocess.typed(pd.DataFrame({"price": [5.0, price]})))
        print("ok")
    except contract.ContractError as error:
        print(error)
    try:
        serve.Row(price=price)
    except pydantic.ValidationError as error:
        print(error.errors()[0]["type"])
"""


def test_what_cannot_be_is_refused_in_a_file_and_in_a_request(tmp_path: Path, sandbox: Sandbox) -> None:
    price = ColumnPlan(name="price", kind="numeric", nullable=False, minimum=0, maximum=10)
    blueprint = blueprint_of("regression", columns=(price,))
    project = Project(write(tmp_path, blueprint, pd.DataFrame()), blueprint, pd.DataFrame(), sandbox)
    done = project.run("-c", STRICT_PROBE)
    assert done.ok, done.stderr
    assert done.stdout.splitlines() == [
        "rows: column 'price' has no value in row 1",
        "float_type",
        "rows: column 'price' is -1.0 in row 1, below 0.0",
        "greater_than_equal",
        "rows: column 'price' is 11.0 in row 1, above 10.0",
        "less_than_equal",
        "ok",
    ]
