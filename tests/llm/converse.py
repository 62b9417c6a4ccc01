"""Bedrock Converse: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"""

import re

import server as s
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from protocols import KEY, TAKEN, TOLD, Asked, Protocol, Stop, told

BEDROCK_MODEL = "us.anthropic.claude-sonnet-5-v1:0"


def bedrock_body(text: str, stop: Stop) -> Asked:
    reason = {"stop": "end_turn", "length": "max_tokens", "refused": "guardrail_intervened"}[stop]
    return bedrock_message([{"text": text}], reason)


def bedrock_message(content: list[Asked], reason: str) -> Asked:
    usage = {"inputTokens": TOLD, "outputTokens": TAKEN, "totalTokens": TOLD + TAKEN}
    message = {"role": "assistant", "content": content}
    return {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 12}}


def bedrock_misfit(handler: s.Handler, asked: Asked) -> str:
    roles = [message.get("role") for message in asked.get("messages", [])]
    path = rf"/model/{BEDROCK_MODEL.replace(':', '(:|%3A)')}/converse(-stream)?"
    return told(
        (re.fullmatch(path, handler.path) is not None, "not converse"),
        (_signed(handler), "the signature does not fit"),
        (set(roles) <= {"user", "assistant"} and roles[:1] == ["user"], f"roles {roles}"),
        ("maxTokens" in asked.get("inferenceConfig", {}), "no limit"),
    )


def _signed(handler: s.Handler) -> bool:
    """Whether the request carries the signature (version 4) that the planted secret makes."""
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKIDPLANTED/\d{8}/us-east-1/bedrock/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        handler.headers["Authorization"] or "",
    )
    if match is None:
        return False
    signed = {name: handler.headers[name] for name in match[1].split(";")}
    url = f"http://{handler.headers['Host']}{handler.path}"
    request = AWSRequest("POST", url, data=handler.server.raw, headers=signed)
    request.context["timestamp"] = handler.headers["X-Amz-Date"]
    signer = SigV4Auth(Credentials("AKIDPLANTED", KEY), "bedrock", "us-east-1")
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request) == match[2]


BEDROCK_TYPES = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}

BEDROCK = Protocol(
    f"bedrock:{BEDROCK_MODEL}",
    lambda url: {
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
        "AWS_ACCESS_KEY_ID": "AKIDPLANTED",
        "AWS_SECRET_ACCESS_KEY": KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    },
    bedrock_misfit,
    bedrock_body,
    lambda status, message: {"message": message},
    {status: {"x_amzn_errortype": name} for status, name in BEDROCK_TYPES.items()},
)
