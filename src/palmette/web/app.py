"""The page and its API. Every route is a few lines: it checks what was given and calls what the command line calls."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from email import message_from_string, policy
from itertools import dropwhile
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry
from prometheus_fastapi_instrumentator import Instrumentator
from pydantic import Field, JsonValue

from palmette.cli.screen import call_with_texts, chosen, listed_calls
from palmette.documents import Model, read_text
from palmette.engine import RunResult, answer_question, run_state, runs_folder
from palmette.errors import PalmetteError, RunError
from palmette.llm.secrets import error_json
from palmette.roots import Roots
from palmette.web import documents, runs
from palmette.web.runs import Folder, Id
from palmette.web.security import UPLOADS, Guard, is_loopback, new_token
from palmette.web.work import Endpoints, Job, Workers

_FILE = re.compile(r"^diff --git a/(?P<old>.+?) b/(?P<path>.+)$", re.M)


def _value(folder: Path, name: str) -> Any:
    """An artefact of a run; RunError where it was not made."""
    return RunResult(folder, run_state(folder), "stopped").value(name)


def pull_request_view(folder: Folder) -> dict[str, Any]:
    """Title, branches, description as HTML, and the diff of every file.

    The description is rendered without HTML of its own: what a specification holds stays text.
    """
    from markdown_it import MarkdownIt

    made = _value(folder, "pull_request")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(made["body"]["text"])
    body = body.replace("&lt;br&gt;", "<br>")  # the one tag that tables of the description have
    patch = made["patch"]["text"]
    places = [*_FILE.finditer(patch)]
    ends = [*(one.start() for one in places[1:]), len(patch)]
    parts = zip(places, ends, strict=True)
    changes = {one["path"]: patch[one.end() : end].splitlines() for one, end in parts}
    files = [
        {"path": path, "lines": [*dropwhile(lambda line: not line.startswith("@@"), lines)]}
        for path, lines in changes.items()
    ]
    subject = str(message_from_string(patch, policy=policy.default)["subject"] or "")  # git folds and encodes it
    names = ("branch", "base", "url", "repository", "pushed_to")
    title = re.sub(r"^\[PATCH[^\]]*\] ", "", subject) or made["branch"].rpartition("/")[2]
    return {**{name: made[name] for name in names}, "title": title, "html": body, "files": files}


def model_form(folder: Folder) -> dict[str, Any]:
    """The verdict, the leaderboard, and an example row from which the form is made."""
    from palmette.automl.artefacts import Assessment, Comparison
    from palmette.automl.endpoint.delivered import delivered, example_request
    from palmette.automl.report.tables import leaderboard
    from palmette.automl.report.verdict import verdict_text

    assessment = Assessment.model_validate(_value(folder, "assessment"))
    comparison = Comparison.model_validate(_value(folder, "comparison"))
    verdict = verdict_text(assessment, comparison.measured)
    package = delivered(str(folder))
    return {
        "folder": str(package),
        "headline": verdict.headline,
        "lines": [{"status": one.status, "text": str(one)} for one in verdict.lines],
        "quantities": [{"label": label, "value": value} for label, value in verdict.quantities.items()],
        "measured": comparison.measured,
        "leaderboard": [
            {
                **one.row.model_dump(include={"name", "track", "seconds", "chosen"}),
                **{"score": one.score, "interval": one.interval, "value": one.row.score},
            }
            for one in leaderboard(comparison.leaderboard)
        ],
        "importances": [one.model_dump() for one in assessment.importances[:12]],
        "row": example_request(package),
    }


STATIC = Path(__file__).parent / "static"
WATCHED = 0.4  # seconds between two looks at a journal that a page follows
QUIET = 15.0  # seconds after which a page that follows gets a sign of life
NOT_FOUND = frozenset({"unknown-run", "unknown-artefact", "no-such-call", "no-such-file", "no-such-question"})


class QuestionAnswer(Model):
    answer: str = Field(max_length=10_000)
    """Empty: help is not available."""


class Edit(Model):
    path: str
    text: str


class CheckedDocument(Model):
    kind: Literal["fsc", "dfr", "run"]
    text: str
    registry: str = ""
    """Path of the registry that a specification is held against."""


class Start(Model):
    environment: Literal["features", "automl"]
    given: dict[str, JsonValue]


class Resume(Model):
    agreed: tuple[str, ...] = ()


def create_app(roots: Sequence[Path], host: str = "127.0.0.1", access: str | None = None) -> FastAPI:
    """The application.

    Args:
        roots: folders that runs started on the page may read and write.
        host: address or name that it is bound to.
        access: token that every request must show; None on a loopback address.
    """
    assert access or is_loopback(host), "a page that other machines reach has a token"
    allowed = Roots([*roots, documents.uploads_folder()])
    index, workers, endpoints, page = runs.RunIndex(), Workers(), Endpoints(), new_token()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        endpoints.close()

    app = FastAPI(title="Palmette", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    Instrumentator(registry=CollectorRegistry()).instrument(app).expose(app)
    app.add_middleware(Guard, host=host, access=access, page=page)
    app.mount("/static", StaticFiles(directory=STATIC))
    _pages(app, page)
    _reading(app, index, workers)
    _working(app, allowed, workers)
    _writing(app, allowed)
    _made(app, endpoints)
    return app


def _pages(app: FastAPI, page: str) -> None:
    @app.exception_handler(PalmetteError)
    async def refused(_: Request, error: PalmetteError) -> JSONResponse:
        return JSONResponse({"error": error_json(error)}, 404 if error.code in NOT_FOUND else 422)

    @app.get("/")
    def index() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/api/session")
    def session() -> dict[str, str]:
        """What the page must show with every change; other sites cannot read it."""
        return {"token": page, "runs": str(runs_folder())}


def _reading(app: FastAPI, index: runs.RunIndex, workers: Workers) -> None:
    app.get("/api/runs")(index.page)
    app.get("/api/questions")(index.waiting)
    app.get("/api/runs/{id}/value")(runs.files_of)
    app.get("/api/runs/{id}/difference")(runs.difference)

    @app.get("/api/runs/{id}")
    def run(id: Id) -> dict[str, Any]:
        refused = workers.refused.get(id)
        if refused is None and workers.is_starting(id) and index.line(id) is None:
            return {"id": id, "status": "starting"}
        if index.line(id) is None and refused:
            return {"id": id, "status": "refused", "error": refused}
        return {**runs.run_view(runs.run_folder(id)), "error": refused}

    @app.get("/api/runs/{id}/live")
    def live(id: Id) -> StreamingResponse:
        if not workers.is_starting(id) and id not in workers.refused:
            runs.run_folder(id)
        return StreamingResponse(_changes(runs_folder() / id, workers), media_type="text/event-stream")

    @app.get("/api/runs/{id}/calls")
    def calls(folder: Folder) -> dict[str, Any]:
        """The latest calls of models, without their texts."""
        found = listed_calls(folder)
        return {"earlier": max(0, len(found) - runs.CALLS), "calls": found[-runs.CALLS :]}

    @app.get("/api/runs/{id}/calls/{number}")
    def call(folder: Folder, number: int) -> dict[str, Any]:
        (found,) = chosen(listed_calls(folder), number)
        return call_with_texts(folder, found)


async def _changes(folder: Path, workers: Workers) -> AsyncIterator[str]:
    """Server-sent events: `change` when the journal has grown, `progress` with what is going on."""
    known, shown, quiet = None, None, 0.0
    while True:
        stamp = (runs.stamp_of(folder)[:4], folder.name in workers.refused, workers.is_starting(folder.name))
        progress = runs.progress_of(folder)
        if stamp != known:
            yield "event: change\ndata: {}\n\n"
        elif progress != shown:
            yield f"event: progress\ndata: {json.dumps(progress)}\n\n"
        elif quiet >= QUIET:
            yield ": still here\n\n"
            quiet = 0.0
        known, shown, quiet = stamp, progress, quiet + WATCHED
        await asyncio.sleep(WATCHED)


def _working(app: FastAPI, roots: Roots, workers: Workers) -> None:
    @app.post("/api/runs")
    def start(wanted: Start) -> dict[str, str]:
        folder, job = documents.job_of(roots, wanted.environment, wanted.given)
        workers.start(folder, job)
        return {"id": folder.name}

    @app.post("/api/runs/{id}/resume")
    def resume(folder: Folder, wanted: Resume) -> dict[str, str]:
        workers.start(folder, Job(agreed=wanted.agreed))
        return {"id": folder.name}

    @app.post("/api/runs/{id}/stop")
    def stop(folder: Folder) -> dict[str, str]:
        workers.stop(folder)
        return {"id": folder.name}

    @app.post("/api/runs/{id}/answers/{question}")
    def answer(folder: Folder, question: Id, given: QuestionAnswer) -> dict[str, str]:
        answer_question(folder, question, given.answer)
        return {"id": folder.name}


def _writing(app: FastAPI, roots: Roots) -> None:
    @app.put("/api/runs/{id}/artefacts/{name}")
    def edit(folder: Folder, name: Id, made: Edit) -> dict[str, str]:
        documents.edit_artefact(folder, name, made.path, made.text)
        return {"path": made.path}

    @app.get("/api/schemas/{name}")
    def schema(name: Literal["fsc", "dfr", "run", "task"]) -> dict[str, Any]:
        from palmette.cli.formats import any_schema

        return any_schema(name)

    @app.get("/api/files")
    def files(path: str = "") -> dict[str, Any]:
        return documents.listing(roots, path)

    @app.get("/api/text")
    def text(path: str) -> dict[str, str]:
        return {"text": read_text(roots.path(path))}

    @app.put("/api/text")
    def save(made: Edit) -> dict[str, str]:
        documents.save_yaml(roots.path(made.path), made.text)
        return {"path": made.path}

    @app.post("/api/check")
    def check(given: CheckedDocument) -> list[dict[str, Any]]:
        registry = roots.path(given.registry) if given.registry else None
        return [vars(problem) for problem in documents.problems_of(given.kind, given.text, registry)]

    @app.get("/api/features")
    def features(run_file: str) -> dict[str, str]:
        """The documents that a run file names."""
        return documents.named_by(roots.run_file(run_file))

    @app.post(UPLOADS)
    async def upload(request: Request, name: Annotated[str, Query(max_length=200)]) -> dict[str, str]:
        return {"path": str(await documents.keep_upload(name, request.stream()))}


def _made(app: FastAPI, endpoints: Endpoints) -> None:
    app.get("/api/runs/{id}/pull_request")(pull_request_view)
    app.get("/api/runs/{id}/model")(model_form)

    @app.post("/api/runs/{id}/model")
    def predict(folder: Folder, row: dict[str, JsonValue]) -> Any:
        from palmette.automl.endpoint.delivered import delivered

        return endpoints.predict(delivered(str(folder)), row)

    @app.get("/api/runs/{id}/report")
    def report(folder: Folder) -> HTMLResponse:
        """The report in an origin of its own, without scripts: it holds names of columns that nobody here chose."""
        from palmette.automl.endpoint.delivered import delivered

        path = delivered(str(folder)) / "report.html"
        if not path.is_file():
            raise RunError("The run has no report.", "Resume it to make one.", code="unknown-artefact")
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
        return HTMLResponse(path.read_text(encoding="utf-8"), headers={"Content-Security-Policy": policy})
