#!/bin/sh
# From a sentence, a flag and a file to a verified model behind an endpoint, on the example data.
set -eu
cd "$(dirname "$0")/.."
exec "${BIN:-.venv/bin}/palmette" automl \
    "ROC AUC of at least 0.75, answers within 50 ms a row" --target class \
    --data examples/credit/credit.csv --budget 60s
