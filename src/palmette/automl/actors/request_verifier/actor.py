"""The actor `request_verifier`: is this a request for a model of tables, and are there data?"""

from palmette.automl.task_spec.request import DataSummary, Request, require_relevant
from palmette.automl.task_spec.sentence import read_sentence
from palmette.automl.task_spec.spec import TaskSpec
from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context


class VerifierInput(Model):
    request: Request
    columns: DataSummary = DataSummary()
    given_task: TaskSpec = TaskSpec()
    """Of flags and task file."""


class Verification(Model):
    """A request that is taken on."""

    reason: str


class RequestVerifier(BaseActor):
    """Takes a request on, or ends the run with the reason. It refuses only what is plain; it costs no call."""

    name = "request_verifier"
    description = "Refuses requests for something other than a model of tables, and requests without data."
    produces = "verification"
    Input = VerifierInput
    Output = Verification
    needs_person = False

    def run(self, input: VerifierInput, context: Context) -> Attempt[Verification]:
        reading = read_sentence(input.request.text, input.columns, input.request.files)
        require_relevant(input.request, input.columns, input.given_task, reading)
        return Attempt(Verification(reason=f"A request for a model of {len(input.columns.columns)} columns."))
