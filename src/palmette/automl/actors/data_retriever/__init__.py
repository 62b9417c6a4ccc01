"""Finds the data that a request names, and reads them."""
