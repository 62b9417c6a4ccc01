"""Instruction data: labels that are right by construction, splits that share no phrasing, the measure, and training."""

import json
from pathlib import Path

import pytest
from canned import Canned, models

from palmette.automl.actors.requirement_parser.actor import ParserInput, RequirementParser
from palmette.automl.task_spec.request import Request
from palmette.automl.task_spec.spec import TaskSpec
from palmette.automl.tuning.instructions import Pair, by_model, by_rules, evaluate, grammar, pairs, write
from palmette.automl.tuning.trajectories import scrubbed
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


def test_secrets_leave_no_trace() -> None:
    assert scrubbed("Bearer abcdefgh12345 https://ada:pw@host/x") == "Bearer [secret] https://[secret]@host/x"


@pytest.mark.filterwarnings("ignore")  # of trl and transformers about each other
def test_a_tiny_model_is_trained_merged_and_asked(tmp_path: Path) -> None:
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
