#!/bin/sh
# INT8 against FP16, from the float model to a model that is as good: build, compare, analyze, fix, verify, profile.
#   compare.sh [FOLDER]      what it writes goes to FOLDER; VERNIER and PYTHON name other programs than those on the path
set -eu
here=$(cd "$(dirname "$0")" && pwd)
model=$here/../digits/digits.onnx
out=${1:-compare_out}
vernier=${VERNIER:-vernier}
python=${PYTHON:-python3}
mkdir -p "$out"

step() { printf '\n## %s\n' "$1"; }
run() { "$vernier" "$@"; }
loader=$here/data_loader.py
with_data() { run "$@" --data-loader-script "$loader" --python "$python"; }
calibrated() { run convert "$model" --int8 --data-loader-script "$loader:calibration" --python "$python" "$@"; }
# Exit code 1 is an answer: the comparison failed. Anything above it ends this script.
answer() { "$@" || { code=$?; [ "$code" -eq 1 ] || exit "$code"; echo "-> no"; }; }

step "Build both"
run convert "$model" --fp16 --layer-precisions contrast_add_epsilon:float32 contrast_sqrt:float32 -o "$out/fp16.onnx"
calibrated -o "$out/int8.onnx"

step "Compare: every tensor of both, on the same samples"
with_data run "$out/fp16.onnx" --sim --onnx-outputs mark all --save-outputs "$out/fp16.json" -q
answer with_data run "$out/int8.onnx" --sim --onnx-outputs mark all --save-outputs "$out/int8.json" \
    --load-outputs "$out/fp16.json" --compare sqnr -q | tail -n 4

step "Analyze: which layers"
answer run data diff --fp16-outputs "$out/fp16.json" --int8-outputs "$out/int8.json" --metric sqnr --threshold 15 --top 8

step "Fix: keep those where the error starts in float32"
calibrated --trt-network-postprocess-script "$here/fix_precision.py" --precision-constraints obey -o "$out/fixed.onnx"

step "Verify: the file itself, against the float model"
with_data verify "$model" "$out/fixed.onnx" --min-sqnr 30 --top 4

step "Profile: ONNX Runtime, on one sample at a time"
for each in "$model" "$out/int8.onnx" "$out/fixed.onnx"; do
    with_data run "$each" --onnxrt --threads 1
done
