#!/usr/bin/env bash
# The wheel of scripts/wheel in a fresh virtual environment: installs it with what it asks for, runs the first example of the
# Python guide and the command. Not part of the default tests: it installs packages from the index.
#
#   tests/install/wheel.sh [PYTHON]      by default python3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

wheel=$(ls build/wheels/onnx_vernier-*.whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --disable-pip-version-check --quiet "$wheel" onnx
python3 - docs/guides/python.md >"$folder/example.py" <<'PY'
import re, sys
print(re.search(r"^```python\n(.*?)^```", open(sys.argv[1]).read(), re.S | re.M)[1])
PY
cd "$folder"
env -u VIRTUAL_ENV -u VERNIER_ORT_LIBRARY -u PYTHONPATH "$folder/venv/bin/python" example.py
env -u VIRTUAL_ENV -u VERNIER_ORT_LIBRARY "$folder/venv/bin/vernier" --version
env -u VIRTUAL_ENV -u VERNIER_ORT_LIBRARY "$folder/venv/bin/vernier" doctor
