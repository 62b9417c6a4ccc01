"""Sets up a team's repository: infers a registry from data, and drafts a first specification and run file."""

from palmette.features.onboarding.drafting import REGISTRY, RUN, Draft, draft
from palmette.features.onboarding.tables import TableFiles, find_tables

__all__ = ["REGISTRY", "RUN", "Draft", "TableFiles", "draft", "find_tables"]
