"""Exports the learner of a delivered model as ONNX; its inputs are the features that features.py makes."""

from pathlib import Path

from palmette.automl.endpoint.delivered import delivered, delivered_blueprint, opened
from palmette.automl.problems.problem import problem_of
from palmette.automl.profile import Profile
from palmette.automl.project.built import run_program
from palmette.automl.project.reading import in_file_names
from palmette.automl.samples import Samples
from palmette.automl.splitting.data_splits import DataSplits
from palmette.documents import Model
from palmette.errors import MachineError, UserError
from palmette.problems import error_of
from palmette.sandbox import Sandbox
from palmette.sandbox.reading import read_json, read_made
from palmette.sandbox.temporary import temporary_folder

ROWS, SECONDS = 1_000, 600.0  # rows on which predictions are compared, and the time limit of the conversion
SINGLE = "Ask for one learner, e.g. --single --learner lightgbm."
PROGRAM = Path(__file__).with_name("onnx_program.py").read_text(encoding="utf-8")


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
        MachineError: A converter is not installed.
    """
    folder, made = delivered(run), opened(run)
    blueprint = delivered_blueprint(made)
    if why := problem_of(blueprint).no_onnx:
        raise error_of(UserError, "no-onnx", why=why)
    splits = DataSplits.of(made.artefact("samples", Samples), made.artefact("profile", Profile).split)
    rows = splits.judged.holdout.head(ROWS)
    with temporary_folder() as scratch:
        in_file_names(rows, blueprint).to_parquet(scratch / "rows.parquet", index=False)
        given = ("-c", PROGRAM, blueprint.package, str(scratch / "rows.parquet"), str(scratch))
        done = run_program(Sandbox(), folder, *given, seconds=SECONDS, write=scratch)
        if "ModuleNotFoundError" in done.error_line:
            raise error_of(MachineError, "missing-library", done=done)
        try:
            found = OnnxExport.model_validate(read_json(scratch, "facts.json"))
            content = read_made(scratch, "model.onnx")
        except (OSError, ValueError):
            message = f"This model cannot be converted to ONNX: {done.error_line[:300]}"
            raise UserError(message, SINGLE, code="no-onnx") from None
    if found.differing > 0.01 * found.rows:
        message = f"The ONNX model predicts {found.differing} of {found.rows} rows differently."
        raise UserError(message, SINGLE, code="no-onnx")
    output.write_bytes(content)
    return found
