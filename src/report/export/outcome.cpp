#include "vernier/report/outcome.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "report/told.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/quantize.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

constexpr int kNothingLeftExitCode = 5;

bool refused(const std::optional<EngineReport>& compiled) { return compiled && !compiled->refused.empty(); }

/// ONNX Runtime, the target, does not run the file as it comes.
bool refused_by_target(const DiagnoseReport& report) {
  return report.target == Target::OnnxRuntime && report.typed && report.typed->onnxruntime &&
         !report.typed->onnxruntime->refused.empty();
}

/// What the written file says, by that which decided the search; nullopt: there is none, or it was not measured.
std::optional<bool> file_meets(const DiagnoseReport& report) {
  const bool by_task = report.kept && !report.kept->by_requirement();
  if (by_task && report.kept->engine_test && report.kept->engine_test->verdict != Verdict::Good) return false;
  if (by_task && report.kept->file_test) return report.kept->file_test->verdict == Verdict::Good;
  if (report.engine && report.engine->figures.passed == false) return false;
  if (!by_task && report.final_figures) return report.final_figures->passed == true;
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> words_of(Outcome /*which*/) {
  static constexpr std::array<std::string_view, 13> kWords{
      "no-requirement", "not-searched", "nothing-needed", "met",          "stopped",        "unstable", "not-verified",
      "file-misses",    "missed",       "impossible",     "nothing-left", "no-float-model", "refused"};
  return kWords;
}

std::string_view text_of(Outcome outcome) {
  static constexpr std::array<std::string_view, 13> kTexts{
      "no requirement, labels, script or check was given",
      "interrupted before the search, and the requirement is missed with every layer low",
      "the requirement is met with every layer low",
      "the requirement is met with the kept layers",
      "met, but the search was stopped, so fewer layers may be enough",
      "the same test had different answers, so the kept layers are not proven",
      "met in simulation, but interrupted before the output model was measured",
      "met in simulation, but the output model misses the requirement",
      "the file that verify measured misses the requirement",
      "no choice of layers meets the requirement",
      "met, but with no layer in low precision: every layer is kept, none could be lowered, or verify read a float "
      "file",
      "the reference itself is quantized, so a float model is needed",
      "an engine refuses the file"};
  return kTexts[static_cast<std::size_t>(outcome)];
}

namespace {

/// What the figures say, whatever they were measured against.
Outcome measured_outcome(const DiagnoseReport& report) {
  const bool by_task = report.kept && !report.kept->by_requirement();
  if (!report.requirement && !by_task) return Outcome::NoRequirement;
  if (!report.kept) {
    if (report.engine && report.engine->figures.passed == false) return Outcome::FileMisses;
    if (report.final_figures) return report.final_figures->passed == true ? Outcome::Met : Outcome::FileMisses;
    if (report.all_low.passed != true) return Outcome::NotSearched;
    return report.interrupted ? Outcome::NotVerified : Outcome::NothingNeeded;
  }
  if (report.kept->end == SearchEnd::Impossible) return Outcome::Impossible;
  const std::optional<bool> file = file_meets(report);
  if (file == false) return Outcome::FileMisses;
  // What a check judged is the model itself.
  if (!file && report.interrupted && !report.kept->by_outside_check()) return Outcome::NotVerified;
  if (keeps_everything(report)) return Outcome::NothingLeft;
  switch (report.kept->end) {
    case SearchEnd::NothingNeeded:
      return Outcome::NothingNeeded;
    case SearchEnd::Stopped:
      return Outcome::Stopped;
    case SearchEnd::Unstable:
      return Outcome::Unstable;
    case SearchEnd::Certified:
    case SearchEnd::Found:
    case SearchEnd::Impossible:
      break;
  }
  return Outcome::Met;
}

}  // namespace

bool wholly_float32(const DiagnoseReport& report) { return report.typed && report.typed->lowered == std::size_t{0}; }

bool keeps_everything(const DiagnoseReport& report) {
  if (!report.kept) return false;
  // In FP16 with INT8 asked for, no layer is low either.
  const bool quantizes = report.typed && (report.typed->quantize_pairs > 0 || report.typed->quantized_weights > 0);
  if (wholly_float32(report) || (report.typed && !quantizes && lowered_layers(report) == 0)) return true;
  const KeptSetReport& kept = *report.kept;
  const auto below_top = [&](const RaisedLayer& layer) { return layer.format != report.high; };
  if (kept.ladder && std::ranges::any_of(kept.ladder->raised, below_top)) return false;
  return !kept.layers.empty() && kept.layers.size() == lowered_layers(report);
}

std::size_t lowered_layers(const DiagnoseReport& report) {
  const auto lowered = std::count_if(report.layers.begin(), report.layers.end(), [&](const LayerRow& row) {
    return row.format != report.high && row.format != Format::Float32;
  });
  return static_cast<std::size_t>(lowered);
}

bool is_missed(Outcome outcome) {
  return outcome == Outcome::FileMisses || outcome == Outcome::Missed || outcome == Outcome::Impossible ||
         outcome == Outcome::Refused;
}

Outcome outcome_of(const DiagnoseReport& report) {
  if (refused_by_target(report)) return Outcome::Refused;
  const Outcome measured = measured_outcome(report);
  if (!report.reference_from_file) return measured;
  switch (measured) {
    case Outcome::NothingNeeded:
    case Outcome::Met:
    case Outcome::NothingLeft:
    case Outcome::Stopped:
    case Outcome::Unstable:
      return Outcome::NoFloatModel;
    default:
      return measured;
  }
}

Outcome outcome_of(const VerifyReport& report) {
  if (is_refused(report)) return Outcome::Refused;
  const TestRow* const test = deciding_test(report);
  if (test == nullptr && !report.requirement) return Outcome::NoRequirement;
  if (report.reference_quantized) return Outcome::NoFloatModel;
  const bool good = test != nullptr ? test->verdict == Verdict::Good : deciding_figures(report).passed.value_or(true);
  if (!good) return Outcome::Missed;
  return report.nothing_low ? Outcome::NothingLeft : Outcome::Met;
}

bool met(const DiagnoseReport& report) {
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::Stopped || outcome == Outcome::Unstable) return file_meets(report) == true;
  return outcome == Outcome::Met || outcome == Outcome::NothingNeeded || outcome == Outcome::NothingLeft;
}

int exit_code_of(const QuantizeResult& result) {
  return refused(result.compiled) ? static_cast<int>(ErrorKind::Backend) : 0;
}

int exit_code_of(const DiagnoseReport& report) {
  const Outcome outcome = outcome_of(report);
  if (refused(report.compiled) || outcome == Outcome::Refused) return static_cast<int>(ErrorKind::Backend);
  if (outcome == Outcome::NothingLeft) return kNothingLeftExitCode;
  return outcome == Outcome::NoRequirement || met(report) ? 0 : 1;
}

int exit_code_of(const VerifyReport& report) {
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::NothingLeft) return kNothingLeftExitCode;
  return outcome == Outcome::NoRequirement || outcome == Outcome::Met ? 0 : 1;
}

}  // namespace vernier
