"""Running a feature script on frames, in the sandbox, and reading back what it made."""
