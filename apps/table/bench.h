// How models are timed.
#pragma once

#include "table/row.h"
#include "vernier/bench.h"

namespace vernier::table {

inline constexpr auto kTiming = table(
    "BenchOptions", "Timing",
    row(&BenchOptions::batches, "--batch N",
        "Sizes of the first dimension where the model leaves it open, a row each (default: that of the sample)")
        .by_hand()
        .python("batches", "bench", "sizes of the first dimension, where models leave it open.")
        .typed("int | Iterable[int]", "()"),
    row(&BenchOptions::warm_up_ms, "--warm-up,--warmUp MS", "Milliseconds of each row that do not count (default: 200)")
        .from(0),
    row(&BenchOptions::iterations, "--iterations N", "Runs of each row, at least (default: 10)")
        .from(0, 0x7fffffff)
        .python("iterations", "bench", "runs of each row, at least."),
    row(&BenchOptions::seconds, "--duration SECONDS", "Seconds of each row, at least (default: 3)")
        .from(0)
        .python("seconds", "bench", "of each row, at least."),
    row(&BenchOptions::percentiles, "--percentile P",
        "Percentiles beside the median and the range of 10 to 90 % (default: 99)")
        .by_hand(),
    row<BenchOptions>("--threads N",
                      "Threads of --onnxrt and --openvino, up to 4096; 0: all usable cores, and what OpenVINO takes "
                      "(default: 0)")
        .many(),
    row(&BenchOptions::cuda_graph, "--use-cuda-graph,--useCudaGraph",
        "Launch TensorRT's engine as one CUDA graph: what the host does for each kernel is done once"),
    row(&BenchOptions::copies, "--no-data-transfers,--noDataTransfers", "Do not also time copies to the GPU and back")
        .off(),
    row(&BenchOptions::layers, "--layers,--dumpProfile",
        "Also time layers, in runs of their own: kernels with the layers of the model that they compute")
        .python("layers", "bench", "also times of single layers."));

inline constexpr auto kOptimization =
    row(&BenchOptions::optimization, "--graph-optimization-level LEVEL",
        "Of --onnxrt: ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED or ORT_ENABLE_ALL (default: "
        "ORT_ENABLE_ALL)")
        .python("graph_optimization");
inline constexpr auto kOnnxRuntime =
    table("BenchOptions", "Runners",
          row(&BenchOptions::providers, "--providers,--execution-providers NAME",
              "Execution providers of --onnxrt, best first, by any part of their names (default: CPU)")
              .python("providers", "bench", "of ONNX Runtime, best first; empty: the CPU."),
          kOptimization);

}  // namespace vernier::table
