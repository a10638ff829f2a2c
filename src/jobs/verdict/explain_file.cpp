// The verdict on a quantized file: `debug loss` and `check placement` for those who asked whether it is good.

#include "vernier/explain_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/text.h"
#include "jobs/common/sources.h"
#include "jobs/verify/stored_values.h"
#include "model/contents.h"
#include "vernier/check_placement.h"
#include "vernier/debug_loss.h"
#include "vernier/error.h"
#include "vernier/report/defects.h"
#include "vernier/report/verify.h"
#include "vernier/target.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSamples = 32;
constexpr Target kTargets[] = {Target::TensorRt, Target::OnnxRuntime, Target::OpenVino};

EnginePlacement placement_on(Target target, const VerifyOptions& options, const JobSinks& sinks) {
  EnginePlacement row;
  row.target = target;
  CheckPlacementOptions wanted;
  wanted.model = options.typed_model;
  wanted.target = target;
  wanted.custom_operators = options.measure.custom_operators;
  try {
    const CheckPlacementReport placed = check_placement(wanted, sinks);
    row.pairs = placed.dequantizers;
    row.not_fused = placed.findings.size();
    if (!placed.findings.empty()) row.first = placed.findings.front().node + ": " + placed.findings.front().why;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    row.refused = first_line(error.what());
  }
  return row;
}

}  // namespace

void explain_file(const VerifyOptions& options, VerifyReport& report, const JobSinks& sinks) {
  Sources sources(options.measure, sinks);
  const std::shared_ptr<const Model> file = sources.model(options.typed_model);
  if (!holds_quantized_values(*file)) return;
  const bool asked = options.measure.requirement || !options.task.empty();
  const bool met = deciding_test(report) != nullptr ? deciding_test(report)->verdict == Verdict::Good
                                                    : deciding_figures(report).passed == true;
  // Of a file that an engine refuses no figure is worth anything.
  const bool refused = std::ranges::any_of(report.defects, &FoundDefect::refused);
  if (!refused && !(asked && met)) {
    DebugLossOptions loss{options.float_model, options.typed_model, options.measure, options.command};
    std::size_t& limit = loss.measure.data.limit;
    limit = limit == 0 ? kMostSamples : std::min(limit, kMostSamples);
    loss.measure.requirement.reset();
    JobSinks quiet = sinks;
    quiet.warning = {};  // verify() said what there is to say of models and samples
    try {
      merge_defects(report.defects, debug_loss(loss, quiet).defects);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Interrupted) throw;
      report.notes.push_back(fmt::format("what its pairs lose was not measured: {}", first_line(error.what())));
    }
  }
  for (const Target target : kTargets) report.placements.push_back(placement_on(target, options, sinks));
}

}  // namespace vernier
