#include "report/text/pipeline_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "base/quote.h"
#include "base/text.h"

namespace vernier {
namespace {

std::string_view low_option(const std::vector<Format>& formats) {
  const auto holds = [&](Format format) { return std::ranges::find(formats, format) != formats.end(); };
  if (holds(Format::Int8)) return "--int8";
  if (holds(Format::Float8E4M3FN)) return "--fp8";
  return holds(Format::BFloat16) ? "--bf16" : "--fp16";
}

/// The stage where accuracy is lost; the one before it is the reference.
std::vector<StageReport>::const_iterator lost_stage(const PipelineReport& report) {
  return std::find_if(report.stages.begin(), report.stages.end(),
                      [&](const StageReport& stage) { return stage.name == report.lost_at; });
}

}  // namespace

std::string stage_text(const StageReport& stage) {
  switch (stage.kind) {
    case StageKind::SavedOutputs:
      return "saved outputs";
    case StageKind::SavedRows:
      return "saved outputs, one row per sample";
    case StageKind::Engine:
      return "engine";
    case StageKind::Model:
      break;
  }
  std::string text;
  for (const Format format : stage.formats) text += (text.empty() ? "" : " and ") + std::string(format_title(format));
  return text.empty() ? std::string(format_title(Format::Float32)) : text;
}

std::string pipeline_answer(const PipelineReport& report) {
  if (!report.lost_at) {
    return fmt::format("No stage falls below {:g} dB, compared with the one before.", report.min_sqnr_db);
  }
  const auto lost = lost_stage(report);
  if (lost->not_finite_before > 0) {
    return fmt::format("Stage '{}' changes {} of stage '{}'.", printable(lost->name),
                       plural(static_cast<std::size_t>(lost->not_finite_before), "non-finite value"),
                       printable((lost - 1)->name));
  }
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
  const bool from_model = before.kind == StageKind::Model, to_model = !lost.is_saved();
  const std::string from = shell_quote(before.file), to = shell_quote(lost.file);
  if (lost.kind == StageKind::Engine) return {fmt::format("vernier inspect engine {}", to)};
  const auto floats = std::ranges::find_if(report.stages, &StageReport::is_float32_model);
  if (lost.on && to_model && floats != report.stages.end()) {
    // Where the engine and the simulation part, layer by layer.
    return {fmt::format("vernier verify {} {}{} --on {}", shell_quote(floats->file), to, data, *lost.on)};
  }
  if (from_model && to_model && before.is_float32_model() && !lost.is_float32_model()) {
    return {fmt::format("vernier verify {} {}{}", from, to, data),
            fmt::format("vernier diagnose {}{} {} --min-sqnr {:g} -o out", from, data, low_option(lost.formats),
                        report.min_sqnr_db)};
  }
  if (from_model && to_model) {
    return {
        fmt::format("vernier run {} {} --sim{} --onnx-outputs mark all --save-outputs stages.json", from, to, data)};
  }
  // The framework gave something else than its own export: the inputs come first, then the graph.
  if (to_model && lost.is_float32_model()) {
    return {fmt::format("vernier check data {}{}", to, data), fmt::format("vernier check lint {}", to)};
  }
  if (from_model) {
    return {fmt::format("vernier run {} --sim{} --onnx-outputs mark all --save-outputs expected.json", from, data)};
  }
  return {fmt::format("vernier data diff {} {}", from, to)};
}

}  // namespace vernier
