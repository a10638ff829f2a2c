// How layers to keep are searched.
#pragma once

#include "table/jobs.h"
#include "table/row.h"
#include "vernier/search_options.h"

namespace vernier::table {

inline constexpr auto kSearch = table(
    "SearchOptions", "Search",
    row(&SearchOptions::cost, "--cost UNIT",
        "What keeping a layer costs: layers macs bytes time; tensors that are converted where kept layers meet others "
        "count too. time: measured on the engine that --confirm-on, or --on of debug precision, names; else on ONNX "
        "Runtime's kernels, INT8 only (default: layers)")
        .python("cost", kDiagnosing, "what keeping costs: \"layers\", \"macs\", \"bytes\", \"time\"."),
    row<SearchOptions>("--budget N|TIME",
                       "Stop after N runs over the samples, or after 90s, 10m, 2h of searching, with the best set so "
                       "far (default: no limit)"),
    row(&SearchOptions::max_seconds).from(0).python("max_seconds", kDiagnosing, "of the search; 0: no limit."),
    row(&SearchOptions::max_evaluations, "--max-evaluations N", "The same as --budget N; 0: no limit (default: 0)")
        .from(0, 1e9)
        .python("max_evaluations", kDiagnosing, "runs of the search over the samples; 0: no limit."),
    row(&SearchOptions::confidence, "--confidence P",
        "A trial may fail as soon as that is this certain, above 0.5 to 1; what passes has run on all samples "
        "(default: 1)"),
    row(&SearchOptions::whole_groups, "--whole-groups",
        "Keep or lower together: layers that read one quantized tensor, or whose results meet in an Add or a Concat"),
    row(&SearchOptions::prove_minimum, "--prove-minimum",
        "minimal: also look for a cheaper set, or prove how much cheaper one could be; takes more evaluations")
        .python("prove_minimum", kDiagnosing, "also bounds from below what any passing set costs."),
    row(&SearchOptions::journal, "--journal FILE",
        "Every trial as one line of JSON, and FILE.best.json the plan of the best set so far; without --resume trials "
        "of an earlier search are moved to FILE.1 (default: none; of debug precision: MODEL-12345678.precision.jsonl "
        "in the folder of -o, or in ~/.cache/vernier)")
        .by_hand()
        .writes(),
    row(&SearchOptions::resume, "--resume", "Go on where a search with the same journal stopped: no trial is repeated"),
    row(&SearchOptions::pareto, "--pareto", "Print accuracy against cost, from the trials made and up to six more")
        .python("pareto", kDiagnosing, "up to six more sets are tried, so that accuracy against cost is a curve."),
    row<SearchOptions>("--pareto-csv FILE", "Write it as CSV (default: not written)").writes(),
    row<SearchOptions>("--pareto-svg FILE", "Draw it as SVG (default: not drawn)").writes());

/// Which set is looked for: debug precision.
inline constexpr auto kSearchModes = table(
    "SearchOptions", "Search",
    row(&SearchOptions::mode, "--mode MODE",
        "Which set to look for. minimal: a set of which no layer can be dropped. bisect, linear: the first N layers, N "
        "by halving or counting up. worst-first: the layers whose error rises most over their inputs' (default: "
        "minimal)")
        .unsaid(),
    row(&SearchOptions::direction, "--direction,--dir DIRECTION",
        "bisect, linear: forward: the first N layers, reverse: the last N (default: forward)"),
    row(&SearchOptions::step, "--top N", "worst-first: layers added at a time (default: 5)").from(1, 1e6),
    row(&SearchOptions::minimal_too, "--no-minimal", "Other modes: do not also say what minimal needs instead").off());

/// The same of the older commands, whose name is the mode.
inline constexpr auto kDirectionAsMode =
    row(&SearchOptions::direction, "--mode DIRECTION",
        "forward: from the first layer on, reverse: from the last (default: forward)");
inline constexpr auto kLayersAtATime =
    row(&SearchOptions::step, "--top N", "Layers added at a time (default: 5)").from(1, 1e6);
inline constexpr auto kNoMinimalAlone = row(&SearchOptions::minimal_too, "--no-minimal",
                                            "Do not also say what debug precision --mode minimal needs instead")
                                            .off();
inline constexpr auto kSearchDirection =
    table("SearchOptions", "Search", kDirectionAsMode, kLayersAtATime, kNoMinimalAlone);

inline constexpr auto kGolden =
    table("SearchOptions", "Reference",
          row(&SearchOptions::golden, "--golden FILE",
              "Saved outputs to compare with, one iteration a sample (default: the float32 model's own)"));

}  // namespace vernier::table
