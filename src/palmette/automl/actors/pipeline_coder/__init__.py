"""Features, learners and search by one hand: the ablation of modules that are written apart."""
