#include "report/text/pipeline_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quote.h"
#include "base/text.h"

namespace vernier {
namespace {

std::string low_option(const std::string& kind) {
  if (kind.find("int8") != std::string::npos) return "--int8";
  if (kind.find("float8") != std::string::npos) return "--fp8";
  return kind.find("bfloat16") != std::string::npos ? "--bf16" : "--fp16";
}

/// The stage where accuracy is lost; the one before it is the reference.
std::vector<StageReport>::const_iterator lost_stage(const PipelineReport& report) {
  return std::find_if(report.stages.begin(), report.stages.end(),
                      [&](const StageReport& stage) { return stage.name == report.lost_at; });
}

}  // namespace

std::string pipeline_answer(const PipelineReport& report) {
  if (!report.lost_at) {
    return fmt::format("No stage falls below {:g} dB against the one before.", report.min_sqnr_db);
  }
  const auto lost = lost_stage(report);
  return fmt::format(
      "Accuracy is lost at stage '{}': {} against '{}'.", printable(lost->name),
      std::isfinite(*lost->step_db) ? fmt::format("{:.1f} dB", *lost->step_db) : "values that are not finite",
      printable((lost - 1)->name));
}

std::vector<std::string> pipeline_commands(const PipelineReport& report, const std::string& data_words) {
  if (!report.lost_at) return {};
  const std::string data = data_words.empty() ? "" : " " + data_words;
  const StageReport& lost = *lost_stage(report);
  const StageReport& before = *(lost_stage(report) - 1);
  const bool from_model = !before.kind.starts_with("saved outputs") && before.kind != "engine",
             to_model = !lost.kind.starts_with("saved outputs");
  const std::string from = shell_quote(before.file), to = shell_quote(lost.file);
  if (lost.kind == "engine") return {fmt::format("vernier inspect engine {}", to)};
  const auto floats = std::ranges::find(report.stages, std::string("float32"), &StageReport::kind);
  if (lost.on && to_model && floats != report.stages.end()) {
    // Where the engine and the simulation part, layer by layer.
    return {fmt::format("vernier verify {} {}{} --on {}", shell_quote(floats->file), to, data, *lost.on)};
  }
  if (from_model && to_model && before.kind == "float32" && lost.kind != "float32") {
    return {fmt::format("vernier verify {} {}{}", from, to, data),
            fmt::format("vernier diagnose {}{} {} --min-sqnr {:g} -o out", from, data, low_option(lost.kind),
                        report.min_sqnr_db)};
  }
  if (from_model && to_model) {
    return {
        fmt::format("vernier run {} {} --sim{} --onnx-outputs mark all --save-outputs stages.json", from, to, data)};
  }
  // The framework gave something else than its own export: the inputs come first, then the graph.
  if (to_model && lost.kind == "float32") {
    return {fmt::format("vernier check data {}{}", to, data), fmt::format("vernier check lint {}", to)};
  }
  if (from_model) {
    return {fmt::format("vernier run {} --sim{} --onnx-outputs mark all --save-outputs expected.json", from, data)};
  }
  return {fmt::format("vernier data diff {} {}", from, to)};
}

}  // namespace vernier
