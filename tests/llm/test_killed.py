"""A run with a model survives `kill -9` at every event; no answer that is in the journal is asked for again.

Of a call in which the process was killed it is told that nobody knows whether it was paid for.
"""

import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import server as s
from canned import code
from test_agent import script, setup
from test_kill import in_child, killing
from test_misbehaviour import GOOD, MODEL, _setup

from palmette.engine import Journal, RunBudget, read_journal, resume_run, run_state, run_topology
from palmette.engine.events import LOST, CallFailed
from palmette.llm import Prompt, Reply, Settings, api
from palmette.llm.opening import ModelChoice, open_models


class Logging:
    """First something unusable, then something wrong, then what is right; logs what it is asked."""

    name = "logging:model"

    def __init__(self, log: Path) -> None:
        self._log = log

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return 0.0

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(hashlib.sha256(prompt.model_dump_json().encode()).hexdigest() + "\n")
        text = "".join(message.text for message in prompt.messages)
        answer = code('print("hello")') if "Your last answer" in text else code('print("bye")')
        return Reply(text=answer if "could not be used" in text else "Let me think.", model=self.name)


def test_no_paid_call_is_repeated(tmp_path: Path) -> None:
    log = tmp_path / "undisturbed.log"
    run_topology(setup(Logging(log)), tmp_path / "undisturbed")
    asked = log.read_text("utf-8").split()
    assert len(asked) == len(set(asked)) == 4
    killed = 0
    for at in range(1, 50):
        folder, log = tmp_path / f"{at}", tmp_path / f"{at}.log"

        def work(folder: Path = folder, log: Path = log, at: int = at) -> None:
            killing(Journal, "append", at, before=False)
            run_topology(setup(Logging(log)), folder)

        status = in_child(work)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1
        result = resume_run(folder, setup=setup(Logging(log)))
        assert script(result) == 'print("hello")\n'
        assert log.read_text("utf-8").split() == asked, f"killed at {at}"
        assert run_state(folder).spent.spend.calls == 4
    assert killed > 8


def lost(folder: Path) -> list[str]:
    found = [entry.event for entry in read_journal(folder, "call_failed")]
    return [event.role for event in found if isinstance(event, CallFailed) and event.code == LOST]


def dies(pid: list[int]) -> s.Behaviour:
    """Half of an answer, in which whoever asked is killed."""

    def behave(handler: s.Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"id": "x", ')
        os.kill(pid.pop(), signal.SIGKILL)

    return behave


KILLS: dict[str, tuple[Callable[[], None], int, list[str]]] = {
    "before it is asked": (lambda: killing(api.ApiProvider, "reply", 1, before=True), 0, ["writer"]),
    "while the answer comes": (lambda: None, 1, ["writer"]),
    "before the answer is kept": (lambda: killing(api.ApiProvider, "reply", 1, before=False), 1, ["writer"]),
    "after the answer is kept": (lambda: killing(Journal, "append", 5, before=False), 1, []),
}


@pytest.mark.parametrize("moment", KILLS)
def test_a_call_in_which_the_run_was_killed_is_told(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, asked, told = KILLS[moment]
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "none")
    folder, pid, pipe = tmp_path / "run", list[int](), os.pipe()

    def work() -> None:
        api._made_loop.cache_clear()  # its thread is not here
        os.write(pipe[1], str(os.getpid()).encode())
        prepare()
        run_topology(_setup(open_models(ModelChoice(model=MODEL), folder), RunBudget()), folder)

    def answers(handler: s.Handler) -> None:
        pid.append(int(os.read(pipe[0], 20)))
        (dies(pid) if moment == "while the answer comes" else s.answers(GOOD))(handler)

    with s.serving(answers, s.answers(GOOD)) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        models = open_models(ModelChoice(model=MODEL), folder)
        assert in_child(work) == -signal.SIGKILL
        assert len(server.asked) == asked
        if not asked:
            os.read(pipe[0], 20)
            server.behaviours = [s.answers(GOOD)]
        assert script(resume_run(folder, setup=_setup(models, RunBudget()))) == 'print("hello")\n'
        assert len(server.asked) == asked + len(told), "what was kept is not asked again"
        assert lost(folder) == told and run_state(folder).spent.spend.calls == 1
        resume_run(folder, setup=_setup(models, RunBudget()))
    assert lost(folder) == told and not list((folder / "objects").glob(".*")), "told once"
    os.close(pipe[0])
    os.close(pipe[1])
