"""Benchmarks of palmette: what it claims, measured again. `python -m palmette_bench` lists them."""
