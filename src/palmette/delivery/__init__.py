"""Pull requests: a branch made in a separate checkout, pushed, and opened on GitHub, on GitLab or locally.

git       runs git with a time limit, on a repository's objects and branches, without what starts programs
paths     decides which paths a pull request may touch
worktree  separate checkouts: a branch as plain files; one where the commit and the patch are made
forge     opens or updates a pull request on GitHub or GitLab
deliver   reports obstacles before any work; runs all of it in order, pushes, and keeps completed steps after a failure
"""

from palmette.delivery.deliver import Change, Delivered, Target, deliver, preflight
from palmette.delivery.worktree import Worktree

__all__ = ["Change", "Delivered", "Target", "Worktree", "deliver", "preflight"]
