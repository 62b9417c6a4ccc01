"""The actor `preprocessing_coder`: writes the preparation, runs it at once, and holds its output to the contract."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from palmette.automl import briefs
from palmette.automl.artefacts import PREPARATION, Code
from palmette.automl.chances import by_rules, used_up
from palmette.automl.data import Dataset
from palmette.automl.faults import answers_for
from palmette.automl.material import Material
from palmette.automl.modalities import Blueprint, modality_of
from palmette.automl.profile import Profile
from palmette.automl.project import Project
from palmette.automl.reach import objections
from palmette.documents import Model
from palmette.engine import Attempt, Context, Measurement, Verdict, Violation
from palmette.llm import NEEDED, OFFLINE, Agent, Answer, Models, Python, Section, section
from palmette.llm.brief import fenced
from palmette.sandbox import Sandbox, told_from

SAMPLE = 300
"""Rows that the code is tried on."""
SHOWN = 6
"""Training rows that a writer is shown, as they stand in the file."""
SHOWN_SIGNS = 3000
OWN = ("contract-unfulfilled", "project-failed", "reaches-outside", "syntax")
"""Codes that it answers for, where the subject is one of its files."""


class PreprocessingInput(Model):
    blueprint: Blueprint
    dataset: Dataset
    profile: Profile
    executed: bool = True
    """False: the code is only parsed."""


class PreprocessAnswer(Answer):
    preprocess: Python
    """The whole file preprocess.py."""


class PreprocessingCoder(Agent):
    """Writes preprocess.py, target.py and the contract; what they make of real rows must obey it."""

    name = "preprocessing_coder"
    description = "Writes the preparation of the data as code and runs it at once against the contract."
    produces = "preprocessing"
    Input = PreprocessingInput
    Output = Code
    Answer = PreprocessAnswer
    has_criterion = True

    def __init__(self, sandbox: Sandbox, models: Models = OFFLINE) -> None:
        super().__init__(models)
        self.sandbox = sandbox

    def offline(self, input: PreprocessingInput, context: Context) -> Attempt[Code]:
        failed = used_up(context) if self.model else None
        repairs = (by_rules(PREPARATION, failed),) if failed else ()
        return Attempt(Code(files=modality_of(input.blueprint).preparation_files(), repairs=repairs))

    def is_settled(self, input: PreprocessingInput, context: Context) -> bool:
        """A table so wide that no answer could hold the file, or a model whose chances are used up."""
        own = {file.path: file.text for file in modality_of(input.blueprint).preparation_files()}
        return used_up(context) is not None or briefs.is_too_long(own[PREPARATION])

    def parts(self, input: PreprocessingInput) -> Mapping[str, str]:
        return modality_of(input.blueprint).PREPARATION.model_dump()

    def brief(self, input: PreprocessingInput, context: Context) -> tuple[Section, ...]:
        modality = modality_of(input.blueprint)
        own = {file.path: file.text for file in modality.preparation_files()}
        sample = modality.sample(Material.of(input.dataset, input.profile), SHOWN)
        modality.write_rows(sample.train.head(SHOWN), rows := context.workspace / "shown")
        return (
            briefs.agreed(own["contract.json"]),  # before what the draft says as well
            briefs.part(input.blueprint, "prep"),
            section("checks", own["contract.py"], rank=2, language="python"),
            section("rows", _seen(rows)),
            section("draft", own[PREPARATION], rank=NEEDED, language="python"),
        )

    def read(self, answer: PreprocessAnswer, input: PreprocessingInput, context: Context) -> Attempt[Code]:
        own = modality_of(input.blueprint).preparation_files()
        text = f"{answer.preprocess.rstrip()}\n"
        files = tuple(file.model_copy(update={"text": text}) if file.path == PREPARATION else file for file in own)
        return Attempt(Code(files=files), answer.reason, answer.fix)

    def recalled(self, output: Code) -> str:
        """What it has written itself."""
        return "\n\n".join(fenced(file.text, "python") for file in output.files if file.path == PREPARATION)

    def check(self, input: PreprocessingInput, output: Code, context: Context) -> Verdict:
        """On a sample of training rows: reading, features and target keep the contract, for every row."""
        modality = modality_of(input.blueprint)
        wrong = [found for file in output.files for found in briefs.syntax_errors(file)]
        wrong += objections(output.files, modality.preparation_files())
        if wrong or not input.executed:
            return Verdict.of(wrong)
        sample = modality.sample(Material.of(input.dataset, input.profile), SAMPLE)
        project = Project(context.workspace / "project", self.sandbox)
        project.write(output.files)
        modality.write_rows(sample.train, project.folder / "rows")
        done = project.python("-c", modality.PROBE, seconds=120)
        ok = done.ok and done.stdout.split()[-1:] == [str(len(sample.train))]
        detail = f"{len(sample.train)} rows read, made into features, held to the contract"
        measured = Measurement(name="preprocessing", status="passed" if ok else "failed", detail=detail)
        if ok:
            return Verdict(ok=True, measurements=(measured,))
        trace = told_from(project.folder, done.stderr) or done.note
        last = next((line for line in reversed(trace.splitlines()) if line.strip()), f"The code ended {done.ended}.")
        wrong = [Violation(code="contract-unfulfilled", message=last.strip(), evidence=trace, subject=PREPARATION)]
        return Verdict.of(wrong, [measured])

    def implicated(self, violation: Violation, output: Code) -> str | None:
        """To blame where features are not what was agreed, and where its files fail at work."""
        if not answers_for(violation, {file.path for file in output.files}, OWN, "contract-unfulfilled"):
            return None
        said = "does not fulfil the contract" if violation.code in OWN else "fails at work"
        return f"Preprocessing {said}: {violation.message}"


def _seen(rows: Path) -> str:
    """The beginning of a file of text; nothing of another one."""
    start = rows.read_bytes()[:SHOWN_SIGNS]
    return "" if b"\0" in start else start.decode("utf-8", "replace")
