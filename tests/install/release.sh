#!/usr/bin/env bash
# What scripts/release made, tried as a stranger would: checksums, the program in a folder of another name, the C++ library
# beside it where there is a compiler, the wheel in a fresh environment, the bill of materials against CycloneDX's schema.
# Not part of the default tests: it installs packages from the index.
#
#   tests/install/release.sh [PYTHON]      by default python3
#
# On a machine that has nothing:
#   tests/install/fresh_machine.sh --with build/release-files bookworm --command \
#     'apt-get update && apt-get install -y --no-install-recommends python3-venv && tests/install/release.sh'
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

checkout=$PWD
files=$PWD/build/release-files
digits=$PWD/examples/digits
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
say() { printf '\n== %s\n' "$1"; }
# Nothing of this shell's helps: no library path, no checkout above the program.
bare() { env -i PATH="$PATH" HOME="$folder" LANG=C.UTF-8 "$@"; }

say 'checksums'
(cd "$files" && sha256sum --check --strict SHA256SUMS)

say 'the program, in a folder with a space in its name'
mkdir "$folder/a place"
tar -xzf "$files"/vernier-*-linux-*.tar.gz -C "$folder/a place" --strip-components=1
"${1:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --disable-pip-version-check --quiet onnxruntime
cd "$folder"
bare "a place/bin/vernier" --version
bare VIRTUAL_ENV="$folder/venv" "a place/bin/vernier" doctor
bare VIRTUAL_ENV="$folder/venv" "a place/bin/vernier" diagnose "$digits/digits.onnx" --data "$digits/test.npz" --calibration-data "$digits/calib.npz" \
  --int8 --min-sqnr 20 --samples 50 --no-latency --no-options -o out | sed -n 1,2p
for binary in "a place/bin/vernier" "a place"/lib/libvernier.so "a place"/lib/vernier/*; do
  if ldd "$binary" | grep 'not found'; then exit 1; fi
done
if grep -rlE '/(tmp|home|root|work)/' "a place"; then
  echo 'error: these say where they were built' >&2
  exit 1
fi

if command -v cmake ninja c++ >/dev/null; then
  say 'the C++ library of the archive'
  cmake -S "$checkout/tests/install/consumer" -B consumer -G Ninja -DCMAKE_PREFIX_PATH="$folder/a place" >/dev/null
  cmake --build consumer >/dev/null
  bare consumer/consumer
fi

say 'the wheel'
"${1:-python3}" -m venv "$folder/wheel"
"$folder/wheel/bin/pip" install --disable-pip-version-check --quiet "$files"/onnx_vernier-*.whl
bare "$folder/wheel/bin/vernier" --version
bare "$folder/wheel/bin/python" -c 'import onnx_vernier; print(onnx_vernier.__version__, onnx_vernier.verify.__doc__.splitlines()[0])'

say 'the bill of materials'
"$folder/venv/bin/pip" install --disable-pip-version-check --quiet 'cyclonedx-python-lib[json-validation]'
"$folder/venv/bin/python" - "$files"/vernier-*.cdx.json <<'PY'
import pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = pathlib.Path(sys.argv[1]).read_text()
fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
sys.exit(f"error: {fault}" if fault else print(f"{sys.argv[1].split('/')[-1]}: CycloneDX 1.5"))
PY
