// What diagnose and fix do beside the search.
#pragma once

#include "table/jobs.h"
#include "table/precision.h"
#include "table/row.h"
#include "vernier/diagnose.h"
#include "vernier/fix.h"

namespace vernier::table {

inline constexpr auto kRank =
    row(&DiagnoseOptions::rank, "--rank",
        "Rank the layers by the error that each adds to the output, even if none has to be kept (default: only if some "
        "do, or without a requirement)")
        .python("rank", kDiagnosing,
                "rank the layers by the error that each adds to the output, even if none has to be kept.");
inline constexpr auto kQuick =
    row(&DiagnoseOptions::quick, "--quick",
        "Stop at the answer and its file: no causes, other options, times or pictures, and no run in ONNX Runtime of a "
        "file for another engine (default: all of them)")
        .python("quick", kDiagnosing,
                "stop at the answer and its file: no causes, other options, times or pictures, and no run in ONNX "
                "Runtime of a file for another engine.")
        .common();
inline constexpr auto kNoSplit =
    row<DiagnoseOptions>("--no-split",
                         "Measure on the samples that also calibrate (default: from 10 samples on, each half is "
                         "measured on a network that the other half calibrated; the output model uses all samples)")
        .python("cross_fit=False");
inline constexpr auto kConfidence =
    row<DiagnoseOptions>("--claim-confidence C",
                         "Confidence that new samples meet the requirement, from 0.5 to below 1; with 0.5 the figure "
                         "itself decides (default: 0.9; with --labels 0.5)");
inline constexpr auto kNoCache =
    row<DiagnoseOptions>("--no-cache",
                         "Measure everything anew, and keep nothing (default: local errors, sensitivities and trials "
                         "are cached in ~/.cache/vernier, and reused for the same network, samples and formats)")
        .python("cache=None");
inline constexpr auto kAlternatives =
    table("DiagnoseOptions", "Search",
          row<DiagnoseOptions>("--latency",
                               "Time the models, on ONNX Runtime or the engine of --confirm-on (default: with "
                               "--target onnxruntime or --confirm-on)"),
          row<DiagnoseOptions>("--no-latency", "Do not time the models"),
          row(&DiagnoseOptions::alternatives, "--options N",
              "If layers have to be kept, also measure N alternatives: repairs, another engine's placement, another "
              "format. Repairs that keep fewer layers become the answer (default: 2)")
              .from(0, 16)
              .unsaid()
              .python("alternatives", "diagnose",
                      "how many alternatives to measure if layers have to be kept: repairs, another target, another "
                      "format. If repairs keep fewer layers, the report describes the repaired network.")
              .typed("", "2"),
          row<DiagnoseOptions>("--no-options", "The same as --options 0"));
inline constexpr auto kSamplePictures = row(&DiagnoseOptions::sample_pictures, "--sample-pictures",
                                            "Embed the images of the worst samples in the page and the JSON, visible "
                                            "to everyone who receives them (default: do not)");
inline constexpr auto kQuantized =
    table("DiagnoseOptions", "Precision",
          row<DiagnoseOptions>("--float FLOAT",
                               "The float model of MODEL, which is quantized: measure against it, with MODEL's ranges "
                               "and layers (default: MODEL is the float model)"),
          row<DiagnoseOptions>("--from QUANTIZED",
                               "A file that was quantized from MODEL: reuse its ranges, and quantize the same layers, "
                               "as far as the target supports it (default: none)")
              .python("quantized", kDiagnosing,
                      "a file that was quantized from ``model``: its ranges and its choice of layers are reused.")
              .typed("Any", "None"));

/// What only Python has.
inline constexpr auto kDiagnosis = table(
    "DiagnoseOptions", "",
    row<DiagnoseOptions>("")
        .python("cross_fit", kDiagnosing,
                "from 10 samples on, measure each half on a network that the other half calibrated; the output model "
                "uses all.")
        .typed("bool", "True"),
    row<DiagnoseOptions>("")
        .python("claim_confidence", kDiagnosing,
                "confidence that new samples meet the requirement, from 0.5 to below 1; with 0.5 the figure itself "
                "decides. None: 0.9, with labels 0.5.")
        .typed("float | None", "None"),
    row<DiagnoseOptions>("")
        .python("cache", kDiagnosing,
                "a folder that keeps measurements, at most 256 MiB. Another call with the same network, samples and "
                "version reuses them, with another limit or cost too.")
        .typed("Any", "None"),
    row(&DiagnoseOptions::latency)
        .python("latency", kDiagnosing, "also time the models, on ONNX Runtime or the engine of ``confirm_on``.")
        .typed("bool", "False"),
    kRank, kQuick,
    row(&DiagnoseOptions::pictures)
        .python("pictures", kDiagnosing,
                "also count how the values of the worst layers use their format, for pages and plots. Costs two runs "
                "of four samples.")
        .typed("", "True"),
    row<DiagnoseOptions>("")
        .python(
            "causes", kDiagnosing,
            "your own functions, or {name: function}. ``function(layer)`` returns None, a sentence, or {\"sentence\": "
            "..., \"figures\": {name: value}, \"confidence\": 0 to 1, \"tensor\": ..., \"repairs\": [...]}. ``layer`` "
            "has the measurements of a layer: ``inputs`` and ``outputs`` with their values, noise, events, neighbours.")
        .typed("Causes", "()"));

}  // namespace vernier::table
