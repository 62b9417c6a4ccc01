"""The corrected text of one file of the assembled project."""
