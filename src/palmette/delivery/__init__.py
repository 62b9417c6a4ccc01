"""Pull requests: a branch made in a checkout of its own, pushed, and opened on GitHub, GitLab or locally.

git       the program, bounded in time, without prompts and hooks
borrowed  a repository's objects and branches, without what steers git in it
paths     what a pull request may touch
export    a branch as plain files
worktree  a checkout of its own: files in, commit and patch out
remote    the remote repository: push, and where it is on the web
forge     opening or updating a pull request over an interface that `github` and `gitlab` implement
preflight what would stand in the way, before any work
deliver   all of it in order; what is done before a failure stays
"""

from palmette.delivery.deliver import Change, Delivered, Target, deliver
from palmette.delivery.preflight import preflight
from palmette.delivery.worktree import Worktree

__all__ = ["Change", "Delivered", "Target", "Worktree", "deliver", "preflight"]
