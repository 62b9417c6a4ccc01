"""The whole project as one piece of code, trained at once: the ablation of modules and their contract."""
