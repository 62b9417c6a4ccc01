"""Packages at work: fitted in the sandbox, asked, served, loaded beside another; bad answers end as values."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

import pandas as pd
from small_packages import COLUMNS, as_in_file, blueprint_of, fitted, guests, selection_of

from palmette.automl.endpoint.checking import answers_of, check_endpoint, of_tests, row_exchanges, rows_of_requests
from palmette.automl.endpoint.service import Service
from palmette.automl.measure.metrics import Predictions
from palmette.automl.project.built import BuiltPackage
from palmette.automl.project.reading import in_file_form
from palmette.sandbox import ExecutionResult, Sandbox, isolation_of

NEW = {problem: guests(problem, 40, seed=1) for problem in ("classification", "regression", "clustering")}


@pytest.fixture(scope="module")
def box() -> Sandbox:
    return Sandbox()


@pytest.fixture(scope="module")
def grades(tmp_path_factory: pytest.TempPathFactory, box: Sandbox) -> BuiltPackage:
    """A decision that weighs classes, two learners, and every kind of column."""
    blueprint = blueprint_of("classification")
    selection = selection_of(blueprint, "lightgbm", "linear", class_weights=(1.0, 1.5))
    return fitted(tmp_path_factory.mktemp("grades"), box, blueprint, selection, guests("classification"))


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory, box: Sandbox) -> BuiltPackage:
    """The logarithm of a number, by one learner."""
    blueprint = blueprint_of("regression", package="values", columns=COLUMNS)
    selection = selection_of(blueprint, "lightgbm")
    return fitted(tmp_path_factory.mktemp("values"), box, blueprint, selection, guests("regression"))


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory, box: Sandbox) -> BuiltPackage:
    blueprint = blueprint_of("clustering", package="clusters")
    selection = selection_of(blueprint, "kmeans")
    return fitted(tmp_path_factory.mktemp("clusters"), box, blueprint, selection, guests("clustering"))


@pytest.mark.parametrize("name", ["grades", "values", "clusters"])
def test_a_package_passes_its_tests_and_its_endpoint_agrees_with_it(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    package: BuiltPackage = request.getfixturevalue(name)
    rows = NEW[package.blueprint.problem]
    with Service(package.sandbox, package.folder) as service:
        made = package.predict(rows, tmp_path / "scratch")
        assert isinstance(made, Predictions), made
        if name != "values":  # its tests are those of the others
            tests, failed = of_tests(package.sandbox, package.folder)
            assert tests.status == "passed", failed
        assert service.is_healthy(), service.output()
        asked = rows_of_requests(in_file_form(rows.drop(columns="grade", errors="ignore"), package.blueprint))
        numbers = tuple(one.in_file for one in package.blueprint.columns if one.kind == "number")
        asked = [{name: row[name] for name in (one.in_file for one in package.blueprint.columns)} for row in asked]
        assert not check_endpoint(service, row_exchanges(asked, answers_of(made), numbers))
        assert service.call("POST", "/predict/batch", {"rows": [asked[0]] * 10_001}).status == 413
        assert service.call("POST", "/predict", {**asked[0], "Age (years)": float("nan"), "more": 1}).status == 200
        assert service.call("POST", "/predict", ["no", "object"]).status == 422
        service.call("GET", "/nowhere")
        counted = service.call("GET", "/metrics").text
        assert 'duration_seconds_count{handler="/predict",method="POST"} ' in counted
        assert 'requests_total{handler="none",method="GET",status="4xx"} 1.0\n' in counted


@pytest.fixture
def on_path(grades: BuiltPackage, values: BuiltPackage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for package in (grades, values):
        monkeypatch.syspath_prepend(str(package.folder))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("guests", "values")]:
        del sys.modules[name]


@pytest.mark.usefixtures("on_path")
def test_two_packages_in_one_process_predict_the_users_own_frame(
    grades: BuiltPackage, values: BuiltPackage, tmp_path: Path
) -> None:
    for package, name in ((grades, "guests"), (values, "values")):
        rows = NEW[package.blueprint.problem]
        as_in_file(rows).to_csv(tmp_path / "new.csv", index=False)
        frame = pd.read_csv(tmp_path / "new.csv")
        model = importlib.import_module(name).load(package.folder / "model")
        made = package.predict(rows, tmp_path / name)
        assert isinstance(made, Predictions)
        assert list(model.predict(frame)) == pytest.approx(list(made.values))
        assert model[:1].transform(frame).shape == (40, len(package.blueprint.columns))
        again = importlib.import_module(name).read(tmp_path / "new.csv")
        assert list(model.predict(again)) == pytest.approx(list(made.values))
        with pytest.raises(ValueError, match=re.escape("Columns are missing: 'Paid ', 'City'.")):
            model.predict(frame.drop(columns=["Paid ", "City"]))
        with pytest.raises(ValueError, match=r"Column 'joined' is 'soon' in row 3, not readable as datetime\."):
            model.predict(frame.assign(joined=frame["joined"].where(frame.index != 3, "soon")))
    assert pd.Series(made.values.astype(float)).corr(NEW["regression"]["grade"], method="spearman") > 0.6


def test_a_package_is_fitted_again_and_compared_on_the_same_rows(grades: BuiltPackage, tmp_path: Path) -> None:
    folder = tmp_path / "package"
    shutil.copytree(grades.folder, folder)
    before = (folder / "model/model.pkl.gz").read_bytes()
    as_in_file(guests("classification", 200, seed=2)).to_csv(folder / "new.csv", index=False)

    def train(*more: str) -> str:
        command = [sys.executable, "train.py", "--data", "new.csv", *more]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = train()
    assert re.search(r"^F1 on 50 held-out rows \(greater is better\): old 0\.\d+, new 0\.\d+$", said, re.MULTILINE)
    assert (folder / "model/model.pkl.gz").read_bytes() == before
    facts = json.loads((folder / "model_new/metadata.json").read_text(encoding="utf-8"))
    assert facts["metric"] == "F1" and facts["rows"] == 200 and 0 < facts["score"] <= 1 and len(facts["columns"]) == 6
    train("--replace", "--no-compare")
    assert (folder / "model/model.pkl.gz").read_bytes() != before
    facts = json.loads((folder / "model/metadata.json").read_text(encoding="utf-8"))
    assert facts["rows"] == 200 and "score" not in facts, "it was measured on another model"


def test_a_package_is_installed_with_its_model(values: BuiltPackage, tmp_path: Path) -> None:
    shutil.copytree(values.folder, tmp_path / "package")
    command = ["pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", "installed", "./package"]
    done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    as_in_file(NEW["regression"]).to_csv(tmp_path / "installed/new.csv", index=False)
    program = "import values; print(len(values.load().predict(values.read('new.csv'))), values.MODEL)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "installed", capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["40", str(tmp_path / "installed/values/fitted")], done.stderr


@pytest.mark.usefixtures("on_path")
@pytest.mark.filterwarnings("ignore:.*AnyType:UserWarning")  # MLflow's own types, as it is imported
def test_mlflow_loads_the_model(values: BuiltPackage) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    import mlflow

    loaded = mlflow.pyfunc.load_model(str(values.folder / "model"))
    assert len(loaded.predict(as_in_file(NEW["regression"]))) == 40


SAYS = "import os, sys\nmade = sys.argv[sys.argv.index('--output') + 1]\n"
HEADER = "prediction,probability_bad,probability_good"


@pytest.fixture
def open_() -> Sandbox:
    """Where nothing keeps programs from making links and pipes."""
    return Sandbox(isolation_of("none"))


@pytest.mark.parametrize(
    "program",
    [
        "",
        "os.symlink('/dev/zero', made)",
        "os.mkfifo(made)",
        "os.truncate(os.open(made, os.O_CREAT | os.O_WRONLY), 3 << 30)",
        "open(made, 'w').write('prediction\\n1\\n')",
        f"open(made, 'w').write('{HEADER}\\n' + 'good,nan,1\\n' * 5)",
        f"open(made, 'w').write('{HEADER}\\n' + 'good,x\\n' * 5)",
        f"open(made, 'w').write('{HEADER}\\n' + 'good,1,1\\n' * 5)",
        f"open(made, 'w').write('{HEADER}\\n' + 'other,0,1\\n' * 5)",
        f"open(made, 'w').write(('{HEADER}' + ',' * 20 + '\\n') + 'good,0,1\\n' * 5)",
        "open(made, 'w').write('\"\\n\",' + ',' * 5000)",
        f"open(made, 'w').write('{HEADER}\\n' + 'good,0,1\\n' * 5 + '\\n' * 100_000)",
        f"open(made, 'w').write('{HEADER}\\n' + 'good,0,1\\n' * 6)",
        "open(made, 'w').write(',' * (1 << 20))",
    ],
)
def test_predictions_that_cannot_be_read_are_a_failure_of_the_package(
    tmp_path: Path, open_: Sandbox, program: str
) -> None:
    (tmp_path / "predict.py").write_text(SAYS + program)
    package = BuiltPackage(tmp_path, open_, blueprint_of("classification"))
    made = package.predict(guests("classification", 5), tmp_path / "scratch")
    assert isinstance(made, ExecutionResult) and not made.ok and "cannot be read" in made.stderr


def test_each_prediction_is_by_itself(tmp_path: Path, open_: Sandbox) -> None:
    """What the first one left is neither the answer of the second nor in its way."""
    answer = f"open(made, 'w').write('{HEADER}\\n' + 'good,0,1\\n' * 5)\n"
    (tmp_path / "predict.py").write_text(f"{SAYS}{answer}os.mkdir(os.path.join(os.path.dirname(made), 'more'))\n")
    package, scratch = BuiltPackage(tmp_path, open_, blueprint_of("classification")), tmp_path / "scratch"
    rows = guests("classification", 5)
    assert not isinstance(package.predict(rows, scratch), ExecutionResult)
    (tmp_path / "predict.py").write_text("")
    second = package.predict(rows, scratch)
    assert isinstance(second, ExecutionResult) and "cannot be read" in second.stderr


def test_a_fit_leaves_its_model_and_nothing_else(tmp_path: Path, open_: Sandbox) -> None:
    package = BuiltPackage(tmp_path, open_, blueprint_of("classification"))
    (tmp_path / "train.py").write_text("open('model/model.pkl.gz', 'w')")
    done = package.fit(guests("classification", 5), tmp_path / "scratch", 30.0)
    assert not done.ok and done.stderr == "train.py wrote too few or too many files: MLmodel, metadata.json."
    (tmp_path / "train.py").write_text(
        "for name in ('model.pkl.gz', 'metadata.json', 'MLmodel', 'rows.csv'): open(f'model/{name}', 'w')\n"
    )
    done = package.fit(guests("classification", 5), tmp_path / "scratch", 30.0)
    assert not done.ok and done.stderr == "train.py wrote too few or too many files: rows.csv."
