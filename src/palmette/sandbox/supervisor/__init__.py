"""The process between palmette and a sandboxed program; standard library only, nothing of palmette.

It is started by path (`-c "...; from supervisor.main import main"`) without site packages, so that it is ready within
milliseconds. Its modules import each other relatively.
"""
