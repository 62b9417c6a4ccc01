"""`python -m palmette` is `palmette`."""

from palmette.cli import main

main()
