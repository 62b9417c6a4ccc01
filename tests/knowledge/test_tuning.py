"""Instruction data: labels that are right by construction, splits that share no phrasing, the measure, and training."""

import json
from pathlib import Path
from typing import Any

import pytest
import server as s
from canned import Canned, models
from click.testing import CliRunner

from palmette.automl.actors.requirement_parser.actor import ParserInput, RequirementParser
from palmette.automl.task_spec.request import Request
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.tuning.instructions import Pair, by_model, by_rules, evaluate, grammar, pairs, write
from palmette.automl.tuning.trajectories import scrubbed
from palmette.cli import cli
from palmette.engine import Context
from palmette.errors import UserError
from palmette.llm import Reply

MADE = pairs(40)


def test_pairs_are_different_and_the_test_shares_no_table_or_phrasing(tmp_path: Path) -> None:
    assert len({one.request for one in MADE}) == 40 and pairs(40, splits=("test",)) == MADE[9::10]
    held = [{name for group in grammar().tables[table].values() for name in group} for table in grammar().test_tables]
    assert all(({*one.data.names} in held) == (one.split == "test") for one in MADE)
    for one in (*grammar().tasks.values(), *(one for kind in grammar().wishes.values() for one in kind)):
        assert not {*one.train} & {*one.test}
    assert write(MADE, tmp_path) == {"train": 32, "validation": 4, "test": 4}
    first = json.loads((tmp_path / "train.jsonl").read_text().splitlines()[0])["messages"]
    assert [one["role"] for one in first] == ["system", "user", "assistant"]
    assert "40 pairs" in (tmp_path / "README.md").read_text()


def test_a_tuned_model_fits_the_run_that_asks_it() -> None:
    """The recorded answer, given to the actor of a run, leads to the task of the label; the prompt is the actor's."""
    pair = next(one for one in MADE if one.answer.constraints and one.answer.target)
    provider = Canned([pair.chat()["messages"][2]["content"]])
    asked = ParserInput(request=Request(text=pair.request), columns=pair.data)
    output = RequirementParser(models(provider)).run(asked, Context("requirement_parser", Path("/nowhere"))).output
    assert output is not None and output.target == pair.answer.target and output.constraints
    assert [{"role": one.speaker, "content": one.text} for one in provider.prompts[0].messages] == pair.chat()[
        "messages"
    ][:2]


def test_the_measure_is_one_for_the_labels_and_none_for_nothing() -> None:
    def label(pair: Pair) -> Reply:
        return Reply(text=pair.chat()["messages"][2]["content"], model="m")

    few = MADE[:8]
    answers = {one.request: label(one) for one in few}
    told = by_model(lambda prompt: next(a for r, a in answers.items() if f"\n{r}\n" in prompt.messages[1].text))
    assert evaluate(told, few).exact == 1
    nothing = evaluate(by_model(lambda _: Reply(text="no JSON", model="m")), few)
    assert nothing.exact == 0 and nothing.f1["all"] == 0 == evaluate(lambda _: TaskSpec(), few).exact
    rules = evaluate(by_rules, few[:4])
    assert min(rules.f1.values()) > 0.9, "the rules read what they document"


EVOLVED: tuple[dict[str, Any], ...] = (  # of the first pairs: in depth, in breadth, ...
    {
        "request": "Cluster the patients into 7 groups. No linear models, please, and at most 5 MB.",
        "problem": "clustering",
        "clusters": "7",
        "learners": [{"value": "not:linear", "words": "No linear models"}],
        "constraints": [{"value": "size<=5MB", "words": "at most 5 MB"}],
        "words": dict.fromkeys(("problem", "clusters"), "Cluster the patients into 7 groups"),
    },
    {
        "request": "How large is the area of each home? I must be able to explain it, within 5 MB.",
        "target": "area",
        "prefer": ["explainable"],
        "constraints": [{"value": "size<=5MB", "words": "within 5 MB"}],
        "words": {"target": "How large is the area", "prefer": "I must be able to explain it"},
    },
    {"request": "Forecast it.", "target": ["price"]},
    {"request": "Predict colour.", "target": "colour", "words": {"target": "Predict colour"}},
    {"request": "Predict vibration.", "target": "vibration", "words": {"target": "Predict vibration"}},
)


def test_a_model_evolves_pairs_and_refused_answers_leave_those_of_the_grammar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(out: str, *options: str) -> tuple[list[str], str]:
        ended = CliRunner().invoke(cli, ["tune", "data", str(tmp_path / out), "--pairs", "10", *options])
        assert ended.exit_code == 0, ended.output
        lines = (tmp_path / out / "train.jsonl").read_text("utf-8").splitlines()
        return lines, (tmp_path / out / "README.md").read_text("utf-8")

    grammars, _ = made("grammar")
    with s.serving(*(s.answers(f"```json\n{json.dumps(one)}\n```") for one in EVOLVED), s.answers("No.")) as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
        model = ("--model", "openai-compatible:test", "--tokens")
        stopped, card = made("stopped", *model, "1")
        assert stopped == grammars and "10 not asked for (The budget of 1 tokens" in card and not server.asked
        lines, card = made("out", *model, "400000")
        assert len(server.asked) == 10 and made("out", *model, "400000") == (lines, card), "no call is paid for twice"
        assert len(server.asked) == 10
    assert lines[2:] == grammars[2:] and len(lines) == 8
    for line, wanted in zip(lines[:2], EVOLVED[:2], strict=True):
        _, asked, answer = (one["content"] for one in json.loads(line)["messages"])
        fields = json.loads(answer.strip("`json\n"))
        assert wanted["request"] in asked and fields == {name: wanted[name] for name in wanted if name != "request"}
    told = "2 evolved, 1 answer-wrong-fields, 1 answer-impossible, 1 request-departed, 5 answer-not-json"
    assert f"openai-compatible:test: {told}." in card
    replayed = made("again", "--model", f"replay:{tmp_path / 'out/calls'}", "--tokens", "400000")[0]
    assert replayed == lines


def test_secrets_leave_no_trace() -> None:
    assert scrubbed("Bearer abcdefgh12345 https://ada:pw@host/x") == "Bearer [secret] https://[secret]@host/x"


@pytest.mark.filterwarnings("ignore")  # of trl and transformers about each other
def test_a_tiny_model_is_trained_merged_and_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl", reason="the extra tune is not installed")
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from palmette.automl.tuning.training import local_model, train

    made = MADE[:2]
    with pytest.raises(UserError, match=r"train\.jsonl"):
        train(tmp_path / "model", tmp_path / "data", tmp_path / "out", steps=1)
    write(made, tmp_path / "data")
    words = {word: number for number, word in enumerate(["<unk>", "<eos>", *"abcdefgh"])}
    by_word = Tokenizer(WordLevel(words, unk_token="<unk>"))
    by_word.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=by_word, unk_token="<unk>", eos_token="<eos>", pad_token="<eos>",
        chat_template="{% for one in messages %}{{ one.role }}: {{ one.content }}<eos>{% endfor %}",
    )  # fmt: skip
    tokenizer.save_pretrained(tmp_path / "model")
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        num_key_value_heads=1, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    losses = train(tmp_path / "model", tmp_path / "data", tmp_path / "out", steps=2, rank=2)
    assert 0 < losses["last_loss"] <= losses["first_loss"] < 10, "the answer is learnt, however long the prompt is"
    assert evaluate(by_model(local_model(tmp_path / "out")), made[:1]).exact == 0
    monkeypatch.setattr("palmette.automl.encoders.trained_networks.fastest_device", lambda: "meta")
    with pytest.raises(RuntimeError, match="meta"):
        evaluate(by_model(local_model(tmp_path / "out")), made[:1])
