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
        "Rank the layers by what each costs the output, even if everything low meets the requirement (default: only if "
        "it is missed, or if there is none)")
        .python("rank", kDiagnosing,
                "rank the layers by what each costs the output, even if everything low meets the requirement.");
inline constexpr auto kQuick =
    row(&DiagnoseOptions::quick, "--quick",
        "Stop at the answer and its file: no causes, other options, times or pictures (default: all of them)")
        .python("quick", kDiagnosing, "stop at the answer and its file: no causes, other options, times or pictures.");
inline constexpr auto kNoSplit =
    row<DiagnoseOptions>("--no-split",
                         "Judge the network on the samples that taught it (default: from 10 samples on, each half is "
                         "judged by what the other half taught; the written model learns from all)")
        .python("cross_fit=False");
inline constexpr auto kConfidence =
    row<DiagnoseOptions>("--claim-confidence C",
                         "Meet the requirement on new samples with this confidence, 0.5 to below 1; 0.5: the figure "
                         "itself decides (default: 0.9)");
inline constexpr auto kNoCache =
    row<DiagnoseOptions>("--no-cache",
                         "Measure all anew, and keep nothing (default: own errors, sensitivities and trials of the "
                         "same network, samples and formats are taken from earlier runs, whose figures are kept in "
                         "~/.cache/vernier)")
        .python("cache=None");
inline constexpr auto kAlternatives = table(
    "DiagnoseOptions", "Search",
    row(&DiagnoseOptions::latency, "--no-latency",
        "Do not time the models (default: on ONNX Runtime, or the engine of --confirm-on)")
        .off(),
    row(&DiagnoseOptions::alternatives, "--options N",
        "If layers have to be kept, also measure N other ways: repairs, another engine's placement, "
        "another format. Repairs that keep less become the answer (default: 2)")
        .from(0, 16)
        .unsaid()
        .python("alternatives", "diagnose",
                "how many other ways to meet the requirement are measured if layers have to be kept: repairs, another "
                "target, another format. If the repaired network keeps less, the report is about it, and it is "
                "written."),
    row<DiagnoseOptions>("--no-options", "The same as --options 0"));
inline constexpr auto kSamplePictures =
    row(&DiagnoseOptions::sample_pictures, "--sample-pictures",
        "Show the images of the worst samples on the page and in the JSON: whoever gets these sees them (default: do "
        "not)");
inline constexpr auto kQuantized = table(
    "DiagnoseOptions", "Precision",
    row<DiagnoseOptions>("--float FLOAT",
                         "MODEL is quantized, and this is its float model: measure against it, with MODEL's ranges and "
                         "layers (default: MODEL is the float model)"),
    row<DiagnoseOptions>("--from QUANTIZED",
                         "Take over the ranges of this file, which was quantized from MODEL, the layers that it leaves "
                         "in float, and those that it quantizes, as far as the target runs them so (default: none)")
        .python("quantized", kDiagnosing,
                "a file that was quantized from ``model``: its ranges and the layers that it has in float32 are taken "
                "over.")
        .typed("Any", "None"));

/// What only Python has.
inline constexpr auto kDiagnosis = table(
    "DiagnoseOptions", "",
    row<DiagnoseOptions>("")
        .python("cross_fit", kDiagnosing,
                "from 10 samples on, judge each half of them by what the other half taught; the written model learns "
                "from all.")
        .typed("bool", "True"),
    row<DiagnoseOptions>("")
        .python("claim_confidence", kDiagnosing,
                "how sure the requirement has to be met on new samples, from 0.5 to below 1; with 0.5 the figure "
                "itself decides.")
        .typed("float", "0.9"),
    row<DiagnoseOptions>("")
        .python("cache", kDiagnosing,
                "a folder in which measurements are kept, at most 256 MiB, and looked up: another call on the same "
                "network and samples, with another limit or cost, then measures what is new to it. Those of another "
                "version are not taken.")
        .typed("Any", "None"),
    row(&DiagnoseOptions::latency)
        .python("latency", kDiagnosing, "also times the models on ONNX Runtime.")
        .typed("", "False"),
    kRank, kQuick,
    row(&DiagnoseOptions::pictures)
        .python("pictures", kDiagnosing,
                "also counts how values of the worst layers lie on their grids, for pages and plots: two runs of four "
                "samples.")
        .typed("", "True"),
    row<DiagnoseOptions>("")
        .python("causes", kDiagnosing,
                "functions of yours, or {name: function}: ``function(layer)`` gives None, a sentence, or "
                "{\"sentence\": ..., \"figures\": {name: value}, \"confidence\": 0 to 1, \"tensor\": ..., "
                "\"repairs\": [...]}. ``layer`` is what was measured of an examined layer: ``inputs`` and ``outputs`` "
                "with their values, noise, events, neighbours.")
        .typed("Causes", "()"));

}  // namespace vernier::table
