"""Models behind an API, through pydantic-ai: any OpenAI-compatible endpoint, Anthropic, Google, Bedrock and more.

Retries happen here and only here (the client's own are off), because retries of retries multiply: after 429, 5xx,
timeouts, dropped connections and answers that nobody can read, with backoff, and as late as `Retry-After` asks.
A call that timed out may have been billed by the provider although nothing came back; that cannot be counted.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from palmette._bounded import OversizedAnswerError
from palmette.engine import names
from palmette.errors import MachineError, ModelError, UserError, did_you_mean
from palmette.llm.messages import Prompt, Reply, Settings
from palmette.llm.text import estimate_tokens

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as ApiModel
    from pydantic_ai.settings import ModelSettings
    from tenacity import RetryCallState

T = TypeVar("T")

TRIES = 5  # of one exchange, before the provider counts as out of reach
LONGEST_WAIT = 60.0  # seconds between two tries; a provider that asks for more counts as out of reach
FIRST_WAIT = 1.0  # seconds before the second try; doubled before each further one
MOST_TOKENS = 10**9  # of one exchange; a provider that counts more has not counted them

_PASSING = frozenset({408, 409, 425, 429})  # client errors after which the same request may be answered

_EXTRAS = {"anthropic": "anthropic", "google": "google", "google-cloud": "google", "bedrock": "bedrock"}
"""The extra of palmette that a provider needs; the others need `llm`."""

_BASE_URLS = {
    "vllm": ("VLLM_BASE_URL", "http://localhost:8000/v1"),
    "ollama": ("OLLAMA_BASE_URL", "http://localhost:11434/v1"),
    "lmstudio": ("LMSTUDIO_BASE_URL", "http://localhost:1234/v1"),
    "openai-compatible": ("OPENAI_COMPATIBLE_BASE_URL", ""),
}
"""By provider: the variable with its address, and its usual address."""

LOCAL = frozenset({"vllm", "ollama", "lmstudio"})  # providers on the user's own machine, which are free

_PRICED_AS = {"openai-compatible": None, "azure": "azure", "bedrock": "aws"}
"""Providers with another name in the price list; None if the name does not determine who bills."""

_KEYS = {"lmstudio": "LMSTUDIO_API_KEY", "openai-compatible": "OPENAI_COMPATIBLE_API_KEY"}


class ApiProvider:
    """One model of one provider."""

    def __init__(self, name: str, hide: Callable[[str], str] = str) -> None:
        self.name = name
        self.provider, _, self.model = name.partition(":")
        self._hide = hide
        self.api = _model(self.provider, self.model, hide)

    @property
    def context_window(self) -> int | None:
        """Tokens that prompt and answer may have together, where that is known."""
        window: int | None = self.api.profile.get("context_window")
        return window

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return price_of(self.provider, self.model, input_tokens, output_tokens)

    def reply(self, prompt: Prompt, settings: Settings) -> Reply:
        """One exchange, tried again while that can help."""
        from pydantic_ai.exceptions import ModelAPIError
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        tries = Retrying(stop=stop_after_attempt(TRIES), wait=_wait, retry=retry_if_exception(_may_pass), reraise=True)
        try:
            return tries(self._exchange, prompt, settings)
        except _UnreadableError as error:
            raise self._error("model-unreadable", str(error), "Check the base URL and the model's name.") from error
        except ModelAPIError as error:
            raise self._error(*_explain(error, tries.statistics["attempt_number"])) from error

    def _exchange(self, prompt: Prompt, settings: Settings) -> Reply:
        from pydantic_ai.exceptions import ContentFilterError, ModelAPIError
        from pydantic_ai.settings import ModelSettings

        asked = ModelSettings(
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            timeout=settings.timeout,
            request_timeout=settings.timeout,
            max_retries=0,
        )
        try:
            response = wait_for(_request(self.api, _messages(prompt), asked))
        except ContentFilterError as error:
            return Reply(text=self._hide(str(error)), finish="refused", model=self.name)
        except Exception as error:  # clients of providers raise errors of their own on what is no answer
            for cause in _causes(error):
                if isinstance(cause, OversizedAnswerError):
                    remedy = "Check the base URL, or lower `max_tokens`."
                    raise self._error("answer-endless", f"{cause}.", remedy) from error
            if isinstance(error, ModelAPIError):
                raise
            raise _UnreadableError(f"What came back is not an answer: {_brief(error)}.") from error
        if not response.text and response.finish_reason is None:
            raise _UnreadableError("What came back is empty, without a reason.")
        return self._reply(prompt, response)

    def _reply(self, prompt: Prompt, response: ModelResponse) -> Reply:
        usage, text = response.usage, self._hide(response.text or "")
        read, written = (count if 0 < count < MOST_TOKENS else 0 for count in (usage.input_tokens, usage.output_tokens))
        cut = response.finish_reason == "length"
        declined = response.finish_reason == "content_filter"
        return Reply(
            text=text,
            finish="length" if cut else "refused" if declined else "stop",
            model=self.name,
            input_tokens=read or sum(estimate_tokens(message.text) for message in prompt.messages),
            output_tokens=written or estimate_tokens(text),
            counted=bool(read or written),
        )

    def _error(self, code: str, message: str, remedy: str) -> ModelError:
        return ModelError(self._hide(f"{self.name} gave no answer. {message}"), remedy, code=code)


class _UnreadableError(Exception):
    """Something came back that is not an answer."""


async def _request(model: ApiModel, messages: list[ModelMessage], settings: ModelSettings) -> ModelResponse:
    """Asks once; when nobody else is asking, the connections are closed."""
    from pydantic_ai.direct import model_request

    async with model:
        return await model_request(model, messages, model_settings=settings)


def _messages(prompt: Prompt) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    asked = {"system": SystemPromptPart, "user": UserPromptPart}
    return [
        ModelRequest(parts=[asked[one.speaker](content=one.text)])
        if one.speaker in asked
        else ModelResponse(parts=[TextPart(content=one.text)])
        for one in prompt.messages
    ]


def _model(provider: str, model: str, hide: Callable[[str], str]) -> ApiModel:
    """The library's model; nothing is sent yet."""
    extra = _EXTRAS.get(provider, "llm")
    install = f"Run: pip install 'palmette[{extra}]'"
    if importlib.util.find_spec("pydantic_ai") is None or importlib.util.find_spec("tenacity") is None:
        message = f"The model {provider}:{model} needs packages that are not installed."
        raise MachineError(message, install, code="no-llm")
    from httpx2 import InvalidURL
    from pydantic_ai.exceptions import UnsupportedSettingWarning, UsageExtractionFailedWarning
    from pydantic_ai.exceptions import UserError as SetupError
    from pydantic_ai.models import infer_model

    from palmette.llm.bounded import bounded

    # The library leaves out what a model does not take, e.g. a temperature, and warns of it at every call.
    warnings.simplefilter("ignore", UnsupportedSettingWarning)
    warnings.simplefilter("ignore", UsageExtractionFailedWarning)
    warnings.filterwarnings("ignore", "Sampling parameters .* are not supported")
    os.environ.setdefault("AWS_MAX_ATTEMPTS", "1")  # the only way to tell Amazon's client not to try again
    # Chat completions, which all that is compatible understands, and not OpenAI's own Responses API.
    kind = "openai-chat" if provider == "openai" else provider
    try:
        if provider in _KEYS:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            key = os.environ.get(_KEYS[provider]) or "not-needed"
            own = OpenAICompatibleProvider(provider, base_url=_base_url(provider), api_key=key)
            return bounded(OpenAIChatModel(model, provider=own))
        if provider in _BASE_URLS:
            os.environ.setdefault(_BASE_URLS[provider][0], _base_url(provider))
        return bounded(infer_model(f"{kind}:{model}"))
    except ImportError as error:
        missing, _, _ = _brief(error).partition(",")
        raise MachineError(f"The provider {provider!r} cannot be used: {missing}.", install, code="no-llm") from error
    except (ValueError, InvalidURL) as error:
        raise UserError(
            f"The model {provider}:{model} cannot be used: {hide(_brief(error))}.",
            "Check the addresses in the environment: of the base URL, and of proxies (HTTPS_PROXY, ALL_PROXY, ...).",
            code="model-setup",
        ) from error
    except SetupError as error:
        if str(error).startswith("Unknown model"):
            raise unknown_provider(provider, model) from error
        message, _, _ = hide(str(error)).partition(" or pass it via")
        message = f"The model {provider}:{model} cannot be used: {message.rstrip('.')}."
        raise UserError(message, "Set it in the environment or in the secrets file.", code="model-setup") from error


def unknown_provider(provider: str, model: str) -> UserError:
    apis = ("openai", "azure", "anthropic", "google", "bedrock", "openrouter", *_BASE_URLS)
    known = [*apis, *names("provider"), "offline"]
    message = f"There is no model provider {provider!r} (of {provider}:{model}).{did_you_mean(provider, known)}"
    return UserError(message, f"Write `provider:model`, with one of: {', '.join(known)}.", code="unknown-provider")


def _base_url(provider: str) -> str:
    variable, usual = _BASE_URLS[provider]
    url = os.environ.get(variable) or usual
    if not url:
        raise UserError(
            f"Where {provider} is, is not known.", f"Set {variable}, e.g. http://localhost:8000/v1", code="no-base-url"
        )
    return url


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may be answered later."""
    from pydantic_ai import exceptions as api

    if isinstance(error, _UnreadableError):
        return True
    if not isinstance(error, api.ModelAPIError) or (error.retry_after or 0) > LONGEST_WAIT:
        return False
    if isinstance(error, api.ModelHTTPError) and _is_refused(error.status_code):
        return False
    return not isinstance(error, api.ModelRequestRejectedError | api.ModelQuotaExceededError)


def _is_refused(status: int) -> bool:
    """Whether the same request is going to be refused again."""
    return status < 500 and status not in _PASSING


def _wait(state: RetryCallState) -> float:
    """As long as the provider asks for, else twice as long each time, with some chance in it."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    asked = getattr(error, "retry_after", None)
    if asked is not None:
        return max(0.0, float(asked))
    return float(wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)(state))


def _explain(error: Exception, tried: int) -> tuple[str, str, str]:
    """Code, message and remedy of what an API answered instead of an answer, so often."""
    from pydantic_ai import exceptions as api

    reply, often = _brief(error), f"{tried} times" if tried > 1 else "once"
    if isinstance(error, api.ModelConnectionError):
        reply = _brief(list(_causes(error))[-1])  # the libraries report only that there is no connection
    rules: tuple[tuple[type[Exception], str, str, str], ...] = (
        (api.ModelAuthenticationError, "model-key", "The key was refused", "Check the key in the environment."),
        (api.ModelNotFoundError, "model-unknown", "There is no such model", "Check its name and the base URL."),
        (api.ModelContextWindowExceededError, "prompt-too-long", "The prompt is too long", "Lower `prompt_tokens`."),
        (api.ModelQuotaExceededError, "model-quota", "The account is used up", "Look at its billing, then resume."),
        (api.ModelRateLimitError, "model-busy", f"It was busy, {often}", "Resume later."),
        (api.ModelRequestTimeout, "model-timeout", f"It took too long, {often}", "Raise `timeout`, or resume."),
        (api.ModelTimeoutError, "model-timeout", f"It took too long, {often}", "Raise `timeout`, or resume."),
        (api.ModelConnectionError, "model-unreachable", "It cannot be reached", "Check the base URL, then resume."),
        (api.ModelRequestRejectedError, "model-rejected", "It refused the request", "Check the model's settings."),
    )
    for kind, code, message, remedy in rules:
        if isinstance(error, kind):
            return code, f"{message}: {reply}.", remedy
    if isinstance(error, api.ModelHTTPError) and _is_refused(error.status_code):
        return "model-rejected", f"It refused the request: {reply}.", "Check the model's settings."
    return "model-failed", f"It failed, {often}: {reply}.", "Resume later."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what led to it, the first cause last."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _brief(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:400].rstrip(".")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, run in the one loop that all connections belong to."""
    with _one_loop:  # two loops would wait for each other's connections for ever
        loop = _made_loop()
    return asyncio.run_coroutine_threadsafe(work, loop).result()


_one_loop = threading.Lock()


@cache
def _made_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="palmette-llm", daemon=True).start()
    return loop


def price_of(provider: str, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars by the list of `genai-prices`, which works without a network; None when the model is not in it.

    >>> price_of("ollama", "qwen3", 1000, 1000)
    0.0
    >>> price_of("openai", "a-model-that-nobody-sells", 1000, 1000) is None
    True
    """
    if provider in LOCAL:
        return 0.0
    identity = _PRICED_AS.get(provider, provider)
    if identity is None:
        return None
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        return float(calc_price(usage, model, provider_id=identity).total_price)
    except LookupError:
        return None
