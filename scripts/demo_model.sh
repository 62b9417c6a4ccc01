#!/bin/sh
# From a sentence and a file to a verified model behind an endpoint, on the example data.
set -eu
cd "$(dirname "$0")/.."
exec .venv/bin/palmette automl \
    "Predict whether a customer is a good or a bad credit risk, with an ROC AUC of at least 0.75" \
    --data examples/credit/credit.csv --budget 60s
