"""The world of FeatBench: a team's repository, the registry of its tables, and their generator."""
