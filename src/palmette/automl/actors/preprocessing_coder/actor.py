"""The actor `preprocessing_coder`: writes the preparation, runs it at once, and holds its output to the contract."""

from __future__ import annotations

from palmette.automl.actors.modeling_coder.actor import syntax_errors
from palmette.automl.artefacts import Code
from palmette.automl.data import Dataset
from palmette.automl.modalities.tabular import Blueprint
from palmette.automl.modalities.tabular.writer import preparation_files
from palmette.automl.profile import Profile
from palmette.automl.project import Material, Project
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, Measurement, Verdict, Violation
from palmette.sandbox import Sandbox, told_from

SAMPLE = 300
"""Rows that the code is tried on."""
PROBE = """\
import contract, preprocess, target
rows = preprocess.read("rows")
contract.check_rows(rows)
features = preprocess.features(rows)
contract.check_features(features)
target.learnt(rows[preprocess.TARGET])
print(len(features))
"""


class PreprocessingInput(Model):
    blueprint: Blueprint
    dataset: Dataset
    profile: Profile
    executed: bool = True
    """False: the code is only parsed."""


class PreprocessingCoder(BaseActor):
    """Writes preprocess.py, target.py and the contract; what they make of real rows must obey it."""

    name = "preprocessing_coder"
    description = "Writes the preparation of the data as code and runs it at once against the contract."
    produces = "preprocessing"
    Input = PreprocessingInput
    Output = Code
    has_criterion = True

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def run(self, input: PreprocessingInput, context: Context) -> Attempt[Code]:
        return Attempt(Code(files=preparation_files(input.blueprint)))

    def check(self, input: PreprocessingInput, output: Code, context: Context) -> Verdict:
        """On a sample of training rows: reading, features and target keep the contract, for every row."""
        if not input.executed:
            return Verdict.of([found for file in output.files for found in syntax_errors(file)])
        from palmette.automl.modalities.tabular.rows import write_rows

        sample = Material.of(input.dataset, input.profile).sample(input.blueprint, SAMPLE)
        project = Project(context.workspace / "project", self.sandbox)
        project.write(output.files)
        write_rows(sample.train, input.blueprint, project.folder / "rows")
        done = project.python("-c", PROBE, seconds=120)
        ok = done.ok and done.stdout.strip() == str(len(sample.train))
        detail = f"{len(sample.train)} rows read, made into features, held to the contract"
        measured = Measurement(name="preprocessing", status="passed" if ok else "failed", detail=detail)
        if ok:
            return Verdict(ok=True, measurements=(measured,))
        trace = told_from(project.folder, done.stderr) or done.note
        message = trace.strip().splitlines()[-1] if trace.strip() else f"The code ended {done.ended}."
        wrong = Violation(code="contract-unfulfilled", message=message, evidence=trace, subject="preprocess.py")
        return Verdict.of([wrong], [measured])

    def implicated(self, violation: Violation, output: Code) -> str | None:
        """To blame where features are not what was agreed."""
        if violation.code != "contract-unfulfilled":
            return None
        return f"Preprocessing does not fulfil the contract: {violation.message}"
