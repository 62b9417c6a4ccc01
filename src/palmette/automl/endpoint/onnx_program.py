"""Converts the learner of a package to ONNX and compares their predictions: a program for the sandbox.

`PACKAGE ROWS FOLDER`: the rows are a Parquet file; the folder gets `model.onnx` and `facts.json`.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from skl2onnx import to_onnx, update_registered_converter
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes as of_classes
from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes as of_values

package, rows, out = sys.argv[1], pd.read_parquet(sys.argv[2]), Path(sys.argv[3])


def register_boosting() -> None:
    """Adds the converters of onnxmltools for the libraries that the package uses."""
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


def unwrapped(learner: Any) -> tuple[Any, Any, Any]:
    """The innermost learner, the features that it takes, and the function that turns its outputs into predictions."""
    features: Any = rows
    inverse: Any = None
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
            dense = features.toarray() if hasattr(features, "toarray") else features
            return learner, np.asarray(dense, dtype="float32"), inverse


def network_content(learner: Any, features: Any, classifies: bool) -> bytes:
    import torch

    class Exported(torch.nn.Module):
        def forward(self, cells: Any) -> Any:
            made = learner.network_.requires_grad_(False)(cells)
            if classifies:
                return made.softmax(dim=2).mean(dim=1)
            return made.mean(dim=1) * learner.scale_ + learner.middle_

    file, example = out / "model.onnx", torch.as_tensor(features[:2])
    names: dict[str, Any] = {"input_names": ["features"], "output_names": ["outputs"]}
    axes = {"features": {0: "rows"}, "outputs": {0: "rows"}}
    torch.onnx.export(Exported().eval(), (example,), file, dynamic_axes=axes, dynamo=False, **names)
    return file.read_bytes()


def main() -> None:
    model = importlib.import_module(package).load("model")
    learner, features, inverse = unwrapped(model)
    classifies = hasattr(model, "predict_proba")
    if hasattr(learner, "network_"):
        content = network_content(learner, features, classifies)
    else:
        register_boosting()
        options = {id(learner): {"zipmap": False}} if classifies else None
        converted = to_onnx(learner, features[:1], options=options, target_opset={"": 15, "ai.onnx.ml": 3})
        content = converted.SerializeToString()
    run = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found = run.run(None, {run.get_inputs()[0].name: features})[-1].astype("float64").reshape(len(rows), -1)
    found = found if inverse is None else inverse(found)
    due = np.asarray(model.predict_proba(rows) if classifies else model.predict(rows), dtype="float64")
    due = due.reshape(len(rows), -1)
    far = np.abs(found - due) > 1e-3 * np.maximum(1.0, np.abs(due))
    facts = {"rows": len(rows), "features": features.shape[1], "differing": int(far.any(axis=1).sum())}
    facts["inverse"] = "" if inverse is None else inverse.__name__
    (out / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    (out / "model.onnx").write_bytes(content)


main()
