"""Pull requests: a branch made in a separate checkout, pushed, and opened on GitHub, on GitLab or locally.

git       runs git with a time limit, and without prompts and hooks
borrowed  shares a repository's objects and branches, but not its settings that start programs
paths     decides which paths a pull request may touch
export    writes a branch as plain files
worktree  a separate checkout: writes files, makes the commit and the patch
remote    pushes to the remote repository, and finds its project on the web
forge     opens or updates a pull request through an interface that `GitHub` and `GitLab` implement
preflight reports obstacles before any work
deliver   runs all of it in order; completed steps stay after a failure
"""

from palmette.delivery.deliver import Change, Delivered, Target, deliver
from palmette.delivery.preflight import preflight
from palmette.delivery.worktree import Worktree

__all__ = ["Change", "Delivered", "Target", "Worktree", "deliver", "preflight"]
