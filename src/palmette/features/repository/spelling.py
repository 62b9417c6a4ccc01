"""Names of views and tables inside source code, in all their spellings."""

import re


def mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", text, re.IGNORECASE) is not None


def general(text: str, table: str) -> str:
    """The text with placeholders for a table's name in its own case and in uppercase, also inside identifiers."""
    return replaced(replaced(text, table, "\0"), table.upper(), "\1")


def replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", lambda _: new, text)


def _spellings(name: str) -> list[str]:
    words = name.split("_")
    return [
        name,
        "".join(word.title() for word in words),
        "-".join(words),
        name.upper(),
        " ".join(words),
        " ".join(words).capitalize(),
    ]


def respelt(text: str, old: str, new: str) -> str:
    """Replaces a view's name by another in all its spellings, also where it is a part of a class's name.

    >>> respelt("class BranchLoadJob:  # branch load", "branch_load", "user_offers")
    'class UserOffersJob:  # user offers'
    """
    spellings: dict[str, str] = {}
    for one, other in zip(_spellings(old), _spellings(new), strict=True):
        spellings.setdefault(one, other)  # spellings of a single word coincide
    pattern = "|".join(rf"(?<![A-Za-z0-9]){re.escape(one)}(?![A-Za-z0-9])" for one in spellings)
    camel = _spellings(old)[1]
    return re.sub(rf"{pattern}|(?<![A-Z]){camel}(?![a-z0-9])", lambda found: spellings[found[0]], text)


def without(text: str, view: str) -> str:
    """The text without the view's name, which may contain that of a table."""
    return respelt(text, view, "")
