"""The end-stage actor that delivers. It is the only actor with effects outside the run folder."""

from palmette.delivery import Worktree, deliver
from palmette.engine.actor import Attempt, BaseActor, Context, TextFile, Verdict, Violation
from palmette.features.actors.pull_request.offline import PullRequestInput, change_of
from palmette.features.artefacts import FeatureDelivery
from palmette.features.spec.view import View
from palmette.features.workbench import Workbench
from palmette.sandbox.temporary import temporary_folder


class PullRequestActor(BaseActor):
    """Commits the view's files to a branch, and opens a pull request if the run file asks for one."""

    name = "pull_request"
    description = "Commits configuration, script and tests on a branch of the repository and opens the pull request."
    produces = "pull_request"
    Input = PullRequestInput
    Output = FeatureDelivery

    def __init__(self, view: View, workbench: Workbench) -> None:
        self.view, self.workbench = view, workbench

    def run(self, input: PullRequestInput, context: Context) -> Attempt[FeatureDelivery]:
        settings, name = self.workbench.run.pull_request, self.view.name
        wanted = settings.branch or f"features/{name}"
        with temporary_folder() as place:
            worktree = Worktree.open(
                self.workbench.checkout, place / "worktree", branch=wanted, base=self.workbench.run.repository.base
            )
            verdict = context.verdicts.get("code_generator", Verdict(ok=True))
            beside = wanted if worktree.branch.name != wanted else ""
            change = change_of(self.view, self.workbench.run, input, verdict, self.workbench.repository, beside)
            done = deliver(worktree, change, settings, context.workspace)
            patch = worktree.patch()
        return Attempt(
            FeatureDelivery(
                repository=str(self.workbench.checkout),
                branch=done.branch,
                base=done.base,
                files=done.paths,
                body=TextFile(path="pull_request.md", text=change.body),
                patch=TextFile(path=f"{name}.patch", text=patch),
                url=done.opened.url if done.opened else "",
                pushed_to=done.remote or "",
            )
        )

    def stands(self, input: PullRequestInput, output: FeatureDelivery) -> bool:
        """Whether the branch still exists or was merged. A pushed branch belongs to its remote."""
        file, on = input.script.file, self.workbench.file_on
        is_merged = on(output.base, file.path) == file.text
        return bool(output.pushed_to) or is_merged or on(output.branch, file.path) is not None

    def check(self, input: PullRequestInput, output: FeatureDelivery, context: Context) -> Verdict:
        """The branch holds exactly the files that passed the checks."""
        return Verdict.of(
            [
                Violation(
                    code="branch-differs",
                    subject=path,
                    message=f"{path} on {output.branch} is not the file that was checked.",
                )
                for path, text in input.files.items()
                if self.workbench.file_on(output.branch, path) != text
            ]
        )
