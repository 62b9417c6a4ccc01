"""The delivery: what is handed over was asked, tested, and is exactly what was chosen."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("lightgbm", reason="the packages of AutoML are not installed")

from small_delivery import SmallDelivery, small_delivery

from palmette.automl.actors.deployer import contents
from palmette.automl.actors.deployer.actor import CHECKED, Deployer
from palmette.automl.actors.implementation_verifier.actor import ImplementationVerifier
from palmette.automl.actors.implementation_verifier.input import ImplementationInput
from palmette.automl.artefacts import Delivery
from palmette.automl.endpoint import MANIFEST
from palmette.automl.material import Material
from palmette.automl.project import Project
from palmette.automl.requirements import Requirements
from palmette.engine import TERMINATE, TextFile
from palmette.sandbox import ExecutionResult, Limits, python_command


@pytest.fixture(scope="module")
def small() -> SmallDelivery:
    return small_delivery()


def test_a_delivery_is_measured_and_holds_the_chosen_members_only(small: SmallDelivery) -> None:
    made = small.delivery
    status = {one.name: one.status for one in made.measurements}
    assert set(CHECKED) <= set(status) and set(status.values()) <= {"passed", "skipped"}
    assert {name for name in status if status[name] == "skipped"} <= {"page"}
    assert 0 < made.p50 <= made.p95
    members = [member.name for member in small.input.comparison.selection.members]
    models = {path.split("/")[2] for path in made.files if path.startswith("model/fold_models/")}
    assert models == set(members)
    fitted = small.store.folder("project")
    assert len(list((fitted / "tracks/traditional/fold_models").iterdir())) > len(members)
    assert not [path for path in made.files if path.startswith(("train.csv", "folds", "tracks", "model/out_of_fold"))]
    assert {path.name for path in Path(made.folder).parent.iterdir() if path.name.startswith(".")} == set()


def test_what_is_to_be_delivered_is_out_of_reach_of_its_own_models(
    small: SmallDelivery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are loaded to be asked, and could put a file beside the ones that were chosen."""
    reached = list[Path]()

    def python(*_: object, seconds: float, write: Path) -> ExecutionResult:
        reached.append(write)
        return ExecutionResult(exit_code=1, stdout="", stderr="", seconds=seconds, ended="exited", isolation="")

    monkeypatch.setattr(Project, "python", python)
    Deployer(small.sandbox, small.store, tmp_path)._asked(tmp_path / "project", small.input, tmp_path)
    assert reached and not any((tmp_path / "project").is_relative_to(one) for one in reached)


def test_what_training_leaves_beside_its_models_is_refused(small: SmallDelivery, tmp_path: Path) -> None:
    chosen = small.input.comparison.selection
    shutil.copytree(small.store.folder("project") / "model", tmp_path / "fitted/model")
    folder = tmp_path / "fitted" / contents.FOLD_MODELS / chosen.members[0].name
    (folder / "more").mkdir()
    (folder / "rows.csv").write_text("1,2")
    wrong = contents.write(tmp_path / "project", {}, chosen, tmp_path / "fitted")
    assert {one.code for one in wrong} == {"unexpected-file"}
    assert [Path(one.subject).name for one in wrong] == ["more", "rows.csv"]
    assert {path.suffix for path in (tmp_path / "project/model").rglob("*") if path.is_file()} == {".joblib"}


def test_the_readme_has_the_command_that_repeats_the_score(small: SmallDelivery, tmp_path: Path) -> None:
    folder, chosen = Path(small.delivery.folder), small.input.comparison.selection
    said = (folder / "README.md").read_text()
    found = re.search(r"^python (train\.py .*\.\..* --members.*) --out again$", said, re.MULTILINE)
    assert found
    command = python_command(*shlex.split(found[1]), "--out", str(tmp_path))
    done = small.sandbox.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, limits=Limits(seconds=120))
    assert done.ok, done.stderr
    (trial,) = json.loads((tmp_path / "trials.json").read_text())
    assert chosen.members[0].name == trial["name"]
    assert f" is {chosen.score:.6g}" in said and done.stdout.endswith(f" of all members together: {chosen.score:.6g}\n")


def test_without_a_hold_out_the_model_is_judged_by_what_it_was_chosen_by(
    small: SmallDelivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Material.of(small.input.dataset, small.input.profile)
    monkeypatch.setattr(Material, "of", lambda *_: replace(whole, holdout=whole.holdout[:0]))
    limits = [
        {"quantity": "score", "metric": name, "comparison": ">=", "value": 0.01, "words": name}
        for name in ("precision", "f1_macro")
    ]
    wanted = Requirements.model_validate({"text": "x", "problem": {"constraints": limits}})
    names = ("dataset", "profile", "blueprint", "assembly", "comparison")
    asked = ImplementationInput(requirements=wanted, **{name: getattr(small.input, name) for name in names})
    context, chosen = small.context("implementation_verifier"), asked.comparison.selection
    verifier = ImplementationVerifier(small.sandbox, small.store)
    made = verifier.run(asked, context).output
    assert made is not None and (made.rows, made.scores[0].value) == (0, pytest.approx(chosen.score, abs=1e-12))
    assert {"accuracy", "roc_auc", "log_loss", "f1_macro", "precision"} <= {one.metric for one in made.scores}
    assert all(one.low <= one.value <= one.high and one.baseline is not None for one in made.scores)
    assert [one.status for one in made.judged] == ["pass", "pass"]
    assert all(" out of fold (95 % interval" in one.measured for one in made.judged)
    assert verifier.check(asked, made, context).measurements[0].name == f"{chosen.metric} out of fold"


def test_a_delivery_stands_while_it_is_where_it_was_put(small: SmallDelivery, tmp_path: Path) -> None:
    deployer, made = small.deployer(), small.delivery
    assert deployer.stands(small.input, made)
    assert not deployer.stands(small.input, made.model_copy(update={"folder": str(tmp_path)}))
    moved = small.input.model_copy(update={"settings": small.input.settings.model_copy(update={"out": ""})})
    assert Path(made.folder) == deployer.delivered and deployer.stands(moved, made)
    deployer.delivered = tmp_path / "copy" / "delivered"
    assert not deployer.stands(moved, made), "a copy of a run delivers to a folder of its own"


def stray(change: Callable[[Path], object]) -> Callable[[Delivery], Delivery]:
    def changed(made: Delivery) -> Delivery:
        change(Path(made.folder))
        return made

    return changed


def rewrite_manifest(folder: Path) -> None:
    """A file is changed, and the manifest with it."""
    from palmette.automl.endpoint import digest

    (folder / "predict.py").write_text("print('hello')")
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["predict.py"] = digest(folder / "predict.py")
    (folder / MANIFEST).write_text(json.dumps(manifest))


CHANGES: dict[str, tuple[Callable[[Delivery], Delivery], str]] = {
    "nothing": (lambda made: made, ""),
    "caches": (stray(lambda folder: (folder / "__pycache__").mkdir()), ""),
    "code": (stray(lambda folder: (folder / "serve.py").write_text("")), "delivery-differs"),
    "code and manifest": (stray(rewrite_manifest), "delivery-differs"),
    "a file more": (stray(lambda folder: (folder / "model/other.joblib").write_text("")), "delivery-differs"),
    "a model less": (stray(lambda folder: next(folder.glob("model/fold_models/*/*")).unlink()), "delivery-differs"),
    "no manifest": (stray(lambda folder: (folder / MANIFEST).unlink()), "delivery-missing"),
    "no folder": (stray(shutil.rmtree), "delivery-missing"),
    "not measured": (
        lambda made: made.model_copy(update={"measurements": made.measurements[1:]}), "delivery-unmeasured"
    ),
    "failed": (
        lambda made: made.model_copy(
            update={"measurements": tuple(one.model_copy(update={"status": "failed"}) for one in made.measurements)}
        ),
        "delivery-unmeasured",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_the_criterion_sees_what_has_changed_since(small: SmallDelivery, tmp_path: Path, name: str) -> None:
    change, code = CHANGES[name]
    folder = Path(small.delivery.folder)
    shutil.copytree(folder, tmp_path / "kept")
    try:
        verdict = small.deployer().check(small.input, change(small.delivery), small.context("check"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", folder)
    assert {violation.code for violation in verdict.violations} == ({code} if code else set())


def altered(small: SmallDelivery, path: str, change: Callable[[str], str]) -> tuple[TextFile, ...]:
    files = small.input.assembly.files
    return tuple(TextFile(path=one.path, text=change(one.text)) if one.path == path else one for one in files)


LYING = """
    @app.middleware("http")
    async def lie(request, call_next):
        from starlette.responses import JSONResponse

        if request.url.path == "/predict":
            return JSONResponse({"prediction": "good", "probabilities": {"good": 1.0, "poor": 0.0}})
        return await call_next(request)
"""


ALONE = """

_together = features


def features(rows):
    made = _together(rows)
    numbers = made.select_dtypes("number") / 2
    return made.assign(**numbers) if len(rows) == 1 else made
"""
"""What comes of a row depends on whether it comes alone."""


@pytest.mark.parametrize(
    ("path", "change", "codes"),
    [
        (
            "serve.py",
            lambda text: text.replace('    @app.get("/health")', f'{LYING}\n    @app.get("/health")').replace(
                "outputs = predictor.outputs(preprocess.typed(frame))",
                "outputs = 1 - predictor.outputs(preprocess.typed(frame))",
            ),
            {"predictions-differ", "bad-request-accepted", "tests-failed"},
        ),
        ("serve.py", lambda text: "raise SystemExit('no')", {"endpoint-unhealthy", "tests-failed"}),
        ("predict.py", lambda text: "import palmette\n" + text, {"imports-palmette"}),
        ("preprocess.py", lambda text: text + ALONE, {"predictions-differ", "tests-failed"}),
    ],
    ids=["lies", "ends", "leans on palmette", "looks at other rows"],
)
def test_nothing_is_delivered_that_does_not_do_what_it_promises(
    small: SmallDelivery, tmp_path: Path, path: str, change: Callable[[str], str], codes: set[str]
) -> None:
    assembly = small.input.assembly.model_copy(update={"files": altered(small, path, change)})
    settings = small.input.settings.model_copy(update={"out": str(tmp_path / "out")})
    asked = small.input.model_copy(update={"assembly": assembly, "settings": settings})
    attempt = small.deployer().run(asked, small.context("deployer"))
    assert attempt.output is None and attempt.fix == TERMINATE
    assert {violation.code for violation in attempt.violations} == codes, attempt.violations
    assert {violation.subject for violation in attempt.violations} == {path}, "it is from the file that was changed"
    assert not (tmp_path / "out").exists() and not list(tmp_path.iterdir())
