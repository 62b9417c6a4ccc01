"""Chat endpoints on loopback that speak the protocols their providers publish, and hold what they are asked to them."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import server as s

KEY = "sk-planted-0123456789abcdef"
Stop = Literal["stop", "length", "refused"]
Asked = dict[str, Any]
Environment = Callable[[str], Mapping[str, str]]
TOLD, TAKEN = 100, 20
"""Tokens of every prompt and every answer."""


@dataclass(frozen=True, eq=False)
class Protocol:
    """How one provider is spoken to."""

    model: str
    """As a person names it."""
    environment: Environment
    """The variables that lead to a server at this address."""
    misfit: Callable[[s.Handler, Asked], str]
    """What is wrong with a request; empty when nothing is."""
    body: Callable[[str, Stop], Asked]
    """A whole answer."""
    error: Callable[[int, str], Asked]
    """The body of an error."""
    error_headers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def answers(self, text: str, stop: Stop = "stop") -> s.Behaviour:
        return self._held(lambda handler, asked: s.sends(self.body(text, stop))(handler))

    def fails(self, status: int, message: str = "no", **headers: str) -> s.Behaviour:
        told = {**self.error_headers.get(status, {}), **headers}
        return self._held(lambda handler, asked: s.sends(self.error(status, message), status, **told)(handler))

    def _held(self, behave: Callable[[s.Handler, Asked], None]) -> s.Behaviour:
        def held(handler: s.Handler) -> None:
            asked = handler.server.asked[-1]
            wrong = self.misfit(handler, asked)
            if wrong:
                handler.server.wrong.append(f"{handler.path}: {wrong}")
                s.sends(self.error(400, wrong), 400)(handler)
            else:
                behave(handler, asked)

        return held


def told(*rules: tuple[bool, str]) -> str:
    return "; ".join(what for holds, what in rules if not holds)


def events(named: Iterable[tuple[str, Asked]]) -> bytes:
    """Server-sent events; without a name, only data."""
    heads = [(f"event: {name}\n" if name else "", data) for name, data in named]
    return "".join(f"{head}data: {json.dumps(data)}\n\n" for head, data in heads).encode()


# OpenAI chat completions, and those who are compatible: https://platform.openai.com/docs/api-reference/chat


def chat_body(text: str, stop: Stop) -> Asked:
    finish = {"stop": "stop", "length": "length", "refused": "content_filter"}[stop]
    message = {"role": "assistant", "content": text}
    return s.completion([{"index": 0, "message": message, "finish_reason": finish}])


def openrouter_body(text: str, stop: Stop) -> Asked:
    return openrouter_head(chat_body(text, stop))


def openrouter_head(answer: Asked) -> Asked:
    """As https://openrouter.ai/docs/api-reference/overview says: who answered, and the reason in its own words."""
    choices = [{**one, "native_finish_reason": one["finish_reason"]} for one in answer["choices"]]
    return {**answer, "provider": "OpenAI", "choices": choices}


def chat(model: str, path: str, environment: Environment, key: str = "Authorization") -> Protocol:
    def misfit(handler: s.Handler, asked: Asked) -> str:
        roles = [message.get("role") for message in asked.get("messages", [])]
        return told(
            (re.fullmatch(path, handler.path) is not None, f"not {path}"),
            (handler.headers[key] in (KEY, f"Bearer {KEY}"), f"no key in {key}"),
            (asked.get("model") == model.partition(":")[2], "another model"),
            (set(roles) <= {"system", "developer", "user", "assistant", "tool"} and bool(roles), f"roles {roles}"),
            (isinstance(asked.get("max_tokens", asked.get("max_completion_tokens")), int), "no limit"),
        )

    def error(status: int, message: str) -> Asked:
        return {"error": {"message": message, "type": "error", "param": None, "code": None}}

    return Protocol(model, environment, misfit, chat_body, error)


# Anthropic Messages: https://docs.anthropic.com/en/api/messages


def anthropic_body(text: str, stop: Stop) -> Asked:
    reason = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}[stop]
    return anthropic_message([{"type": "text", "text": text}], reason)


def anthropic_message(content: list[Asked], reason: str | None) -> Asked:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": TOLD, "output_tokens": TAKEN},
    }


def anthropic_misfit(handler: s.Handler, asked: Asked) -> str:
    roles = [message.get("role") for message in asked.get("messages", [])]
    return told(
        (handler.path.partition("?")[0] == "/v1/messages", "not /v1/messages"),
        (KEY in (handler.headers["x-api-key"], (handler.headers["Authorization"] or "")[len("Bearer ") :]), "no key"),
        (re.fullmatch(r"20\d\d-\d\d-\d\d", handler.headers["anthropic-version"] or "") is not None, "no version"),
        (asked.get("model") == "claude-sonnet-5", "another model"),
        (isinstance(asked.get("max_tokens"), int), "max_tokens is required"),
        (set(roles) <= {"user", "assistant"} and roles[:1] == ["user"], f"roles {roles}"),
        (0 <= asked.get("temperature", 1) <= 1, "temperature is from 0 to 1"),
    )


ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}

ANTHROPIC = Protocol(
    "anthropic:claude-sonnet-5",
    lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY},
    anthropic_misfit,
    anthropic_body,
    lambda status, message: {
        "type": "error",
        "error": {"type": ANTHROPIC_TYPES.get(status, "api_error"), "message": message},
    },
)

# Gemini generateContent: https://ai.google.dev/api/generate-content


def google_body(text: str, stop: Stop) -> Asked:
    if stop == "refused":
        return {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": TOLD}}
    return google_candidate([{"text": text}], {"stop": "STOP", "length": "MAX_TOKENS"}[stop])


def google_candidate(parts: list[Asked], finish: str | None) -> Asked:
    reason = {"finishReason": finish} if finish else {}
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **reason}
    usage = {"promptTokenCount": TOLD, "candidatesTokenCount": TAKEN, "totalTokenCount": TOLD + TAKEN}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash", "responseId": "r1"}


def google_misfit(handler: s.Handler, asked: Asked) -> str:
    roles = [content.get("role") for content in asked.get("contents", [])]
    path = r"/v1beta/models/gemini-2\.5-flash:(generateContent|streamGenerateContent\?alt=sse)"
    return told(
        (re.fullmatch(path, handler.path) is not None, "not generateContent"),
        (handler.headers["x-goog-api-key"] == KEY, "no key in x-goog-api-key"),
        (set(roles) <= {"user", "model"} and roles[:1] == ["user"], f"roles {roles}"),
        ("maxOutputTokens" in asked.get("generationConfig", {}), "no limit"),
    )


GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def google_error(status: int, message: str) -> Asked:
    return {"error": {"code": status, "message": message, "status": GOOGLE_STATUSES.get(status, "UNKNOWN")}}


GOOGLE = Protocol(
    "google:gemini-2.5-flash",
    lambda url: {"GOOGLE_GEMINI_BASE_URL": url, "GOOGLE_API_KEY": KEY},
    google_misfit,
    google_body,
    google_error,
)

OPENAI = chat(
    "openai:gpt-4o-mini",
    "/v1/chat/completions",
    lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY},
)
AZURE = chat(
    "azure:gpt-4o-mini",
    r"/openai/deployments/gpt-4o-mini/chat/completions\?api-version=2024-10-21",
    lambda url: {
        "AZURE_OPENAI_ENDPOINT": url,
        "AZURE_OPENAI_API_KEY": KEY,
        "OPENAI_API_VERSION": "2024-10-21",
    },
    key="api-key",
)
OLLAMA = chat(
    "ollama:qwen3", "/v1/chat/completions", lambda url: {"OLLAMA_BASE_URL": f"{url}/v1", "OLLAMA_API_KEY": KEY}
)
COMPATIBLE = chat(
    "openai-compatible:m",
    "/v1/chat/completions",
    lambda url: {"OPENAI_COMPATIBLE_BASE_URL": f"{url}/v1", "OPENAI_COMPATIBLE_API_KEY": KEY},
)
VLLM = chat("vllm:m", "/v1/chat/completions", lambda url: {"VLLM_BASE_URL": f"{url}/v1", "VLLM_API_KEY": KEY})
LMSTUDIO = chat(
    "lmstudio:m", "/v1/chat/completions", lambda url: {"LMSTUDIO_BASE_URL": f"{url}/v1", "LMSTUDIO_API_KEY": KEY}
)
OPENROUTER = replace(
    chat("openrouter:openai/gpt-4o-mini", "/api/v1/chat/completions", lambda url: {"OPENROUTER_API_KEY": KEY}),
    body=openrouter_body,
)
