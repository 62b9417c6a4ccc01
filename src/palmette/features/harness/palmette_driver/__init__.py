"""The sandboxed part of the harness: processes one job folder, then exits.

It runs in the same process as untrusted code and imports nothing from palmette. A job is `job.json` (see `main`) with
Arrow files. The answer to item i is `out/<i>.json`; frames in it have the form of `palmette.features.frame_json`. Only
the harness judges the answers.
"""
