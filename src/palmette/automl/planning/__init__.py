"""Drafting and judging plans: allowed learners, strategies, column plans, estimates and measured rounds."""
