"""Whether a request can be worked on, before anything is spent on it."""
