"""The page in a real browser: by mouse and keyboard, on a desk and on a phone, with hostile names."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from canned import Canned, code
from test_agent import GOOD, setup
from web_samples import question_actor

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from palmette.engine import Journal, read_journal, run_environment, run_topology
from palmette.engine.events import RunEnded, RunResumed
from palmette.web.app import create_app

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def address(runs: Path) -> Iterator[str]:
    """A server over the folder of runs."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app([runs.parent]), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/"
    server.force_exit = server.should_exit = True
    thread.join(5)


@pytest.fixture(params=[(1280, 860, "light"), (390, 844, "dark")], ids=["desk", "phone"])
def page(browser: Browser, request: pytest.FixtureRequest, address: str) -> Iterator[Page]:
    width, height, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(10_000)
    said: list[str] = []
    page.on(
        "console",
        lambda one: said.append(one.text) if one.type in {"error", "warning"} and " 422 " not in one.text else None,
    )
    page.on("pageerror", lambda one: said.append(str(one)))
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    assert not page.evaluate("window.hacked") and said == []
    page.close()


def test_a_run_is_found_read_edited_and_resumed(page: Page, address: str, runs: Path) -> None:
    page.goto(address)
    page.keyboard.press("/")
    page.keyboard.type("digest")
    page.get_by_role("link", name="digest").click()
    page.get_by_role("heading", name="digest", level=1).wait_for()
    assert page.locator(".steps > li").count() == 6
    page.get_by_role("tab", name="Steps").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="chosen version").click()
    page.get_by_role("button", name="Edit", exact=True).click()
    field = page.get_by_label("value.json")
    field.fill('{"entries": 3}')
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").wait_for()
    field.fill(f'{{"entries": ["Breaking: {HOSTILE}"]}}')
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Resume with edits").click()
    page.get_by_text("by write digest").wait_for()
    page.get_by_role("button", name="digest version 2").wait_for(timeout=15000)
    page.get_by_role("button", name="digest version 2").click()
    page.locator("pre", has_text=HOSTILE).wait_for()


def test_questions_of_a_running_run_are_answered(page: Page, address: str, runs: Path, tmp_path: Path) -> None:
    given: dict[str, Any] = question_actor(tmp_path / "asking", "web", ["a", HOSTILE])
    worker = threading.Thread(target=run_environment, args=("topology", given, runs / "asking"))
    worker.start()
    while not (runs / "asking" / "journal.sqlite").exists():
        time.sleep(0.02)
    page.goto(f"{address}#/run/asking")
    page.get_by_text(f"Which colour for {HOSTILE}?").wait_for()
    cards = page.locator("form.question")
    for number in (1, 2):
        card = cards.first
        card.get_by_label("Your answer").fill(f"blue {number}")
        card.get_by_role("button", name="Answer").click()
        cards.nth(2 - number).wait_for(state="detached")
    worker.join(10)
    page.locator(".titled .pill", has_text="finished").wait_for()
    assert len(read_journal(runs / "asking", "human_answered")) == 2


def test_attempts_are_compared_and_calls_of_models_read(page: Page, address: str, runs: Path) -> None:
    run_topology(setup(Canned([code(f"print('{HOSTILE}')"), GOOD])), runs / "words")
    page.goto(f"{address}#/run/words")
    page.get_by_text("2 attempts").click()
    page.get_by_role("button", name="What it changed").click()
    page.locator(".diff .plus", has_text="hello").wait_for()
    with Journal(runs / "words") as journal:
        journal.append(RunResumed(version="0"), RunEnded(status="stopped", reason="on request"))
    page.get_by_text("on request").wait_for()
    page.locator(".diff .plus", has_text="hello").wait_for()
    page.get_by_role("tab", name="Model calls").click()
    page.get_by_role("button", name="Call 1").click()
    page.locator("pre", has_text=HOSTILE).wait_for()


def test_a_specification_is_completed_and_checked(browser: Browser, address: str, runs: Path) -> None:
    activity = Path(__file__).parents[1] / "features/checks/activity"
    for name in ("fsc.yaml", "dfr.yaml"):
        shutil.copy(activity / name, runs.parent / name)
    lines = ["run: 1", "fsc: fsc.yaml", "dfr: dfr.yaml", "repository: {path: .}", "output: {path: out}", ""]
    (runs.parent / "run.yaml").write_text("\n".join(lines), "utf-8")
    page = browser.new_page()
    page.goto(f"{address}#/start/features")
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("button", name="run.yaml").click()
    page.get_by_text("The specification fits the registry").wait_for()
    field = page.get_by_label("Feature specification")
    field.press("Control+End")
    field.type("\nfeatures2: []\nout")
    page.get_by_role("option", name="output").click()
    assert field.input_value().endswith("output: ")
    page.get_by_role("button", name="line").first.wait_for()
    assert page.locator(".gutter .bad").count() > 0
    page.close()
