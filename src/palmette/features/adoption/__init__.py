"""Adopts existing feature scripts: reads one statically, and drafts the specification that it follows."""

from palmette.features.adoption.draft import SpecificationDraft, draft_of

__all__ = ["SpecificationDraft", "draft_of"]
