"""Formats numbers and names consistently on the screen and in the report."""

import math
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from palmette.automl.task_spec.spec import Constraint
from palmette.documents import read_plain
from palmette.engine import Spend

LONGEST = 64  # most characters shown of a name; the full name is in its title
FEWEST_DECIMALS, MOST_DECIMALS = 0, 4
COMPARISONS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
SPACE = re.compile(r"\s+")
GROUPED = 10_000  # smallest number with thousands separators, so that years have none
MINUS = "\N{MINUS SIGN}"


def names(of: str) -> dict[str, str]:
    """Returns the words for names of a group of `formatting.yaml`."""
    found: dict[str, str] = read_plain(Path(__file__).with_suffix(".yaml"))[of]
    return found


def clean(text: str) -> str:
    """Puts a text on one line, and escapes characters that are invisible or change the writing direction."""
    return "".join(map(_visible, SPACE.sub(" ", text)))


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    joins = character in "\u200c\u200d"  # both occur in words of some scripts, and in emoji
    return f"\\u{ord(character):04x}" if kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and not joins else character


def short(text: str, most: int = LONGEST) -> str:
    """Shortens a long text by omitting its middle."""
    text = clean(text)
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def metric(name: str) -> str:
    """Returns the display name of a metric."""
    return names("metrics").get(name, name.replace("_", " ").capitalize())


def learner(name: str) -> str:
    """Returns the display name of a learner, or of several, separated by commas."""
    parts = dict.fromkeys(name.split(", "))
    return ", ".join(names("learners").get(part, part.replace("_", " ").capitalize()) for part in parts)


def number(value: float | None, digits: int = 4) -> str:
    """Formats a number to significant digits, with thousands separators; extreme values in scientific notation."""
    if value is None or not math.isfinite(value):
        return "–" if value is None or math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 12 or size < -4:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}".replace("-", MINUS)
    if float(value).is_integer():
        return fixed(value, 0)
    shown = fixed(value, max(0, digits - 1 - size))
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def fixed(value: float | None, decimals: int) -> str:
    """Formats a number with a fixed number of decimals."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e15:
        return number(value) if value is None or not math.isfinite(value) else f"{value:.3e}"
    apart = "," if abs(value) >= GROUPED else ""
    shown = f"{value:{apart}.{decimals}f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", MINUS)
    return shown.lstrip(MINUS) if not any(digit in shown for digit in "123456789") else shown


def decimals(widths: Sequence[float]) -> int:
    """Returns the number of decimals that suits intervals of these widths: two digits of half the median width."""
    real = [width for width in widths if math.isfinite(width) and width / 2 > 0]
    if not real:
        return 3
    middle = sorted(real)[len(real) // 2]
    return min(MOST_DECIMALS, max(FEWEST_DECIMALS, 1 - math.floor(math.log10(middle / 2))))


def measured(value: float, low: float, high: float) -> tuple[str, str, int]:
    """Formats a score and its interval; also returns the number of decimals that suits the interval.

    >>> measured(0.8125, 0.75, 0.875)
    ('0.812', '0.750 to 0.875', 3)
    """
    places = max(decimals([high - low]), 3 if abs(value) <= 1 else 0)
    return fixed(value, places), f"{fixed(low, places)} to {fixed(high, places)}", places


def share(value: float | None) -> str:
    """Formats a share as a percentage."""
    if value is None or not math.isfinite(value):
        return "–"
    if value in (0, 1):
        return "0 %" if value == 0 else "100 %"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{fixed(min(100 * value, 99.9) if value < 1 else 100 * value, 1)} %"


def seconds(value: float | None) -> str:
    """Formats a duration, from milliseconds to hours."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0 s"
    if value < 1:
        return f"{number(1000 * value, 3)} ms"
    if value < 99.95:
        return f"{fixed(value, 1)} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def size(megabytes: float) -> str:
    if megabytes < 1:
        return f"{number(1000 * megabytes, 2)} kB"
    return f"{number(megabytes, 3)} MB" if megabytes < 1000 else f"{number(megabytes / 1000, 3)} GB"


def money(value: float) -> str:
    """Formats an amount in US dollars."""
    return "$0" if value == 0 else f"${value:,.2f}" if value >= 0.01 else "< $0.01"


def price(spend: Spend) -> str:
    """Formats the cost of language model calls; states unknown prices."""
    if spend.calls and spend.unpriced == spend.calls:
        return "price not known"
    known = money(spend.money)
    return f"{known} and {many(spend.unpriced, 'call')} of unknown price" if spend.unpriced else known


def many(count: int, one: str, several: str = "") -> str:
    """Formats a count with its noun."""
    return f"{fixed(count, 0)} {one if count == 1 else several or one + 's'}"


def constraint(wanted: Constraint) -> str:
    """Describes the condition of a constraint."""
    what = names("quantities").get(wanted.quantity) or (metric(wanted.metric) if wanted.metric else "score")
    match wanted.quantity:
        case "latency" | "batch_time" | "training_time":
            bound = seconds(wanted.value)
        case "size":
            bound = size(wanted.value / 1e6)
        case _:
            bound = number(wanted.value)
    return f"{what}: {COMPARISONS[wanted.comparison]} {bound}"
