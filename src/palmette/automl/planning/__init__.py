"""Drafting and judging plans: allowed learners, strategies, column plans, costs and measured rounds."""
