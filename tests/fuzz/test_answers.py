"""Answers of models, recordings, secrets files: whatever comes is read, or what is wrong with it is said."""

import json
from typing import Any

import pytest
from holds import DEEP, HOSTILE, damaged, fuzzed, outcome, values
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from palmette.features.words.reader import WordsAnswer
from palmette.llm import Answer, BadAnswer, Python, Yaml, read_answer
from palmette.llm.api import price_of
from palmette.llm.cassette import Cassette, RecordedCall, read_cassette
from palmette.llm.messages import Message, Reply
from palmette.llm.secrets import load_secrets


class Anything(Answer):
    """Fields of every kind."""

    name: str
    size: float = 0
    many: dict[str, Any] = Field(default_factory=dict)
    script: Python = ""
    config: Yaml = ""


GOOD = """\
Here is what I would do:

```json
{"name": "a", "size": 1.5, "many": {"b": [1, null, "c"]}}
```

```python script
def f(x):
    return {"a": x}
```

```yaml config
a: {b: [1, 2]}
```
"""
COUNT = {"function": "count", "source": "orders", "where": "x = 1", "window": "7d"}
WORDS = json.dumps({"features": [{"name": "a", "aggregate": COUNT}]})


def read(text: str, answer: type[Answer] = Anything) -> Answer | BadAnswer:
    """What is made of a reply; an answer can be kept, and what is wrong is said."""
    found = outcome(lambda: read_answer(Reply(text=text, model="m"), answer))
    assert isinstance(found, Answer | BadAnswer)
    if isinstance(found, BadAnswer):
        assert found.code.startswith("answer-") and found.message
    else:
        json.dumps(found.model_dump(mode="json"), allow_nan=False).encode()
    return found


def test_a_good_answer_is_read() -> None:
    assert isinstance(read(GOOD), Anything) and isinstance(read(WORDS, WordsAnswer), WordsAnswer)


@fuzzed(100)
@given(text=st.one_of(damaged(GOOD.encode()).map(lambda data: data.decode("utf-8", "replace")), st.text(max_size=200)))
def test_any_text(text: str) -> None:
    read(text)


@fuzzed(60)
@given(value=values, key=st.sampled_from(("name", "size", "many", "script", "config", "terminate", "fix", "reason")))
def test_any_value_of_a_field(value: object, key: str) -> None:
    read(json.dumps({"name": "a", key: value}))
    read(json.dumps({"features": [{"name": "a", "derive": value}], "sources": value}), WordsAnswer)


BOMBS = {
    "half a character": '{"name": "\\ud800"}',
    "half a character, handed over": '{"terminate": "\\ud800"}',
    "a number beyond all": '{"name": "a", "size": 1e400}',
    "a number that is none": '{"name": "a", "size": NaN}',
    "a number of many digits": '{"name": "a", "size": 1' + "0" * 4000 + "}",
    "braces": "{" * DEEP,
    "objects that never end": '{"a":' * DEEP,
    "many objects that break": ('{"a":' * 300 + "x") * 30,
    "nesting": '{"name": "a", "many": ' + '{"a":' * 900 + "1" + "}" * 901,
    **{f"yaml {text[:20]}": f'{{"name": "a"}}\n```yaml config\n{text}\n```' for text in (
        "!!bool x", "!!timestamp x", '!!int ""', '"\\UFFFFFFFF"', "!!python/name:os.system", "[" * 1500, "2020-99-99",
        "a: &a [*a]",
    )},
    **{f"python {text[:20]}": f'{{"name": "a"}}\n```python script\n{text}\n```' for text in (
        "(" * 500, "1" * 5000, "not " * 20_000 + "1", "\0",
    )},
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_bad_answers(bomb: str) -> None:
    assert isinstance(read(BOMBS[bomb]), BadAnswer)


MESSAGES = (Message(speaker="user", text="c"),)
CALL = RecordedCall(actor="a", role="b", messages=MESSAGES, answer=Reply(text="d", model="e"))
CASSETTE = Cassette(calls=(CALL,)).model_dump_json()


@fuzzed(60)
@given(data=damaged(CASSETTE.encode()) | damaged(b"# keys\nexport A_KEY='b c'\nB_TOKEN=d\n"))
def test_any_recording_and_any_secrets_file(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "file"
    path.write_bytes(data)
    path.chmod(0o600)
    outcome(lambda: read_cassette(path))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PALMETTE_SECRETS", str(path))
        read: dict[str, str] = {}
        outcome(lambda: load_secrets(read))
        assert all(name.isidentifier() for name in read)


def test_no_name_of_a_model_breaks_the_price_list() -> None:
    pytest.importorskip("genai_prices", reason="palmette[llm] is not installed")
    for text in HOSTILE:
        for provider in ("openai", "bedrock", text):
            price = price_of(provider, text, 10**12, 0)
            assert price is None or price >= 0
