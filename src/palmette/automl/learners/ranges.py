"""Settings of learners: their values, how to search them, and how prompts describe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from palmette.automl.candidates import Setting

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Range:
    """The values of a setting: from `low` to `high`, or one of `values`."""

    low: float = 0.0
    high: float = 0.0
    default: Setting = None
    note: str = ""
    log: bool = False
    """Whether to search on a logarithmic scale."""
    whole: bool = False
    values: tuple[Setting, ...] = ()
    searched: bool = True

    def suggest(self, trial: optuna.Trial, name: str) -> Setting:
        """Suggests a value to try."""
        if self.values:
            chosen: Setting = trial.suggest_categorical(name, list(self.values))
            return chosen
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high), log=self.log)
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def objection(self, setting: Setting) -> str:
        """Explains why a value is not accepted; empty if it is. Numbers outside of the searched range are accepted."""
        if self.values:
            right = setting in self.values
        else:
            number = isinstance(setting, int | float) and not isinstance(setting, bool) and setting >= min(0, self.low)
            right = number and (not self.whole or setting == int(setting))  # type: ignore[arg-type]  # a number
        return "" if right else f"is {setting!r}, not {self}"

    def __str__(self) -> str:
        kind = "whole number" if self.whole else "number"
        values = f"one of {', '.join(map(repr, self.values))}"
        usual = "" if self.default is None else f", default {self.default!r}"
        what = values if self.values else f"{kind} from {self.low:g} to {self.high:g}"
        return f"{what}{usual}{': ' if self.note else ''}{self.note}"


def whole(low: int, high: int, default: Setting = None, note: str = "", log: bool = False) -> Range:
    """Returns the range of a whole number."""
    return Range(low, high, default, note, log, whole=True)


def choice(*values: Setting, default: Setting = None, note: str = "", searched: bool = True) -> Range:
    """Returns a choice between a few values."""
    return Range(values=values, default=default, note=note, searched=searched)
