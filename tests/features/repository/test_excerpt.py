"""What of a README each stage is shown: every rule that concerns it, within bounds, and that something is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.features.repository.readme import Stage, excerpt
from palmette.llm.text import estimate_tokens

LONG = "".join(f"- The story of item {i} is long and is told here.\n" for i in range(400))
README = f"""# shop

## History
{LONG}
## Feature scripts

- Import `functions as F`.
- No joins without keys.

## Utilities

- Use `ratio` to divide.

## Tests

- A fixture gives the session.

## Configuration

- Paths are relative.

## Installing

- Every file begins with a licence line.
- Ask the office for a key.

```
pip install shop
```
"""
SCRIPTS = {"Import `functions as F`", "No joins without keys", "Use `ratio`", "Every file begins"}


@pytest.mark.parametrize(("stage", "shown"), [
    ("scripts", SCRIPTS),
    ("tests", {"A fixture gives", "Every file begins"}),
    ("config", {"Paths are relative"}),
    ("utilities", {"Use `ratio`", "Import `functions as F`"}),
])  # fmt: skip
def test_rules_of_a_stage_are_shown_however_long_the_rest_is(stage: Stage, shown: set[str]) -> None:
    text = excerpt(README, stage, 600)
    rules = {*SCRIPTS, "A fixture gives", "Paths are relative", "Ask the office", "pip install"}
    assert {rule for rule in rules if rule in text} == shown
    assert estimate_tokens(text) < 700 and "[Left out, all or part of: " in text


BLOCKS = st.sampled_from(
    ["# A", "## Scripts", "## Tests", "- a rule of scripts", "  and its end", "words", "", "```", "x = 1", "| a |", "#"]
)


@given(st.lists(BLOCKS, max_size=30), st.sampled_from(["scripts", "tests", "config", "utilities"]), st.integers(0, 200))
def test_an_excerpt_has_only_lines_of_the_text_in_their_order(lines: list[str], stage: Stage, tokens: int) -> None:
    shown = [line for line in excerpt("\n".join(lines), stage, tokens).splitlines() if line.strip()]
    if shown and shown[-1].startswith("[Left out"):
        shown.pop()
    rest = iter(line.rstrip() for line in lines if line.strip())
    assert all(line in rest for line in shown)


def test_a_short_text_without_headings_is_shown_whole() -> None:
    text = "Scripts lie in `jobs/`.\n\n- Every script begins with `# (c)`.\n- Tests do, too."
    assert excerpt(text, "scripts", 200) == text and excerpt(text, "tests", 200) == text
