"""The delivered package as a folder and as a running service: placed whole or not at all, started, asked.

Its answers over HTTP are compared with those of its `predict.py` for the same rows in a file.
"""
