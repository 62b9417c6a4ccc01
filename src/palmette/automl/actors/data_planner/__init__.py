"""A plan's part for the data: what is done with every column, decided before anything is learnt."""
