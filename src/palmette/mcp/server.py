"""The tools of the MCP server. They are thin: each calls the public API, on files within the allowed folders."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial, wraps
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import anyio.from_thread
import anyio.lowlevel
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import NoBackChannelError
from pydantic import BaseModel, Field, JsonValue

from palmette import engine
from palmette.documents import Model, read_document
from palmette.engine import events as e
from palmette.engine.journal import read_end
from palmette.errors import PalmetteError, UserError
from palmette.features.build_plan import BuildPlan, build_plan
from palmette.features.checks.examples import rows_expected
from palmette.features.script_check import FeatureScript, check_script, chosen_checks, view_of
from palmette.mcp.holdout import HoldOutScore, ScoredHoldOut
from palmette.roots import Roots
from palmette.sandbox import WarmSpark

INSTRUCTIONS = """\
Palmette verifies and writes machine-learning code. To write a PySpark feature script yourself, call `expected_rows`
for the right answer on rows of your choice, then `check_features` until it reports no violation; its evidence shows
the rows that differ. `build_features` and `automl` do the whole work. Paths must lie in the allowed folders."""
P = ParamSpec("P")
R = TypeVar("R")
LAST = 500  # events that a resource shows
Text = Annotated[str, Field(min_length=1)]
Specification = Annotated[str, Field(description="Path of the feature specification (FSC).")]
DataFrames = Annotated[str, Field(description="Path of the data frame registry (DFR).")]


class FeatureCheck(Model):
    """What the checks found in a script."""

    ok: bool
    entry: str
    """The function that builds the features."""
    checks: tuple[engine.Measurement, ...]
    violations: tuple[engine.Violation, ...]
    words: dict[str, str]
    """How features in plain words were read."""


class ExpectedRows(Model):
    """The right rows, by definition."""

    rows: tuple[dict[str, JsonValue], ...]
    not_computed: dict[str, str]
    """Features that the oracle has no answer for, with the reason."""


class _Tools:
    """The tools, and what they share while the server runs."""

    def __init__(self, roots: Sequence[Path], holdout: ScoredHoldOut | None = None) -> None:
        self._roots, self._holdout = Roots(roots), holdout
        self._open = ExitStack()
        self._spark: WarmSpark | None = None
        self._starting = threading.Lock()  # calls of tools run side by side

    @asynccontextmanager
    async def lifespan(self, _: MCPServer[Any]) -> AsyncIterator[None]:
        with self._open:
            yield

    def spark(self) -> WarmSpark:
        """One Spark for all calls; the first of them starts it."""
        with self._starting:
            if self._spark is None:
                self._spark = self._open.enter_context(WarmSpark())
        return self._spark

    def check_features(
        self,
        context: Context[Any, Any],
        script: Annotated[str, Field(description="Path of the PySpark script.")],
        fsc: Specification,
        dfr: DataFrames,
        entry: Annotated[str, Field(description="The function that builds the features; found if left out.")] = "",
        quick: Annotated[bool, Field(description="Only static rules and the plan, without running on rows.")] = False,
    ) -> FeatureCheck:
        """Check a PySpark feature script against its specification, by running it on rows that provoke mistakes."""
        subject = FeatureScript(self._roots.path(script), entry or None)
        view = view_of(self._roots.path(fsc), self._roots.path(dfr), human=engine.NoHuman())
        say = _Progress(context).say
        found = check_script(subject, view, chosen_checks(quick), spark=self.spark(), progress=say)
        return FeatureCheck(
            ok=found.verdict.ok,
            entry=found.entry,
            checks=found.verdict.measurements,
            violations=found.verdict.violations,
            words=found.words,
        )

    def expected_rows(
        self,
        fsc: Specification,
        dfr: DataFrames,
        given: Annotated[
            dict[str, list[dict[str, JsonValue]]],
            Field(description="Rows by table name; columns that are left out are null, such tables are empty."),
        ],
        as_of: Annotated[str, Field(description="The cut-off, ISO 8601; left out where a spine carries it.")] = "",
    ) -> ExpectedRows:
        """Compute the rows that a feature view has on given rows, by its definition and without Spark."""
        view = view_of(self._roots.path(fsc), self._roots.path(dfr), human=engine.NoHuman())
        rows, skipped = rows_expected(view, given, as_of or None)
        return ExpectedRows(rows=tuple(rows), not_computed=skipped)

    def plan_features(self, run_file: Text) -> BuildPlan:
        """Show what a run file would build, read and write, and how that differs from what is merged."""
        return build_plan(self._roots.run_file(run_file))

    def build_features(self, context: Context[Any, Any], run_file: Text) -> dict[str, Any]:
        """Build a feature view and its pull request, as the run file says; takes a minute or more."""
        path = self._roots.run_file(run_file)
        return self._run("features", {"run_file": str(path), "human": "none"}, path.stem, context)

    def automl(
        self,
        context: Context[Any, Any],
        data: Annotated[str, Field(description="Path of the table, folder or archive.")],
        target: Annotated[str, Field(description="The column to predict; left out for clustering.")] = "",
        request: Annotated[str, Field(description="A sentence that says more.")] = "",
        budget: Annotated[str, Field(description="Time for training, e.g. 60s or 5min.")] = "60s",
    ) -> dict[str, Any]:
        """Train, verify and package a model; its score is measured on rows that no training saw."""
        from palmette.automl.arguments import arguments_of

        path = self._roots.path(data)
        arguments = arguments_of(request, (str(path),), target=target or None, budget=budget, human="none")
        return self._run("automl", arguments, path.stem, context)

    def explain_run(self, run: Text = "latest") -> dict[str, Any]:
        """Explain a run: its steps, failed attempts with their evidence, artefacts and costs."""
        from palmette.cli.show import run_json

        folder = engine.find_run(run)
        asked = [{"id": one.id, **one.event.model_dump()} for one in engine.open_questions(folder)]
        return {**run_json(folder, read_end(folder, None)), "questions": asked}

    def answer_question(
        self,
        run: Text,
        question: Annotated[str, Field(description="The id that `explain_run` lists under `questions`.")],
        answer: Annotated[str, Field(description="The answer; empty where it cannot be known.")] = "",
    ) -> str:
        """Answer an open question of a run that was started with `human: web`; approvals are left to a person."""
        folder = engine.find_run(run)
        if any(one.id == question and one.event.by == "approval" for one in engine.open_questions(folder)):
            message = f"The question {question!r} asks for a person's approval."
            raise UserError(message, "A person answers it on the page of `palmette web`.", code="needs-a-person")
        engine.answer_question(folder, question, answer)
        return "The run goes on."

    def score_holdout(
        self, predictions: Annotated[str, Field(description="Path of a table with one prediction for each row.")]
    ) -> HoldOutScore:
        """Score predictions on the hold-out that the server was started with; only a few submissions are scored."""
        if self._holdout is None:
            message = "The server was started without a hold-out."
            raise UserError(message, "A person starts it with --holdout FILE:TARGET:METRIC.", code="no-holdout")
        return self._holdout.score(self._roots.path(predictions))

    def conventions(self, run_file: str) -> str:
        """The conventions of the repository that a run file names."""
        from palmette.features.repository import read_conventions
        from palmette.features.spec.run import Run

        path = self._roots.run_file(run_file)
        run = read_document(path, Run)
        fsc, dfr = (self._roots.path(str(path.parent / one)) for one in (run.fsc, run.dfr))
        view = view_of(fsc, dfr, human=engine.NoHuman())
        root = self._roots.path(str(path.parent / run.repository.path))
        return read_conventions(root, run, view).model_dump_json(indent=2)

    def _run(self, name: str, arguments: dict[str, JsonValue], what: str, context: Context[Any, Any]) -> dict[str, Any]:
        from palmette.cli.summary import summary_of

        folder, human = engine.new_run_folder(what), _ClientHuman(context)
        return summary_of(engine.run_environment(name, arguments, folder, _Progress(context), human))


class _Reply(BaseModel):
    answer: str = Field(description="Your answer; for an approval, yes or no.")


class _ClientHuman:
    """Asks the person at the client, where that can show a form."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context
        self._loop = anyio.from_thread.run_sync(anyio.lowlevel.current_token)

    def ask(self, question: str) -> str | None:
        capabilities = self._context.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return None
        try:
            result = anyio.from_thread.run(self._context.elicit, question, _Reply, token=self._loop)
        except NoBackChannelError:  # a transport by which a server cannot ask
            return None
        return result.data.answer.strip() or None if result.action == "accept" else None


class _Progress(engine.Observer):
    """Tells the client what happens, from the thread of a tool."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context, self._count = context, 0
        self._loop = anyio.from_thread.run_sync(anyio.lowlevel.current_token)

    def say(self, message: str) -> None:
        self._count += 1
        report = partial(self._context.report_progress, float(self._count), None, message)
        anyio.from_thread.run(report, token=self._loop)

    def opened(self, about: str) -> None:
        self.say(about)

    def event(self, entry: engine.Entry) -> None:
        match entry.event:
            case e.InvocationStarted() | e.ActorSucceeded() | e.ActorFailed() as event:
                self.say(f"{event.actor}: {event.kind.replace('_', ' ')}")

    def progress(self, actor: str, message: str) -> None:
        self.say(f"{actor}: {message}")


def _reporting(tool: Callable[P, R]) -> Callable[P, R]:
    """The tool, whose expected errors reach the client with code and remedy."""

    @wraps(tool)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        from palmette.llm.secrets import hider

        try:
            return tool(*arguments, **options)
        except PalmetteError as error:
            raise ToolError(hider()(str(error))) from None

    return call


def open_server(roots: Sequence[Path], holdout: ScoredHoldOut | None = None) -> MCPServer[Any]:
    """A server whose tools read and write within `roots`; relative paths start at the first."""
    tools = _Tools(roots, holdout)
    version = metadata.version("palmette")
    server = MCPServer[Any](
        "palmette", instructions=INSTRUCTIONS, version=version, lifespan=tools.lifespan, log_level="WARNING"
    )
    for tool in (
        tools.check_features, tools.expected_rows, tools.plan_features, tools.build_features, tools.automl,
        tools.explain_run, tools.answer_question, tools.score_holdout,
    ):  # fmt: skip
        server.add_tool(_reporting(tool))
    server.resource("palmette://schemas/{name}", mime_type="application/schema+json")(_reporting(schema))
    server.resource("palmette://runs/{run}/journal", mime_type="application/jsonl")(_reporting(journal))
    conventions = server.resource("palmette://conventions/{+run_file}", mime_type="application/json")
    conventions(_reporting(tools.conventions))
    return server


def schema(name: str) -> str:
    """The JSON Schema of a format: fsc, dfr, run or task."""
    from palmette.cli.formats import any_schema
    from palmette.features.spec.run import FORMATS

    if name not in (*FORMATS, "task"):
        raise UserError(f"There is no schema {name!r}.", "There are fsc, dfr, run and task.", code="no-schema")
    return json.dumps(any_schema(name))


def journal(run: str) -> str:
    """The last events of a run, one JSON object a line."""
    return "\n".join(entry.model_dump_json() for entry in read_end(engine.find_run(run), LAST).entries)
