"""Bytes of a text file into characters, whatever it was saved as."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from palmette.automl.data.artefacts import Repair
from palmette.automl.data.opening import Opened, wide

MARK = re.compile("^\ufeff+", re.MULTILINE)
"""Of byte order: at the start of a file, and of each other one that was put below it."""
END = "\x1a"
"""Of a file, as systems wrote it that knew no lengths."""
FEW_BROKEN = 0.001
"""Share of characters that a UTF-8 text may have broken and still be one."""


class Decoded(NamedTuple):
    text: str
    encoding: str
    repairs: list[Repair]


def decode(opened: Opened) -> Decoded:
    """The text of a file; bytes that are no characters, and NUL, are taken out and counted."""
    text, encoding = _decoded(opened.data)
    repairs: list[Repair] = []
    if encoding in ("cp1252", "latin-1"):
        said = f"{opened.name} is not UTF-8; it was read as {encoding}."
        repairs.append(Repair(code="read-as-latin", subject=opened.name, count=1, text=said))
    broken = text.count("\ufffd") if encoding.startswith("utf") else 0
    if broken:
        said = f"{broken} damaged characters in {opened.name} were replaced by a mark."
        repairs.append(Repair(code="damaged-characters", subject=opened.name, count=broken, text=said))
    if nul := text.count("\0"):
        text = text.replace("\0", "")
        said = f"{nul} NUL characters in {opened.name} were taken out."
        repairs.append(Repair(code="nul-characters", subject=opened.name, count=nul, text=said))
    return Decoded(MARK.sub("", text.rstrip(END)), encoding, repairs)


def _decoded(data: bytes) -> tuple[str, str]:
    if encoding := wide(data):
        return data.decode(encoding, errors="replace"), encoding
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", errors="replace"), "utf-8-sig"
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
    broken, whole = text.count("\ufffd"), sum(1 for character in text if character > "\x7f" and character != "\ufffd")
    if broken <= max(1, FEW_BROKEN * len(text)) and whole > 2 * broken:
        return text, "utf-8"
    try:
        return data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"
