"""The documents: every relative link resolves, and they stay short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
COUNTED = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")] + sorted((ROOT / "docs").rglob("*.md"))
MOST_WORDS = 24_000
MOST_README_LINES = 200


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_resolve(document: Path) -> None:
    for path, anchor in LINK.findall(document.read_text("utf-8")):
        target = document.parent / path if path else document
        assert target.exists(), f"{path} does not exist"
        assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{path} has no heading for #{anchor}"


def test_documents_are_short() -> None:
    assert sum(len(path.read_text("utf-8").split()) for path in COUNTED) <= MOST_WORDS
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= MOST_README_LINES
