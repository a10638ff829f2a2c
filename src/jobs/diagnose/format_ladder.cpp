#include "jobs/diagnose/format_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "jobs/search/costs.h"
#include "plan/target.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/search_options.h"

namespace vernier {
namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& hint) {
  throw Error(ErrorCode::BadValue, "‹ladder›: " + why, hint);
}

/// What a ladder needs of itself.
void check_rungs(const DiagnoseOptions& options) {
  const std::vector<Format>& ladder = options.search.ladder;
  const PrecisionOptions& precision = options.precision;
  if (ladder.size() < 2) {
    refuse(fmt::format("{} alone is not a ladder", format_name(ladder.front())), "‹ladder› int8,float16");
  }
  if (needs_scale(ladder.back())) {
    refuse(fmt::format("its last format is {}: layers fall back to float32, float16 or bfloat16",
                       format_name(ladder.back())),
           fmt::format("‹ladder› ...,{},float16", format_name(ladder.back())));
  }
  const auto bits = [&](Format format) { return bits_read(format, ladder.back(), precision.rules); };
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    if (bits(ladder[i - 1]) < bits(ladder[i])) continue;
    refuse(fmt::format("{} reads {:g} bits for each multiply-accumulate, and {} before it {:g}: rungs must ascend",
                       format_name(ladder[i]), bits(ladder[i]), format_name(ladder[i - 1]), bits(ladder[i - 1])),
           "order the formats by bits, each with more than the one before");
  }
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    const Format format = under_target(ladder[i], precision.target);
    if (!needs_scale(format) || !scaled_scheme(precision.target, format).integer_kernels) continue;
    refuse(fmt::format("{} must be the first format with ‹target› {}: its integer kernels quantize results too",
                       format_name(ladder[i]), word_of(precision.target)),
           fmt::format("‹ladder› {},...", format_name(ladder[i])));
  }
}

/// What a search on a ladder leaves out.
void check_rest(const DiagnoseOptions& options) {
  const SearchOptions& search = options.search;
  if (search.mode != SearchMode::Minimal) {
    refuse(fmt::format("‹mode› {} walks a list of layers, which has one format to raise them to", word_of(search.mode)),
           "‹mode› minimal");
  }
  if (search.check || options.trials_on_engine) {
    refuse("‹check› and ‹on› support two formats only", "remove ‹ladder›, or give a requirement");
  }
  if (search.whole_groups) refuse("‹whole-groups› keeps groups in one format", "remove ‹whole-groups› or ‹ladder›");
  if (search.pareto) refuse("‹pareto› draws a curve for two formats only", "remove ‹pareto› or ‹ladder›");
  if (options.precision.rules.weights_only) {
    refuse("with weights alone quantized all rungs would compute in the last format",
           "remove ‹ladder›, or quantize activations too");
  }
  if (options.precision.calibration.method != CalibrationMethod::MinMax) {
    refuse(fmt::format("‹calibration-method› {} chooses ranges for one format of a tensor",
                       method_name(options.precision.calibration.method)),
           "‹calibration-method› minmax");
  }
  if (options.from || !options.measure.calibration_cache.empty()) {
    refuse(options.from ? "a quantized file has ranges for one format of a tensor"
                        : "‹calibration-cache› has ranges for one format of a tensor",
           options.from ? "remove ‹from› or ‹ladder›" : "remove ‹calibration-cache› or ‹ladder›");
  }
}

}  // namespace

DiagnoseOptions with_ladder(DiagnoseOptions options) {
  const std::vector<Format> ladder = options.search.ladder;
  if (ladder.empty()) return options;
  check_rungs(options);
  check_rest(options);
  options.precision.low.assign(ladder.begin(), ladder.end() - 1);
  options.precision.high = ladder.back();
  options.precision.ladder = true;
  options.alternatives = 0;
  return options;
}

void refuse_ladder_of(const OnnxModel& model) {
  throw Error(ErrorCode::NotFloat,
              fmt::format("{}: it is in low precision already, with ranges for one format of a tensor", model.name()),
              "give its float model, or remove ‹ladder›");
}

void keep_formats_of(const Plan& plan, std::vector<Format>& rungs) {
  std::erase_if(rungs, [&](Format rung) {
    return std::ranges::find(plan.layers, under_target(rung, plan.target), &PlannedLayer::format) == plan.layers.end();
  });
}

}  // namespace vernier
