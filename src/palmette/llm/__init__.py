"""Language models: typed tasks, prompts, providers, recordings. One path for every model, and for none.

Reading order: `messages` (what goes to a model and comes back), `answers` (text into a typed answer),
`context` (what a model is shown), `answerer` (asking, within the budget), `agent` (a task that a model or the built-in
rules answer), `opening` (which model in which role), and where replies come from: `api`, `relay`,
`cassette`. Beside them: `telemetry`, a run as spans.
"""

from palmette.llm.agent import Agent
from palmette.llm.answerer import OFFLINE, Answerer, AnswerError, Models
from palmette.llm.answers import Answer, BadAnswer, CodeField, Python, Sql, Yaml, describe, read_answer
from palmette.llm.context import NEEDED, Section, fenced, pack, section
from palmette.llm.messages import Message, Prompt, Provider, Reply, Settings

__all__ = [
    "NEEDED", "OFFLINE", "Agent", "Answer", "AnswerError", "Answerer", "BadAnswer", "CodeField", "Message", "Models",
    "Prompt", "Provider", "Python", "Reply", "Section", "Settings", "Sql", "Yaml", "describe", "fenced", "pack",
    "read_answer", "section",
]  # fmt: skip
