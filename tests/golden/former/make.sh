#!/usr/bin/env bash
# Writes the files that a version of the program reads back, on the network of examples/digits, so that later versions can
# be held to them: tests/golden/former/make.sh VERNIER FOLDER. README.md says which version made which folder.
#
# All paths are relative to a folder that holds nothing but the network and its samples, and the ranges are fixed in a
# file: what is in here is no machine's.
set -euo pipefail

vernier=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
digits=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../../examples/digits")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$digits"/{digits.onnx,calib.npz,test.npz,test_labels.npy} .

# missed COMMAND...: it may answer that a requirement is missed.
missed() { "$@" || (($? == 1)); }
int8=(--int8 --data test.npz --calibration-cache ranges.json --threads 1)

# Ranges, in the three forms.
"$vernier" calibrate digits.onnx --data calib.npz --samples 20 -o ranges.json
"$vernier" calibrate digits.onnx --data calib.npz --samples 20 -o ranges.cache
"$vernier" calibrate digits.onnx --data calib.npz --samples 20 --ranges-format onnxruntime -o ranges_onnxruntime.json

# Reports and plans.
missed "$vernier" diagnose digits.onnx "${int8[@]}" --samples 8 --min-sqnr 20 --no-latency --no-options -o diagnose
missed "$vernier" fix digits.onnx "${int8[@]}" --samples 8 --min-sqnr 20 --no-latency -o fix

# Journals of searches: a list and a minimal set.
"$vernier" debug precision digits.onnx "${int8[@]}" --samples 8 --min-sqnr 25 --mode bisect --no-minimal --journal bisect.jsonl
"$vernier" debug precision digits.onnx "${int8[@]}" --samples 8 --min-sqnr 25 --journal minimal.jsonl

# Saved runs, accuracy results, a typed file, stages.
missed "$vernier" run digits.onnx --onnxrt --sim "${int8[@]}" --samples 2 --compare sqnr --sqnr-threshold 15 \
  --save-inputs inputs.json --save-outputs outputs.json --save-accuracy-results accuracy.json
"$vernier" convert digits.onnx --plan diagnose/plan.json -o typed.onnx
missed "$vernier" pipeline --stage float:digits.onnx --stage int8:typed.onnx --data test.npz --samples 8 \
  --task classification --labels test_labels.npy -o pipeline

# Verdicts of an outside check.
"$vernier" debug reduce digits.onnx -o reduced.onnx --save-debug-replay reduce_replay.json --check false

cp ranges.json ranges.cache ranges_onnxruntime.json bisect.jsonl minimal.jsonl inputs.json outputs.json accuracy.json \
  typed.onnx reduce_replay.json "$folder/"
cp minimal.jsonl.best.json "$folder/minimal.best.json"
# Mostly the numbers of pictures: a tenth.
gzip -9nc diagnose/report.json >"$folder/diagnose_report.json.gz"
gzip -9nc fix/report.json >"$folder/fix_report.json.gz"
cp diagnose/plan.json "$folder/plan.json"
cp fix/plan.json "$folder/fix_plan.json"
cp pipeline/report.json "$folder/pipeline_report.json"
! zgrep -lE '/(home|root|tmp|work)/' "$folder"/* || { echo 'a path of this machine is in these' >&2; exit 1; }
