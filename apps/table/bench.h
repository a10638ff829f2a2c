// How models are timed.
#pragma once

#include "table/row.h"
#include "vernier/bench.h"

namespace vernier::table {

inline constexpr auto kTiming = table(
    "BenchOptions", "Timing",
    row(&BenchOptions::batches, "--batch N",
        "Batch sizes, if the model's first dimension is dynamic; one row each (default: that of the sample)")
        .by_hand()
        .python("batches", "bench", "batch sizes, if the first dimension is dynamic.")
        .typed("int | Iterable[int]", "()"),
    row(&BenchOptions::warm_up_ms, "--warm-up,--warmUp MS",
        "Warm-up of each row in milliseconds, not counted (default: 200)")
        .from(0),
    row(&BenchOptions::iterations, "--iterations N", "Minimum number of runs per row (default: 10)")
        .from(0, 0x7fffffff)
        .python("iterations", "bench", "minimum number of runs per row."),
    row(&BenchOptions::seconds, "--duration SECONDS", "Minimum seconds per row (default: 3)")
        .from(0)
        .python("seconds", "bench", "minimum seconds per row."),
    row(&BenchOptions::percentiles, "--percentile P",
        "Percentiles to print in addition to the median and the range from 10 to 90 % (default: 99)")
        .by_hand(),
    row<BenchOptions>(
        "--threads N",
        "Threads of --onnxrt and --openvino, up to 4096; 0: all usable cores, and OpenVINO's own choice (default: 0)")
        .many(),
    row(&BenchOptions::cuda_graph, "--use-cuda-graph,--useCudaGraph",
        "Launch TensorRT's engine as one CUDA graph, so that the host's work per kernel is done once"),
    row(&BenchOptions::copies, "--no-data-transfers,--noDataTransfers", "Do not time copies to the GPU and back").off(),
    row(&BenchOptions::layers, "--layers,--dumpProfile",
        "Also time layers, in separate runs: each kernel with the model layers that it computes")
        .python("layers", "bench", "also time single layers."));

inline constexpr auto kOptimization = row(&BenchOptions::optimization, "--graph-optimization-level LEVEL",
                                          "Optimizations of --onnxrt: ORT_DISABLE_ALL, ORT_ENABLE_BASIC, "
                                          "ORT_ENABLE_EXTENDED or ORT_ENABLE_ALL (default: ORT_ENABLE_ALL)")
                                          .python("graph_optimization");
inline constexpr auto kOnnxRuntime =
    table("BenchOptions", "Runners",
          row(&BenchOptions::providers, "--providers,--execution-providers NAME",
              "Execution providers of --onnxrt, preferred first, by any part of their names (default: CPU)")
              .python("providers", "bench", "execution providers of ONNX Runtime, preferred first; empty: the CPU."),
          kOptimization);

}  // namespace vernier::table
