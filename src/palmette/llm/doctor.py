"""Tests a model with one cheap call: whether its answer can be read, how fast it is, and at what cost."""

import time
from pathlib import Path
from typing import NamedTuple

from palmette.engine import Spend
from palmette.llm.answers import Answer, BadAnswer, Python, describe, read_answer
from palmette.llm.api import ApiProvider
from palmette.llm.messages import Message, Prompt, Reply, Settings
from palmette.llm.opening import BUILT_IN, open_provider
from palmette.llm.secrets import hider, load_secrets

MOST = 400  # maximum tokens per answer


class Probe(NamedTuple):
    """One capability and whether it works."""

    name: str
    ok: bool
    found: str
    needed: bool = False  # whether palmette depends on it


class Examined(NamedTuple):
    """Result of the examination."""

    probes: tuple[Probe, ...]
    spend: Spend


class _Sum(Answer):
    """The expected answer."""

    total: int
    """17 + 25."""
    script: Python
    """A script that prints this sum."""


def examine(name: str) -> Examined:
    """Tests `provider:name`.

    Raises:
        ModelError: it did not answer at all.
        UserError: it cannot be set up, e.g. without a key.
    """
    if name == BUILT_IN:
        return Examined((Probe("answer", True, "by the built-in rules: no key, no network, no cost"),), Spend())
    load_secrets()
    provider = open_provider(name, Path.cwd(), hider())
    settings = Settings(max_tokens=MOST, timeout=60)
    form = f"Answer exactly in the form that is asked for.\n\n{describe(_Sum)}"
    sum_ = Message(speaker="user", text="What is 17 + 25? Give the sum, and a script that prints it.")
    prompt = Prompt(role="doctor", messages=(Message(speaker="system", text=form), sum_))
    begun = time.monotonic()
    reply = provider.reply(prompt, settings)
    seconds = time.monotonic() - begun
    probes = [Probe("answer", True, f"{reply.output_tokens} tokens in {seconds:.1f} s", needed=True), _form(reply)]
    if isinstance(provider, ApiProvider):
        window = provider.context_window
        probes.append(Probe("context", window is not None, f"{window} tokens" if window else "its length is not known"))
    price = provider.price(reply.input_tokens, reply.output_tokens)
    counted = "are counted by the endpoint" if reply.counted else "are not counted by it: budgets go by estimates"
    probes.append(Probe("tokens", reply.counted, counted))
    return Examined(tuple(probes), reply.spend(price))


def _form(reply: Reply) -> Probe:
    found = read_answer(reply, _Sum)
    if isinstance(found, BadAnswer):
        return Probe("form", False, found.message, needed=True)
    right = isinstance(found, _Sum) and found.total == 42
    return Probe("form", right, "an object and a code block, both read" if right else "42 was asked for", needed=True)
