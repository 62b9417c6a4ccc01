#!/bin/sh
# Builds the wheel, installs it in a new environment without and with its extras, and runs both demos from it.
set -eu
unset PYTHONPATH  # only what is installed counts
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

"${PYTHON:-python3}" -m venv "$work/venv"
bin="$work/venv/bin"
"$bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$work" .
wheel=$(ls "$work"/palmette-*.whl)
for file in LICENSE NOTICE; do
    "$bin/python" -m zipfile --list "$wheel" | grep -q "licenses/$file" || { echo "The wheel has no $file." >&2; exit 1; }
done

"$bin/python" -m pip install --quiet "$wheel"
cd "$work"
"$bin/palmette" --version
"$bin/palmette" topology draw automl > topology.mmd
cp -R "$root/examples" "$root/scripts" "$work/"
"$bin/python" examples/offers/prepare.py > prepared.txt
printf 'a,b\n1,2\n' > rows.csv
printf 'def build(spark, cutoff): ...\n' > script.py

refuses() {
    status=0
    "$bin/palmette" "$@" 2> refusal.txt || status=$?
    cat refusal.txt
    [ "$status" = 3 ] && grep -q "pip install 'palmette\[" refusal.txt && return
    echo "palmette $1 without its extra exits with status $status, or does not name the extra." >&2
    exit 1
}
refuses automl --data rows.csv --target b
refuses predict latest --input rows.csv
refuses retrain latest --data rows.csv
refuses export latest
refuses serve latest
refuses features build/offers/runs/user_offer_redemptions.yaml
refuses check script.py --entry build --fsc examples/offers/specs/offer_daily.yaml --dfr examples/offers/registry.yaml

"$bin/python" -m pip install --quiet --constraint "$root/constraints.txt" "$wheel[spark,automl]"
BIN="$bin" "$work/scripts/demo.sh"
BIN="$bin" "$work/scripts/demo_model.sh"
echo "The release $("$bin/palmette" --version) can be published."
