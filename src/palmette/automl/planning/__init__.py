"""What plans are made of and judged by: allowed learners, strategies, drafting, estimates, measured rounds, columns."""
