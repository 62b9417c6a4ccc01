#!/bin/sh
# The main job on the example: a checkout of the example repository, one run file, one pull request.
set -eu
cd "$(dirname "$0")/.."
"${BIN:-.venv/bin}/python" examples/offers/prepare.py
exec "${BIN:-.venv/bin}/palmette" features build/offers/runs/user_offer_redemptions.yaml
