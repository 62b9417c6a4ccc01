"""A run with a model survives `kill -9` at every event; no answer that is in the journal is asked for again."""

from __future__ import annotations

import hashlib
import signal
from pathlib import Path

from canned import code
from test_agent import script, setup
from test_kill import in_child, killing

from palmette.engine import Journal, resume_run, run_state, run_topology
from palmette.llm import Prompt, Reply, Settings


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
