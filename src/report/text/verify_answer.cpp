#include "report/text/verify_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "report/text/commands.h"
#include "report/text/figures.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/outcome.h"
#include "vernier/requirement.h"
#include "vernier/target.h"

namespace vernier {
namespace {

/// Met, but not where TensorRT-RTX sums as was measured.
bool doubtful(const VerifyReport& report) { return !report.engine && missed_as_measured(report.other_sums); }

std::string sentence_of(const VerifyReport& report) {
  const std::string file = printable(report.typed_file);
  std::string figure = figure_text(deciding_figures(report), report.requirement);
  if (report.engine) {
    figure += fmt::format(" on {} ({} simulated)", printable(report.engine->engine),
                          figure_text(report.figures, report.requirement));
  }
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::Refused) {
    const auto refused = static_cast<std::size_t>(std::ranges::count_if(report.defects, &FoundDefect::refused));
    const std::string by = compiler_refuses(report) ? printable(report.compiled->engine.name) : "an engine";
    const std::string why = refused > 0 ? plural(refused, "defect") + ", listed below" : "its message is below";
    return fmt::format("{}: no, {} refuses this file: {}.{}", file, by, why,
                       report.figures.outputs.empty() ? "" : " Simulated anyway: " + figure + ".");
  }
  std::string text;
  if (report.reference_quantized) {
    text = fmt::format(
        "{}: {} compared with {}, which holds quantized values itself, so no float model was compared{}.", file, figure,
        printable(report.float_file), outcome == Outcome::NoFloatModel ? ", and this is not a verdict" : "");
  } else if (const TestRow* test = deciding_test(report)) {
    const std::string there = report.engine_test ? " on " + printable(report.engine->engine) : "";
    const bool met = test->verdict == Verdict::Good;
    text = fmt::format("{}: {} is {}{}{}{}. {}.", file, told(report.objective), met ? "met" : "missed", there,
                       test->interval ? right_text(*test) : fmt::format(" ({:.6g})", test->metric),
                       met ? reservation_of(report).clause : "", figure);
  } else if (!report.requirement) {
    text = fmt::format("{}: {} compared with {}.", file, figure, printable(report.float_file));
  } else {
    const bool met = outcome != Outcome::Missed;
    text =
        fmt::format("{}: {}, {} is {}{}{}.", file, figure, required_text(deciding_figures(report), *report.requirement),
                    met ? "met" : "missed", met && doubtful(report) ? " with FP32 accumulation" : "",
                    met ? reservation_of(report).clause : "");
  }
  if (report.nothing_low) text += " The file has no layer in low precision.";
  if (report.other_sums && !report.engine) text += " " + other_sums_sentence(*report.other_sums, report.requirement);
  return text;
}

/// The samples of this command; a placeholder if there were none.
std::string same_data(const VerifyReport& report) {
  const std::string data = report.random_data ? std::string() : data_options(report.command);
  return data.empty() ? "--data DATA" : printable(data);
}

/// " --target onnxruntime": the engine that fuses all pairs of the file as it is; empty if the command names one, if
/// the default does as well, and if none does.
std::string best_target(const VerifyReport& report) {
  const std::vector<std::string> given = words_in(judging_options(report.command));
  const auto best = std::ranges::find_if(
      report.placements, [](const EnginePlacement& row) { return row.refused.empty() && row.not_fused == 0; });
  const bool names_one = std::ranges::find(given, "--target") != given.end();
  if (names_one || best == report.placements.end() || best->target == Target::TensorRt) return {};
  return fmt::format(" --target {}", word_of(best->target));
}

/// The file is repaired in the format that it has.
const char* format_option(const VerifyReport& report) {
  const bool float8 = std::ranges::any_of(report.layers, [](const LayerRow& row) {
    return row.format == Format::Float8E4M3FN || row.format == Format::Float8E5M2;
  });
  return float8 ? "--fp8" : "--int8";
}

/// Whether the file has a layer in low precision that pairs can stand for: without one fix has nothing to lower.
bool lowers_layers(const VerifyReport& report) {
  constexpr std::array<std::string_view, 4> kWithoutPairs = {"LSTM", "GRU", "RNN", "Attention"};
  return std::ranges::any_of(report.layers, [&](const LayerRow& row) {
    return row.format != Format::Float32 && std::ranges::find(kWithoutPairs, row.op_type) == kWithoutPairs.end();
  });
}

}  // namespace

Answer answer_of(const VerifyReport& report) {
  Answer answer;
  answer.sentence = sentence_of(report);
  if (report.reference_quantized) {
    answer.then("Compare with the float model that both were made from:",
                fmt::format("vernier verify FLOAT {} {}", shell_quote(report.typed_file), same_data(report)));
    return answer;
  }
  if (report.nothing_low && outcome_of(report) == Outcome::NothingLeft) {
    answer.then("Pass the quantized file, in second place:",
                fmt::format("vernier verify {} QUANTIZED {}", shell_quote(report.float_file), same_data(report)));
    return answer;
  }
  if (report.placements.empty() || (report.defects.empty() && outcome_of(report) != Outcome::Missed)) return answer;
  const std::string options = fmt::format("{} {}{}{} -o fixed", format_option(report), same_data(report),
                                          same_judging(report.command, report.requirement), best_target(report));
  const bool any_low =
      std::ranges::any_of(report.layers, [](const LayerRow& row) { return row.format != Format::Float32; });
  if (lowers_layers(report)) {
    answer.then("Repair it, with the ranges and the float layers of this file:",
                fmt::format("vernier fix {} --from {} {}", shell_quote(report.float_file),
                            shell_quote(report.typed_file), options));
  } else {
    answer.then(any_low ? "Pairs cannot quantize its low layers. Quantize the float model anew:"
                        : "All its layers compute in FP32. Quantize the float model anew:",
                fmt::format("vernier fix {} {}", shell_quote(report.float_file), options));
  }
  return answer;
}

bool plainly_met(const VerifyReport& report) {
  if (outcome_of(report) != Outcome::Met) return false;
  return reservation_of(report).empty() && (deciding_test(report) != nullptr || !doubtful(report));
}

std::string placement_text(const EnginePlacement& row) {
  if (!row.refused.empty()) return "not checked: " + told(row.refused);
  if (row.not_fused == 0 && row.pairs == 0) return "no pair at an activation, so nothing to fuse";
  if (row.not_fused == 0) return fmt::format("can fuse all {}", plural(row.pairs, "pair"));
  return fmt::format("cannot fuse {}; the first: {}", plural(row.not_fused, "place"), told(row.first));
}

std::string placement_evidence(const VerifyReport& report) {
  return std::string("Checked with ONNX Runtime's optimizer and published rules. ") +
         (report.compiled ? "The compiler of one engine also checked the file:"
                          : told("Pass ‹compile› to ask the engine."));
}

}  // namespace vernier
