"""Adopts existing feature scripts: reads one statically, and drafts the specification that it follows."""

from palmette.features.adoption.draft import ScriptDraft, draft_of

__all__ = ["ScriptDraft", "draft_of"]
