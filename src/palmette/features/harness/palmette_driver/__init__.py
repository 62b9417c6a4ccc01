"""The sandboxed side of the harness: carries out one job folder, then ends.

It runs beside untrusted code and imports nothing of palmette. A job is `job.json` (see `main`) with Arrow
files; the answer to item i is `out/<i>.json`, and `out/<i>.arrow` where it is a frame. Only the harness
judges them.
"""
