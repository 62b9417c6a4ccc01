"""Who asks, as far as the words tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palmette.automl.requirements.model import UserPart
from palmette.automl.requirements.text import Text
from palmette.automl.requirements.vocabulary import Mention

_LOW = re.compile(
    r"\b(?:no expert|not an? expert|not (?:very )?technical|beginner|newbie|"
    r"new to (?:this|ml|ai|machine|data)|know (?:nothing|little|not much)|"
    r"don't know (?:much|anything)|layman|lay person|"
    r"no (?:idea|experience|background|knowledge)|non-?technical|never done)\b",
    re.I,
)
_HIGH = re.compile(
    r"\b(?:hyper-?param\w+|cross-?validat\w+|fine-?tun\w+|transfer learning|"
    r"learning rate|"
    r"regulari[sz]\w+|optimi[sz]er|loss function|embeddings?|batch size|epochs?|"
    r"early stopping|out-of-fold|"
    r"stratif\w+|stack(?:ing|ed)|architecture|augmentation|log loss|auprc|mcc|"
    r"quadratic)\b",
    re.I,
)


def user_of(text: Text, named: Sequence[Mention]) -> UserPart:
    """How much they know of models.

    Args:
        named: Mentions of algorithms.
    """
    if _LOW.search(text.plain):
        return UserPart(expertise="low")
    known = {*_HIGH.findall(text.plain), *(one.name for one in named)}
    return UserPart(expertise="high" if len(known) >= 3 else "medium")
