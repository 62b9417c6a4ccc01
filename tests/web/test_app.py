"""The page's API: what it shows, what it refuses, what it changes."""

import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canned import Canned
from fastapi.testclient import TestClient
from pydantic import JsonValue
from test_agent import BAD, GOOD, setup
from web_samples import question_actor, write_journal

from palmette.engine import (
    Human,
    Setup,
    WebHuman,
    answer_question,
    new_run_folder,
    open_questions,
    read_journal,
    register,
    resume_run,
    run_environment,
    run_topology,
)
from palmette.llm.environment import open_topology
from palmette.web import app, documents
from palmette.web.app import create_app
from palmette.web.work import Job

ADDRESS = "http://127.0.0.1:8800"


def wait(done: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := done():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_a_run_is_shown_with_steps_attempts_limits_and_differences(client: TestClient) -> None:
    (line,) = client.get("/api/runs").json()["runs"]
    assert (line["id"], line["what"], line["status"]) == ("digest", "digest", "finished")
    run = client.get("/api/runs/digest").json()
    assert run["limits"]["steps"] == 40 and run["actors"]["choose_entries"]["invocations"] == 2
    assert [one["actor"] for one in run["steps"]][:4] == [
        "split_notes",
        "choose_entries",
        "write_digest",
        "choose_entries",
    ]
    first, second = (one["attempts"][0]["output"] for one in run["steps"] if one["actor"] == "choose_entries")
    (file,) = client.get(f"/api/runs/digest/difference?old={first}&new={second}").json()
    assert file["path"] == "value.json" and any(one.startswith("-") for one in file["lines"])
    files = client.get(f"/api/runs/digest/value?digest={run['artefacts']['digest']['digest']}").json()
    assert files["DIGEST.md"].count("\n- Breaking") == 2


def test_runs_are_filtered_and_paged_without_reading_all(runs: Path, client: TestClient) -> None:
    for number in range(60):
        shutil.copytree(runs / "digest", runs / f"20260101-0000{number:02}-copy-00000000")
    first = client.get("/api/runs").json()
    assert len(first["runs"]) == 50 and first["runs"][0]["id"] == "digest", "the newest id first"
    rest = client.get("/api/runs", params={"before": first["next"]}).json()
    assert len(rest["runs"]) == 11 and rest["next"] is None
    assert client.get("/api/runs", params={"text": "copy 07"}).json()["runs"][0]["id"].endswith("07-copy-00000000")
    assert client.get("/api/runs", params={"state": "failed"}).json()["runs"] == []
    assert client.get("/api/runs", params={"environment": "automl"}).json()["runs"] == []


def test_a_long_journal_is_bounded(runs: Path, client: TestClient) -> None:
    write_journal(runs / "long", decisions=1500)
    run = client.get("/api/runs/long").json()
    assert run["decisions"] == 1500 and run["earlier"] > 1000
    assert len(run["steps"]) == 300 and run["steps"][-1]["number"] == 1500


def test_an_edit_is_validated_and_a_resume_makes_what_depends_on_it(runs: Path, client: TestClient) -> None:
    path, there = "/api/runs/digest/artefacts/chosen", runs / "digest/artefacts/chosen/value.json"
    before = there.read_text("utf-8")
    wrong = client.put(path, json={"path": "value.json", "text": '{"entries": "one"}'})
    assert wrong.status_code == 422 and "entries" in wrong.json()["error"]["problems"][0]["field"]
    assert client.put(path, json={"path": "value.json", "text": "{"}).status_code == 422
    assert there.read_text("utf-8") == before
    text = json.dumps({"entries": ["Breaking: <script>alert(1)</script>"]})
    assert client.put(path, json={"path": "value.json", "text": text}).status_code == 200
    assert client.post("/api/runs/digest/resume", json={}).json() == {"id": "digest"}
    wait(lambda: "alert(1)" in (runs / "digest/artefacts/digest/DIGEST.md").read_text("utf-8"))
    wait(lambda: client.get("/api/runs/digest").json()["status"] == "finished")


def test_questions_are_answered_several_at_once_and_after_a_restart(
    runs: Path, client: TestClient, tmp_path: Path
) -> None:
    arguments = question_actor(tmp_path / "asking", human="web")
    workers = [
        threading.Thread(target=run_environment, args=("topology", arguments, runs / name)) for name in ("one", "two")
    ]
    for worker in workers:
        worker.start()
    waiting = wait(lambda: (found := client.get("/api/questions").json()) and len(found) == 4 and found)
    assert {one["question"] for one in waiting} == {"Which colour for a?", "Which colour for b?"}
    for number, one in enumerate(waiting):
        path = f"/api/runs/{one['run']}/answers/{one['id']}"
        assert client.post(path, json={"answer": f"colour {number}"}).status_code == 200
    for worker in workers:
        worker.join(10)
    assert client.post(path, json={"answer": "again"}).status_code == 404
    answers = [one.event.answer for one in read_journal(runs / "one", "human_answered")]
    assert len(set(answers)) == 2 and client.get("/api/questions").json() == []


@register("environment", "asks_first")
def asks_first(arguments: dict[str, JsonValue], folder: Path, asker: Callable[[Human], Human]) -> Setup:
    answer = asker(WebHuman(folder)).ask("Which colour first?")
    return open_topology({**arguments, "given": {"items": [answer]}}, folder)


def test_questions_before_a_run_begins_are_answered_once(runs: Path, client: TestClient, tmp_path: Path) -> None:
    arguments = question_actor(tmp_path / "asking", human="none")
    worker = threading.Thread(target=run_environment, args=("asks_first", arguments, runs / "first"))
    worker.start()
    (one,) = wait(lambda: client.get("/api/questions").json())
    run = client.get("/api/runs/first").json()
    assert run["topology"] is None and [question["question"] for question in run["questions"]] == [
        "Which colour first?"
    ]
    assert client.post(f"/api/runs/first/answers/{one['id']}", json={"answer": "green"}).status_code == 200
    worker.join(10)
    assert client.get("/api/runs/first").json()["status"] == "finished"
    assert resume_run(runs / "first").value("items") == ["green"], "remembered"


def test_a_long_title_of_a_pull_request_is_shown_whole(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "From 4b7170c Mon Sep 17 00:00:00 2001\nFrom: x\nSubject: [PATCH] Add feature view\n customer_activity\n"
    patch = f"{head}\n---\ndiff --git a/x.py b/x.py\n@@ -1 +1 @@\n+x = 1\n"
    texts = {"patch": {"text": patch}, "body": {"text": "What it does."}}
    made = {**texts, "branch": "b", "base": "main", "url": None, "repository": "r", "pushed_to": None}
    monkeypatch.setattr(app, "_value", lambda *_: made)
    assert app.pull_request_view(runs)["title"] == "Add feature view customer_activity"


def test_calls_of_models_are_listed_and_their_texts_shown_on_demand(runs: Path, client: TestClient) -> None:
    run_topology(setup(Canned([BAD, GOOD])), runs / "words")
    listed = client.get("/api/runs/words/calls").json()
    first, second = listed["calls"]
    assert listed["earlier"] == 0 and (first["role"], first["input_tokens"], first["money"]) == ("writer", 100, 0.12)
    call = client.get(f"/api/runs/words/calls/{second['number']}").json()
    assert [one["speaker"] for one in call["asked"]] == ["system", "user"] and call["answer"] == GOOD
    assert client.get("/api/runs/words/calls/3").status_code == 404


def test_an_answer_given_while_nobody_works_on_the_run_is_taken_at_the_resume(runs: Path, tmp_path: Path) -> None:
    class Killed(WebHuman):
        def ask(self, question: str) -> str | None:
            shutil.copytree(
                runs / "asking", runs / "cut", ignore=shutil.ignore_patterns("run.lock"), dirs_exist_ok=True
            )
            return "later"

    arguments = question_actor(tmp_path / "asking", human="none", items=["a"])
    first = run_environment("topology", arguments, runs / "asking")
    assert first.status == "finished" and not open_questions(first.folder)
    shutil.rmtree(runs / "asking")
    import palmette.llm.environment as environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "human_of", lambda _, folder: Killed(folder))
        run_environment("topology", arguments, runs / "asking")
    (one,) = open_questions(runs / "cut")
    answer_question(runs / "cut", one.id, "green")
    result = resume_run(runs / "cut", human=WebHuman(runs / "cut"))
    assert result.value("colours") == [{"colour": "green"}]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, "other-host"),
        ({"Host": "127.0.0.1.evil.example:8800"}, "other-host"),
        ({"Origin": "http://evil.example"}, "other-page"),
        ({"Origin": "null"}, "other-page"),
        ({"X-Palmette-Token": "guessed"}, "other-page"),
        ({"Content-Length": "99999999999"}, "too-large"),
    ],
)
def test_other_sites_change_and_read_nothing(client: TestClient, headers: dict[str, str], code: str) -> None:
    answer = client.post("/api/runs/digest/resume", json={}, headers=headers)
    assert answer.json()["error"]["code"] == code
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/..", "/api/runs/%2e%2e%2fdigest", "/api/runs/.hidden", "/static/../app.py", "/static/%2e%2e/app.py",
        "/api/files?path=/etc", "/api/files?path=..%2F..%2F..", "/api/text?path=/etc/passwd",
        "/api/text?path=link.yaml",
        "/api/runs/digest/value?digest=" + "0" * 64, "/api/runs/digest/value?digest=../../journal.sqlite",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(client: TestClient, runs: Path, path: str) -> None:
    (runs.parent / "link.yaml").symlink_to("/etc/hostname")
    answer = client.get(path)
    assert answer.status_code in {404, 422} and "root:" not in answer.text


def test_edits_stay_in_their_artefact(client: TestClient, runs: Path) -> None:
    for path in ("../../objects/x", "../../../own/notes.txt", "/etc/hostname", ".digest", "new.txt"):
        made = client.put("/api/runs/digest/artefacts/chosen", json={"path": path, "text": "x"})
        assert made.json()["error"]["code"] == "unknown-artefact", path
    outside = client.post("/api/runs", json={"environment": "automl", "given": {"data": ["/etc/passwd"]}})
    assert outside.json()["error"]["code"] == "outside-roots"
    named = client.post("/api/runs", json={"environment": "automl", "given": {"sentence": "x", "topology": "t.yaml"}})
    assert named.json()["error"]["code"] == "outside-roots"
    assert client.post("/api/uploads?name=..%2F..%2Fevil.sh", content=b"x").json()["error"]["code"] == "unknown-format"
    kept = Path(client.post("/api/uploads?name=..%2F..%2Fa+b.csv", content=b"a,b\n").json()["path"])
    assert kept.is_relative_to(runs / "uploads") and kept.name == "a-b.csv" and kept.read_bytes() == b"a,b\n"
    long = client.post(f"/api/uploads?name={'x' * 150}.csv", content=b"a,b\n").json()
    assert Path(long["path"]).name == f"{'x' * 96}.csv", "a long name keeps its end"


def test_a_page_that_other_machines_reach_asks_for_its_token(runs: Path) -> None:
    with TestClient(create_app([runs.parent], "0.0.0.0", "secret"), base_url=ADDRESS) as client:
        assert client.get("/api/runs").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        entered = client.get("/?token=secret", follow_redirects=False)
        assert entered.status_code == 303 and "HttpOnly" in entered.headers["set-cookie"]
        assert client.get("/api/runs").status_code == 200
    with pytest.raises(AssertionError):
        create_app([runs.parent], "0.0.0.0")


def test_requests_are_counted_and_timed_for_prometheus(client: TestClient) -> None:
    for path in ("digest", "digest", "none"):
        client.get(f"/api/runs/{path}")
    lines = client.get("/metrics").text.splitlines()
    name = 'http_requests_total{handler="/api/runs/{id}",method="GET",status='
    assert {f'{name}"2xx"}} 2.0', f'{name}"4xx"}} 1.0'} <= {*lines}


def test_a_specification_is_checked_while_it_is_written(client: TestClient, runs: Path) -> None:
    activity = Path(__file__).parents[1] / "features/checks/activity"
    shutil.copy(activity / "dfr.yaml", runs.parent / "dfr.yaml")
    text = (activity / "fsc.yaml").read_text("utf-8")
    given = {"kind": "fsc", "text": text, "registry": "dfr.yaml"}
    assert client.post("/api/check", json=given).json() == []
    wrong = client.post("/api/check", json={**given, "text": text.replace("orders", "ordrs", 1)}).json()
    assert wrong and wrong[0]["line"] and "orders" in f"{wrong[0]['remedy']}{wrong[0]['message']}{wrong[0]['nearest']}"
    assert client.get("/api/schemas/fsc").json()["title"] == "Feature specification"
    assert "target" in client.get("/api/schemas/task").json()["properties"]


def test_a_run_that_cannot_begin_says_why(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(environment="topology", arguments={"topology": "/nowhere.yaml"})
    monkeypatch.setattr(documents, "job_of", lambda *_: (new_run_folder("nowhere"), job))
    started = client.post("/api/runs", json={"environment": "automl", "given": {}}).json()
    run = wait(lambda: (found := client.get(f"/api/runs/{started['id']}").json())["status"] == "refused" and found)
    assert "/nowhere.yaml" in str(run["error"])


def test_what_an_actor_prints_is_no_reply_of_its_process(
    client: TestClient, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (runs.parent / "own/own_actors.py").open("a", encoding="utf-8") as file:
        file.write("\nprint('hello')\n")
    given = {"topology": str(runs.parent / "own/digest.yaml"), "given": {"text": "- one\n"}}
    job = Job(environment="topology", arguments=given)
    monkeypatch.setattr(documents, "job_of", lambda *_: (new_run_folder("prints"), job))
    started = client.post("/api/runs", json={"environment": "automl", "given": {}}).json()
    assert wait(lambda: client.post(f"/api/runs/{started['id']}/resume", json={}).status_code == 200)
