"""Three actors of a team's own: from release notes in plain text to a digest that keeps to its length."""

from __future__ import annotations

import re

from pydantic import Field

from palmette.documents import Model
from palmette.engine import Attempt, BaseActor, Context, TextFile, Verdict, Violation


class Notes(Model):
    """Release notes, split into entries."""

    entries: tuple[str, ...]


class Chosen(Model):
    """The entries that go into the digest."""

    entries: tuple[str, ...]


class Digest(Model):
    """The finished digest."""

    file: TextFile


class SplitNotes(BaseActor):
    """Splits the text into entries, one for each line that begins with a dash."""

    name = "split_notes"
    description = "Splits release notes into entries."
    produces = "notes"
    Output = Notes
    has_criterion = True

    class Input(Model):
        text: str
        """The given artefact: release notes as plain text."""

    def run(self, input: Input, context: Context) -> Attempt[Notes]:
        return Attempt(Notes(entries=tuple(re.findall(r"^\s*-\s*(.+?)\s*$", input.text, re.MULTILINE))))

    def check(self, input: Input, output: Notes, context: Context) -> Verdict:
        """At least one entry was found."""
        found = Violation(code="no-entries", message="The text has no line that begins with a dash.")
        return Verdict.of([] if output.entries else [found])


class ChooseEntries(BaseActor):
    """Takes every entry at first; when the digest turns out too long, only those that break something."""

    name = "choose_entries"
    description = "Chooses the entries of the digest."
    produces = "chosen"
    Output = Chosen

    class Input(Model):
        notes: Notes

    def run(self, input: Input, context: Context) -> Attempt[Chosen]:
        entries = input.notes.entries
        if any(violation.code == "too-long" for violation in context.evidence):
            entries = tuple(entry for entry in entries if "breaking" in entry.lower()) or entries[:1]
        return Attempt(Chosen(entries=entries))

    def implicated(self, violation: Violation, output: Chosen) -> str | None:
        """Too long a digest is this actor's doing: it chose too much."""
        if violation.code == "too-long" and len(output.entries) > 1:
            return "Choose fewer entries: the breaking changes only."
        return None


class WriteDigest(BaseActor):
    """Writes the digest as a Markdown list."""

    name = "write_digest"
    description = "Writes the digest."
    produces = "digest"
    Output = Digest
    has_criterion = True

    class Input(Model):
        chosen: Chosen
        longest: int = Field(default=200, ge=1)
        """Characters that a digest may have; a fixed parameter of the topology."""

    def run(self, input: Input, context: Context) -> Attempt[Digest]:
        text = "# What is new\n\n" + "".join(f"- {entry}\n" for entry in input.chosen.entries)
        return Attempt(Digest(file=TextFile(path="DIGEST.md", text=text)))

    def check(self, input: Input, output: Digest, context: Context) -> Verdict:
        """The digest is no longer than the limit."""
        length = len(output.file.text)
        long = Violation(code="too-long", message=f"The digest has {length} characters, more than {input.longest}.")
        return Verdict.of([long] if length > input.longest else [])
