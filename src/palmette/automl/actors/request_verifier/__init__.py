"""Whether a request is one that can be worked on, before anything is spent on it."""
