// How layers to keep are searched.
#pragma once

#include "table/jobs.h"
#include "table/row.h"
#include "vernier/search_options.h"

namespace vernier::table {

inline constexpr auto kSearch = table(
    "SearchOptions", "Search",
    row(&SearchOptions::cost, "--cost UNIT",
        "Cost of keeping a layer: layers macs bytes time. Conversions at format boundaries count too. time is measured "
        "on the engine of --confirm-on or --on; without one, on ONNX Runtime's INT8 kernels (default: layers)")
        .python("cost", kDiagnosing, "the cost of keeping a layer: \"layers\", \"macs\", \"bytes\", \"time\"."),
    row(&SearchOptions::ladder, "--ladder FORMAT",
        "Formats that each layer may take, lowest first, with commas or spaces between them: int8,int16,float16; in "
        "place of --int8 and --precision. The search finds a cheap choice that meets the requirement, and proves that "
        "no layer can go one format down. --cost then counts bits: of each layer, times its multiply-accumulates, or "
        "bytes read (default: two formats)")
        .by_hand()
        .python("ladder", kDiagnosing,
                "formats that each layer may take, lowest first: [\"int8\", \"int16\", \"float16\"], in place of "
                "``low`` and ``high``. ``cost`` then counts bits."),
    row<SearchOptions>("--budget N|TIME",
                       "Stop the search after N runs over the samples, or after 90s, 10m, 2h, with the best set so far "
                       "(default: no limit)"),
    row(&SearchOptions::max_seconds)
        .from(0)
        .python("max_seconds", kDiagnosing, "time limit of the search; 0: no limit.")
        .common(),
    row(&SearchOptions::max_evaluations, "--max-evaluations N", "The same as --budget N; 0: no limit (default: 0)")
        .from(0, 1e9)
        .python("max_evaluations", kDiagnosing, "maximum number of trials, each a run over the samples; 0: no limit."),
    row(&SearchOptions::confidence, "--confidence P",
        "Stop a trial early once failure is this likely, above 0.5 to 1; a set that passes has run on all samples "
        "(default: 1)"),
    row(&SearchOptions::whole_groups, "--whole-groups",
        "Keep or lower these layers together: layers that read the same quantized tensor, or feed the same Add or "
        "Concat"),
    row(&SearchOptions::prove_minimum, "--prove-minimum",
        "Also look for a cheaper set, or prove how much cheaper one could be; needs more evaluations")
        .python("prove_minimum", kDiagnosing, "also prove a lower bound on the cost of any set that passes."),
    row(&SearchOptions::journal, "--journal FILE",
        "Write every trial as a line of JSON, and the plan of the best set so far as FILE.best.json. Without --resume, "
        "trials of an earlier search move to FILE.1 (default: none; debug precision: MODEL-12345678.precision.jsonl in "
        "the folder of -o, or in ~/.cache/vernier)")
        .by_hand()
        .writes(),
    row(&SearchOptions::resume, "--resume", "Resume the search of the journal, without repeating trials"),
    row(&SearchOptions::pareto, "--pareto",
        "Print accuracy against cost, from the trials of the search and up to six more")
        .python("pareto", kDiagnosing, "try up to six more sets, for a curve of accuracy against cost."),
    row<SearchOptions>("--pareto-csv FILE", "Write accuracy against cost as CSV (default: not written)").writes(),
    row<SearchOptions>("--pareto-svg FILE", "Draw accuracy against cost as SVG (default: not drawn)").writes());

/// Which set is looked for: debug precision.
inline constexpr auto kSearchModes = table(
    "SearchOptions", "Search",
    row(&SearchOptions::mode, "--mode MODE",
        "The set to look for. minimal: no layer of it can be dropped. bisect, linear: the first N layers; N by "
        "halving, or counting up. worst-first: the layers that add the most error to their inputs' (default: minimal)")
        .unsaid(),
    row(&SearchOptions::direction, "--direction,--dir DIRECTION",
        "For bisect and linear. forward: the first N layers; reverse: the last N (default: forward)"),
    row(&SearchOptions::step, "--top N", "worst-first: layers added per step (default: 5)").from(1, 1e6),
    row(&SearchOptions::minimal_too, "--no-minimal", "Other modes: do not print what minimal would need").off());

/// The same of the older commands, whose name is the mode.
inline constexpr auto kDirectionAsMode =
    row(&SearchOptions::direction, "--mode DIRECTION",
        "forward: start with the first layer; reverse: with the last (default: forward)");
inline constexpr auto kLayersAtATime =
    row(&SearchOptions::step, "--top N", "Layers added per step (default: 5)").from(1, 1e6);
inline constexpr auto kNoMinimalAlone =
    row(&SearchOptions::minimal_too, "--no-minimal", "Do not print what debug precision --mode minimal would need")
        .off();
inline constexpr auto kSearchDirection =
    table("SearchOptions", "Search", kDirectionAsMode, kLayersAtATime, kNoMinimalAlone);

inline constexpr auto kGolden =
    table("SearchOptions", "Reference",
          row(&SearchOptions::golden, "--golden FILE",
              "Saved outputs to compare with, one iteration per sample (default: run the float32 model)"));

}  // namespace vernier::table
