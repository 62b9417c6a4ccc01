"""One script per feature view."""
