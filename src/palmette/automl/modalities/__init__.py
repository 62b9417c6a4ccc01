"""A folder for each kind of data: how a project for it is written."""
