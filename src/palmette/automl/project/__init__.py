"""The delivered package: written from a blueprint and a selection, then fitted and run in the sandbox."""
