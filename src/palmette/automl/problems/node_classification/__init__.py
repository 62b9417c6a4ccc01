"""Node classification: rows are nodes of one graph, some of which have a class."""
