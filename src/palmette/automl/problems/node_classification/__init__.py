"""Node classification: rows are nodes of one graph, and some of them have a known class."""
