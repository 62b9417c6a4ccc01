#!/bin/sh
# Asks the advisory database of PyPI about every pinned version, with pip-audit in an environment of its own. Needs a network:
# a version that nobody could be asked about is a failure, not a pass.
set -eu
cd "$(dirname "$0")/.."

tool=build/audit
if ! [ -x "$tool/bin/pip-audit" ]; then
    .venv/bin/python -m venv "$tool"
    "$tool/bin/python" -m pip --disable-pip-version-check -qq install 'pip-audit>=2.10,<3'
fi
"$tool/bin/pip-audit" --requirement constraints.txt --no-deps --disable-pip --strict --progress-spinner off "$@"
