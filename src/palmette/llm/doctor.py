"""Tests a model with one cheap call and a few cheaper ones: what works, how fast, and at what cost.

Palmette needs only plain answers; the other probes show what else the endpoint supports.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from palmette.engine import Spend
from palmette.llm.answers import Answer, BadAnswer, Python, describe, read_answer
from palmette.llm.api import ApiProvider, wait_for
from palmette.llm.messages import Message, Prompt, Reply, Settings
from palmette.llm.opening import BUILT_IN, open_provider
from palmette.llm.secrets import hider, load_secrets

MOST = 400
"""Maximum tokens per answer."""


class Probe(NamedTuple):
    """One capability and whether it works."""

    name: str
    ok: bool
    found: str
    needed: bool = False
    """Whether palmette depends on it."""


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
    hide = hider()
    provider = open_provider(name, Path.cwd(), hide)
    settings = Settings(max_tokens=MOST, timeout=60)
    prompt = Prompt(
        role="doctor",
        messages=(
            Message(speaker="system", text=f"Answer exactly in the form that is asked for.\n\n{describe(_Sum)}"),
            Message(speaker="user", text="What is 17 + 25? Give the sum, and a script that prints it."),
        ),
    )
    begun = time.monotonic()
    reply = provider.reply(prompt, settings)
    seconds = time.monotonic() - begun
    probes = [Probe("answer", True, f"{reply.output_tokens} tokens in {seconds:.1f} s", needed=True), _form(reply)]
    if isinstance(provider, ApiProvider):
        probes += [_context(provider), *_features(provider, hide)]
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


def _context(provider: ApiProvider) -> Probe:
    window = provider.context_window
    return Probe("context", window is not None, f"{window} tokens" if window else "its length is not known")


def _features(provider: ApiProvider, hide: Callable[[str], str]) -> list[Probe]:
    """Tools, structured output and streaming, with a few tokens each; all are optional."""
    probes = []
    for name, attempt in (("tools", _tools), ("structured output", _structured), ("streaming", _streaming)):
        try:
            found = wait_for(asyncio.wait_for(attempt(provider), 60))
            probes.append(Probe(name, bool(found), found or "not used by the model"))
        except Exception as error:  # noqa: BLE001 - the boundary to the library: whatever it raises, the feature does not work
            probes.append(Probe(name, False, hide(" ".join(str(error).split())[:200]) or type(error).__name__))
    return probes


async def _tools(provider: ApiProvider) -> str:
    from pydantic_ai import Agent

    called: list[int] = []
    agent = Agent(provider.api, model_settings={"max_tokens": MOST, "max_retries": 0}, retries=0)

    @agent.tool_plain
    def double(number: int) -> int:
        """Doubles a number."""
        called.append(number)
        return 2 * number

    async with provider.api:
        await agent.run("Double 21 with the tool.")
    return "a tool was called" if called else ""


async def _structured(provider: ApiProvider) -> str:
    from pydantic_ai import Agent, NativeOutput

    agent = Agent(
        provider.api,
        output_type=NativeOutput(Colour),
        model_settings={"max_tokens": MOST, "max_retries": 0},
        retries=0,
    )
    async with provider.api:
        await agent.run("Name a colour.")
    return "follows a JSON Schema"


async def _streaming(provider: ApiProvider) -> str:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest

    async with provider.api:
        request = [ModelRequest.user_text_prompt("Count from 1 to 5.")]
        async with model_request_stream(provider.api, request, model_settings={"max_tokens": 50}) as stream:
            parts = [event async for event in stream]
    return f"{len(parts)} parts" if parts else ""


class Colour(Answer):
    """Answer type for the structured-output probe."""

    colour: str
    """Name of the colour."""
