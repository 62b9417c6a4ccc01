"""Classification and clustering of the nodes of one graph."""
