"""LoRA training of a model in a local folder on chat lines, and its answers to requests. Needs `palmette[tune]`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palmette.errors import UserError, missing_extra
from palmette.llm import Prompt, Reply

LONGEST = 400  # tokens of an answer


def examples(data: Path) -> list[dict[str, Any]]:
    """Prompts and answers of `train.jsonl`, and of `trajectories.jsonl` where there is one."""
    first, *more = (data / "train.jsonl", data / "trajectories.jsonl")
    if not first.is_file():
        message = f"{str(data)!r} holds no {first.name}."
        raise UserError(message, "Write it with `palmette tune data`.", code="no-training-data")
    lines = (line for one in (first, *more) if one.is_file() for line in one.read_text("utf-8").splitlines())
    chats = (json.loads(line)["messages"] for line in lines)
    return [{"prompt": turns[:-1], "completion": turns[-1:]} for turns in chats]


def train(model: Path, data: Path, out: Path, steps: int, rank: int = 16) -> dict[str, float]:
    """Trains adapters on `examples`, merges them into a copy of the model in `out`; returns first and last loss."""
    made = examples(data)
    try:
        tokenizer, network = _opened(model)

        from datasets import Dataset
        from peft import LoraConfig
        from trl import SFTConfig, SFTTrainer

        from palmette.automl.encoders.trained_networks import fastest_device
    except ImportError as error:
        raise missing_extra(error, "tune") or error from error
    trainer = SFTTrainer(
        model=network,
        args=SFTConfig(
            output_dir=str(out / "checkpoints"), max_steps=steps, per_device_train_batch_size=4, report_to="none",
            use_cpu=fastest_device() == "cpu", bf16=fastest_device() == "cuda",
            save_strategy="no", logging_steps=max(steps // 10, 1), seed=0,
            max_length=None,  # prompts are long, and the answer is at their end
            learning_rate=2e-4,  # adapters need about ten times the rate of whole models
        ),
        train_dataset=Dataset.from_list(made),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.train()
    trainer.model.merge_and_unload().save_pretrained(out)
    tokenizer.save_pretrained(out)
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    return {"first_loss": losses[0], "last_loss": losses[-1]}


def local_model(folder: Path) -> Callable[[Prompt], Reply]:
    """A model in a folder, asked in this process; its answers are cut off at `LONGEST` tokens."""
    tokenizer, network = _opened(folder)

    from palmette.automl.encoders.trained_networks import fastest_device

    network.to(fastest_device())

    def ask(prompt: Prompt) -> Reply:
        asked = tokenizer.apply_chat_template(
            [{"role": one.speaker, "content": one.text} for one in prompt.messages],
            add_generation_prompt=True, return_tensors="pt", return_dict=True,
        )  # fmt: skip
        made = network.generate(**asked.to(network.device), max_new_tokens=LONGEST, do_sample=False)
        text = tokenizer.decode(made[0][asked["input_ids"].shape[1] :], skip_special_tokens=True)
        return Reply(text=text, model=str(folder))

    return ask


def _opened(model: Path) -> tuple[Any, Any]:
    """Returns the tokenizer and the network in a folder; code in the folder is never run."""
    if not (model / "config.json").is_file():
        message = f"{str(model)!r} holds no model: there is no config.json."
        raise UserError(message, "Name a folder as the Hugging Face hub lays it out.", code="no-model")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    safe = {"local_files_only": True, "trust_remote_code": False}
    network = AutoModelForCausalLM.from_pretrained(model, **safe, use_safetensors=True)
    return AutoTokenizer.from_pretrained(model, **safe), network
