"""Exports the learner of a delivered model as ONNX; its inputs are the features that features.py makes."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from palmette.automl.candidates import Blueprint
from palmette.automl.endpoint.delivered import artefact, delivered
from palmette.automl.profile import Profile
from palmette.automl.project import in_file_names, run_program
from palmette.automl.samples import Samples
from palmette.automl.splitting import DataSplits
from palmette.documents import Model
from palmette.errors import MachineError, UserError
from palmette.sandbox import Sandbox
from palmette.sandbox.reading import read_json, read_made
from palmette.sandbox.temporary import temporary_folder

ROWS, SECONDS = 1_000, 600.0  # rows on which predictions are compared, and the time limit of the conversion
PROGRAM = """
import importlib, json, sys
from pathlib import Path
import numpy as np, onnx, onnxruntime, pandas as pd
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes as of_classes
from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes as of_values

for library, name, converter in (("lightgbm", "LGBM", "LightGbm"), ("xgboost", "XGB", "XGBoost")):
    try:
        classes = importlib.import_module(library)
        code = importlib.import_module(f"onnxmltools.convert.{library}.operator_converters.{converter}")
    except ImportError:
        continue
    convert = getattr(code, f"convert_{library}")
    options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    update_registered_converter(getattr(classes, f"{name}Regressor"), f"{name}Regressor", of_values, convert)
    update_registered_converter(
        getattr(classes, f"{name}Classifier"), f"{name}Classifier", of_classes, convert, options=options
    )

package, rows, out = sys.argv[1], pd.read_parquet(sys.argv[2]), Path(sys.argv[3])
model = learner = importlib.import_module(package).load("model")
features, inverse = rows, None
while True:
    if hasattr(learner, "steps"):
        features, learner = learner[:-1].transform(features), learner[-1]
    elif hasattr(learner, "inverse_func"):
        inverse, learner = learner.inverse_func, learner.regressor_
    elif hasattr(learner, "estimator_") and (
        hasattr(learner, "threshold") or type(learner).__module__.startswith(package)
    ):
        learner = learner.estimator_
    else:
        break
features = np.asarray(features, dtype="float32")
classifies = hasattr(model, "predict_proba")
options = {id(learner): {"zipmap": False}} if classifies else None
made = to_onnx(learner, features[:1], options=options, target_opset={"": 15, "ai.onnx.ml": 3})
run = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
found = run.run(None, {run.get_inputs()[0].name: features})[1 if classifies else 0].astype("float64")
found = found.reshape(len(rows), -1)
if inverse is not None:
    found = inverse(found)
due = np.asarray(model.predict_proba(rows) if classifies else model.predict(rows), dtype="float64")
far = np.abs(found - due.reshape(len(rows), -1)) > 1e-3 * np.maximum(1.0, np.abs(due.reshape(len(rows), -1)))
facts = {"rows": len(rows), "features": features.shape[1], "differing": int(far.any(axis=1).sum())}
facts["inverse"] = "" if inverse is None else inverse.__name__
(out / "facts.json").write_text(json.dumps(facts))
(out / "model.onnx").write_bytes(made.SerializeToString())
"""


class OnnxExport(Model):
    """The exported model compared with the original."""

    rows: int
    features: int
    differing: int
    """Rows whose predictions differ by more than a thousandth; ONNX computes in single precision."""
    inverse: str
    """The NumPy function that turns outputs into predictions, e.g. `expm1`; empty for none."""


def export_onnx(run: str, output: Path) -> OnnxExport:
    """Writes the learner of a delivered model as ONNX, if both predict the same.

    Raises:
        UserError: The model has no converter, e.g. an ensemble with several encoders.
        MachineError: skl2onnx or onnxruntime is not installed.
    """
    folder, blueprint = delivered(run), artefact(run, "blueprint", Blueprint)
    splits = DataSplits.of(artefact(run, "samples", Samples), artefact(run, "profile", Profile).split)
    rows = splits.judged.holdout.head(ROWS)
    with temporary_folder() as scratch:
        in_file_names(rows, blueprint).to_parquet(scratch / "rows.parquet", index=False)
        given = ("-c", PROGRAM, blueprint.package, str(scratch / "rows.parquet"), str(scratch))
        done = run_program(Sandbox(), folder, *given, seconds=SECONDS, write=scratch)
        if "ModuleNotFoundError" in done.last_line:
            remedy = "Install them: pip install skl2onnx onnxmltools onnxruntime"
            raise MachineError(f"A converter is missing: {done.last_line}.", remedy, code="missing-library")
        try:
            found = TypeAdapter(OnnxExport).validate_python(read_json(scratch, "facts.json"))
            content = read_made(scratch, "model.onnx")
        except (OSError, ValueError, ValidationError):
            message = f"This model cannot be converted to ONNX: {done.last_line[:300]}"
            raise UserError(message, "Ask for one learner, e.g. --single --learner lightgbm.", code="no-onnx") from None
    if found.differing > 0.01 * found.rows:
        message = f"The ONNX model predicts {found.differing} of {found.rows} rows differently."
        raise UserError(message, "Ask for another learner, e.g. --single --learner lightgbm.", code="no-onnx")
    output.write_bytes(content)
    return found
