"""What is written is clean, short and only what the data need; names and words of the data stay data."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

import numpy as np
import pandas as pd
from small_packages import COLUMNS, REMARK, blueprint_of, guests, leaderboard_of, selection_of

from palmette.automl.candidates import LEFT_OUT, Blueprint, ColumnUse, Derived, Folds, OwnCode
from palmette.automl.encoders.columns import quarter
from palmette.automl.measure.metrics import METRICS, Predictions, score
from palmette.automl.project.reading import date_text, in_file_form, number_text
from palmette.automl.project.writer import metric_source, write_package
from palmette.automl.samples import Dialect, Reading, TableFormat, TotalRows
from palmette.automl.task_spec.spec import Threshold

MADE = Threshold(column="grade", comparison=">=", value=1.5)
FIFTEEN = (
    *(ColumnUse(name=f"number {place}", kind="number", examples=(1.0, 2.5)) for place in range(9)),
    *(ColumnUse(name=f"code {place}", kind="category", categories=("a", "b"), examples=("a",)) for place in range(5)),
    ColumnUse(name="flag", kind="boolean", note="One in ten is missing", examples=(True,)),
)
LONG = "a name that is longer than a line of code " * 3
VARIANTS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "one": ("classification", ("lightgbm",), {}),
    "many": ("classification", ("lightgbm", "catboost", "xgboost", "linear", "mlp"), {"metric": "roc_auc"}),
    "words": ("classification", ("nb_svm", "linear_svc"), {"columns": (REMARK,), "metric": "log_loss"}),
    "three": ("classification", ("extra_trees",), {"classes": ("0", "1", "2"), "positive": None, "metric": "f1_macro"}),
    "made": ("classification", ("linear",), {"classes": MADE.classes, "positive": "at least 1.5", "threshold": MADE}),
    "spelt": ("classification", ("linear",), {"classes": ("No", "Yes"), "positive": "Yes"}),
    "values": ("regression", ("linear", "knn"), {"format": TableFormat(format="parquet"), "metric": "mae"}),
    "log": ("regression", ("lightgbm", "extra_trees"), {"format": TableFormat(format="excel")}),
    "grouped": ("regression", ("linear",), {"folds": Folds(kind="grouped", by="City"), "metric": "rmse"}),
    "time": ("regression", ("linear",), {"folds": Folds(kind="time", by="joined"), "metric": "r2"}),
    "clusters": ("clustering", ("kmeans",), {"format": TableFormat(format="json")}),
    "labels": ("clustering", ("gmm",), {"metric": "adjusted_rand", "labels": "kind"}),
    "long": (
        "classification",
        ("linear", "lightgbm"),
        {
            "title": LONG,
            "target": f"{LONG}?",
            "positive": LONG,
            "classes": (LONG, "no"),
            "columns": (*COLUMNS, ColumnUse(name=LONG, source=f"{LONG}!", kind="number", note=LONG, examples=(1.0,))),
            "folds": Folds(kind="grouped", by=LONG),
            "dropped": {LONG: LONG},
        },
    ),
    "series": ("forecasting", ("theta", "linear_forecast"), {}),
    "derived": (
        "regression",
        ("lightgbm",),
        {"derived": (Derived(name="each", operation="ratio", columns=("paid", "Age (years)"), reason="Paid a year"),)},
    ),
}


def text_of(blueprint: Blueprint, *learners: str, modules: tuple[OwnCode, ...] = (), **changes: Any) -> dict[str, str]:
    selection = selection_of(blueprint, *learners, **changes)
    return {file.path: file.text for file in write_package(blueprint, selection, modules, leaderboard_of(selection))}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of every variant."""
    folder = tmp_path_factory.mktemp("variants")
    for name, (problem, learners, changes) in VARIANTS.items():
        reading = {"target_reading": Reading(form="boolean")} if name == "spelt" else {}
        for path, text in text_of(blueprint_of(problem, **changes, **reading), *learners).items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text, encoding="utf-8")
    return folder


def test_every_variant_is_clean_by_its_own_settings(written: Path) -> None:
    for arguments in (["check", "--quiet"], ["format", "--check", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."]
        done = subprocess.run(command, cwd=written, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_variant_is_documented_and_stands_alone(written: Path) -> None:
    for path in written.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert ast.get_docstring(tree) and "palmette" not in text, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{path}: {node.name}"
    for folder in written.iterdir():
        pinned = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
        assert pinned == sorted(pinned) and all("==" in line for line in pinned)
        assert {"scikit-learn", "fastapi", "uvicorn"} <= {line.partition("==")[0] for line in pinned}


FIVE = ("lightgbm", "catboost", "xgboost", "linear", "mlp")


@pytest.mark.parametrize("problem", ["classification", "regression"])
@pytest.mark.parametrize(
    "learners", [("linear",), ("lightgbm",), ("tabm",), ("lightgbm", "tabm"), ("lightgbm", "catboost", "linear"), FIVE]
)
@pytest.mark.parametrize("last", [FIFTEEN[14], COLUMNS[3]], ids=["no date", "a date"])
def test_a_package_for_fifteen_columns_is_short(learners: tuple[str, ...], last: ColumnUse, problem: str) -> None:
    files = text_of(blueprint_of(problem, columns=(*FIFTEEN[:14], last)), *learners)
    lines = {path: text.count("\n") for path, text in files.items() if path.endswith(".py")}
    usual, longer = (430, 245), {("tabm",): (482, 300), ("lightgbm", "tabm"): (508, 325), FIVE: (467, 281)}
    most, most_own = longer.get(learners, usual)
    assert sum(lines.values()) <= most, lines
    own = lines["guests/features.py"] + lines["guests/model.py"]
    assert own <= (130 if len(learners) < 5 else 150) and own + lines["guests/components.py"] <= most_own, lines
    assert files["README.md"].count("\n") < 50


def test_lists_of_a_wide_table_are_short() -> None:
    """Several items a line, or numbers; also columns with another format, which have a name, and kinds of features."""
    marked = Reading(form="native", missing=("NA",))
    columns = [ColumnUse(name=f"code {place}", kind="category", categories=("a", "b")) for place in range(60)]
    columns[:20] = [one.model_copy(update={"reading": marked}) for one in columns[:20]]
    columns[30] = columns[30].model_copy(update={"name": "colour"})
    numbers = [ColumnUse(name=f"number {place}", kind="number", examples=(1.0,)) for place in range(60)]
    files = text_of(blueprint_of("regression", columns=(*numbers, *columns)), "lightgbm", "xgboost")
    features, model = files["guests/features.py"], files["guests/model.py"]
    assert features.count("\n") < 80 and "read=text_of), CATEGORY_COLUMNS_2)" in features
    assert 'NUMBER_COLUMNS = [f"number {i}" for i in range(60)]' in features
    assert max(map(len, files["README.md"].splitlines())) < 1000 and "-d @row.json" in files["README.md"]
    assert "categorical_column=list(range(60, 120))" in model and '["q"] * 60 + ["c"] * 60' in model


def test_only_what_is_needed_is_written(written: Path) -> None:
    def text(variant: str, file: str) -> str:
        return (written / variant / file).read_text(encoding="utf-8")

    assert "def timestamp" in text("one", "guests/components.py")
    assert "def timestamp" not in text("words", "guests/components.py")
    assert "lightgbm" in text("one", "requirements.txt") and "lightgbm" not in text("words", "requirements.txt")
    assert "pyarrow" in text("values", "requirements.txt") and "openpyxl" in text("log", "requirements.txt")
    assert "libgomp1" in text("one", "Dockerfile") and "libgomp1" not in text("words", "Dockerfile")
    assert "predict_proba" not in text("values", "guests/__init__.py")
    assert "GroupShuffleSplit" in text("grouped", "train.py") and "argsort" in text("time", "train.py")
    assert '.map({1.0: "Yes", 0.0: "No"})' in text("spelt", "guests/features.py")
    assert "target >= 1.5" in text("made", "guests/features.py") and ".astype(int)" in text(
        "three", "guests/features.py"
    )
    assert "NUMBER_COLUMNS + DERIVED_COLUMNS" in text("derived", "guests/features.py")


def test_the_model_is_explained_where_it_is_built(written: Path) -> None:
    features, model = (
        (written / "many/guests" / name).read_text(encoding="utf-8") for name in ("features.py", "model.py")
    )
    assert (
        "# Age (years): A tenth is missing." in features
        and "Left out: id (nearly every row has a different value)." in features
    )
    assert "Better than every other by more than noise." in model
    readme = (written / "many/README.md").read_text(encoding="utf-8")
    assert (
        "- catboost-1 0.8 (0.75 to 0.85)" in readme
        and "ROC AUC (greater is better)" in readme
        and "= CatBoostClassifier(" in model
    )
    assert "lightgbm-1: lightgbm is strong here; catboost-1: " in model
    assert features.count("def tree_features()") == features.count("impute_scale_clip = make_pipeline(") == 1


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        (Dialect(), "pd.read_csv(path, dtype=str, keep_default_na=False)"),
        (
            Dialect(encoding="cp1252", delimiter=";", quote="'", skipped=2),
            'pd.read_csv(path, sep=";", encoding="cp1252", quotechar="\'", skiprows=2, '
            "dtype=str, keep_default_na=False)",
        ),
        (
            Dialect(delimiter="\t", quote="", header=False),
            r'pd.read_csv(path, sep="\t", quoting=3, header=None, dtype=str, keep_default_na=False)',
        ),
        (
            Dialect(totals=TotalRows(column="town", labels=("Total",))),
            'without_totals(pd.read_csv(path, dtype=str, keep_default_na=False), "town", ["Total"])',
        ),
    ],
)
def test_files_are_read_with_the_options_they_need(dialect: Dialect, expected: str) -> None:
    features = text_of(blueprint_of("regression", format=TableFormat(dialect=dialect)), "linear")["guests/__init__.py"]
    assert f"return {expected}" in " ".join(features.split()).replace("( ", "(").replace(" )", ")"), features


def test_metrics_of_a_package_are_those_of_the_harness() -> None:
    """On every metric, by the line that stands in the package."""
    random = np.random.default_rng(0)
    for name, metric in METRICS.items():
        if metric.task in ("clustering", "forecasting"):
            continue
        for classes in (("a", "b"), ("a", "b", "c")) if metric.task == "classification" else ((),):
            blueprint = blueprint_of(metric.task, metric=name, classes=classes, positive=None)
            target, predicted = random.uniform(0.5, 4, (2, 60))
            probabilities = random.dirichlet(np.ones(len(classes) or 2), 60)
            if classes:
                target = np.array(classes)[random.integers(0, len(classes), 60)]
                predicted = np.array(classes)[probabilities.argmax(axis=1)]
            made = Predictions(predicted, probabilities if classes else None, classes)
            function, expression = metric_source(blueprint)
            known: dict[str, Any] = {"np": np, "target": target, "predicted": predicted, "probabilities": probabilities}
            known["model"] = type("Model", (), {"classes_": np.array(classes)})
            imports = f"from sklearn.metrics import {function}" if function else ""
            exec(f"{imports}\nvalue = {expression}", known)
            assert known["value"] == pytest.approx(score(metric, target, made), rel=1e-9), (name, classes)


HOSTILE = (
    'a"""\nimport os; os.system("x")\n"""',
    "b'; raise SystemExit #",
    "c\\",
    "class",
    "{{ 7 * 7 }} {% raw %}",
    "é 🙂",
)


def test_names_and_words_of_the_data_stay_data() -> None:
    words = 'because """ \n\nimport os\nos.abort() \\ {{ 1 }}'
    columns = tuple(ColumnUse(name=name, kind="number", note=words, examples=(1.0,)) for name in HOSTILE)
    plain = tuple(
        ColumnUse(name=f"n{place}", kind="number", note="x", examples=(1.0,)) for place in range(len(HOSTILE))
    )
    facts = {"title": words, "target": 't"""\n', "classes": ('"""', "\\", "\nx"), "positive": "\\"}
    hostile = blueprint_of("classification", columns=columns, dropped={words: words}, metric="precision", **facts)
    harmless = text_of(blueprint_of("classification", columns=plain, metric="precision"), "linear")
    made = text_of(hostile, "linear", reason=words)
    for path, text in made.items():
        if path.endswith(".py"):
            assert _actions(text) == _actions(harmless[path]), path
    rows = json.loads(made["guests/examples.json"])
    assert [list(row) for row in rows] == [list(HOSTILE)] * 4


def _actions(text: str) -> set[str]:
    """What a file imports and calls."""
    tree = ast.parse(text)
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = {one.attr if isinstance(one, ast.Attribute) else ast.unparse(one) for one in called}
    return calls | {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)}


def test_columns_that_no_member_uses_are_not_asked_for() -> None:
    blueprint = blueprint_of("regression")
    (usual,) = selection_of(blueprint, "linear").members
    alone = usual.model_copy(update={"candidate": usual.candidate.model_copy(update={"encoders": {"text": LEFT_OUT}})})
    for members, is_read in (((alone,), False), ((alone, usual), True)):
        programs = [text for path, text in text_of(blueprint, "linear", members=members).items() if path[-3:] == ".py"]
        assert any("remark" in text for text in programs) is is_read


def test_own_code_stands_in_the_package_as_it_was_written() -> None:
    own = OwnCode(path="own_features.py", text='"""Own."""\n\n\nclass Ages:\n    pass\n', classes=("Ages",))
    blueprint = blueprint_of("regression")
    selection = selection_of(blueprint, "linear")
    member = selection.members[0]
    candidate = member.candidate.model_copy(update={"features": "own_features.Ages"})
    selection = selection.model_copy(update={"members": (member.model_copy(update={"candidate": candidate}),)})
    files = {file.path: file.text for file in write_package(blueprint, selection, (own,))}
    assert files["guests/own_features.py"] == own.text
    assert "from .own_features import Ages" in files["guests/features.py"]
    assert "| `guests/own_features.py` |" in files["README.md"]


def test_rows_are_written_as_in_the_file() -> None:
    rows = guests("regression", 30)
    made = in_file_form(rows, blueprint_of("regression", columns=COLUMNS, folds=Folds(kind="grouped", by="remark")))
    assert list(made) == ["Age (years)", "Paid ", "City", "joined", "member?", "grade"]
    assert made["Paid "].iloc[0] == f"${rows['paid'].iloc[0]:,}" and made["joined"].iloc[0].count("/") == 2
    counted = ColumnUse(name="joined", kind="datetime", reading=Reading(form="unix", per_second=1000))
    seconds = in_file_form(rows, blueprint_of("regression", columns=(counted,)))["joined"] / 1000
    assert pd.to_datetime(seconds, unit="s").tolist() == rows["joined"].tolist()
    assert number_text(-1234.5, Reading(form="number", decimal=",", thousands=".", affix="€")) == "€-1.234,5"
    assert number_text(1e30, Reading(form="number", affix="$")) == "1e+30"
    assert date_text(pd.Timestamp("2024-02-03T10:00"), ["%d.%m.%Y"]) == "2024-02-03T10:00:00"
    assert date_text(pd.Timestamp("2024-04-01"), ["%Y-Q%q"]) == "2024-Q2"
    assert quarter("2024-Q2", ["%Y-M%m"]) == pd.Timestamp("2024-04-01")
    assert date_text(pd.Timestamp("2024-05-01"), ["%Y-Q%q"]) == "2024-05-01T00:00:00"
