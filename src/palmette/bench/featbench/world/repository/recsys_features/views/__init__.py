"""One module a view."""
