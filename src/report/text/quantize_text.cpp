// The text of `vernier convert`.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/engine_section.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/quantize.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

/// "4 Conv run in float32: ...: a, b, ..." where weights or a choice are concerned; else operators alone, since nobody
/// asked for them.
std::string skipped_text(const SkippedLayers& group) {
  std::map<std::string, std::size_t> operators;
  for (const std::string& op_type : group.op_types) ++operators[op_type];
  std::string counts;
  for (const auto& [op_type, count] : operators) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, printable(op_type));
  }
  std::vector<std::string> names;
  for (const std::string& name : group.layers) names.push_back(printable(name));
  const std::string instead = group.instead_of.empty() ? "" : ", not " + scheme_words(group.instead_of);
  const std::string text =
      fmt::format("{} in {}{}: {}", counts, scheme_words(group.runs_in), instead, told(group.reason));
  const bool weighted = std::ranges::any_of(group.op_types, [](const std::string& op_type) {
    return op_type == "Conv" || op_type == "ConvTranspose" || op_type == "Gemm" || op_type == "MatMul";
  });
  return weighted || group.chosen ? fmt::format("{} ({})", text, list_some(names)) : text;
}

std::string written_text(const QuantizeResult& result) {
  const std::string file = printable(result.typed.file);
  if (!result.is_engine || !result.compiled) return file + ", strongly typed";
  const EngineReport& engine = *result.compiled;
  return fmt::format("{}, an engine of {} {} for {} ({})", file, engine.engine.name, engine.engine.version,
                     engine.compiled_for, bytes_text(engine.bytes));
}

}  // namespace

std::string result_to_text(const QuantizeResult& result, const TextOptions& options) {
  std::string text = result.typed.file.empty() ? "" : labelled("Written", written_text(result), options.width);
  if (!result.scheme.empty()) text += labelled("Scheme", scheme_words(printable(result.scheme)), options.width);
  std::string layers;
  for (const auto& [format, count] : result.layers_by_format) {
    layers += fmt::format("{}{} {}", layers.empty() ? "" : ", ", count, scheme_words(format));
  }
  if (!layers.empty()) text += labelled("Layers", layers, options.width);
  text += labelled(
      "Added",
      fmt::format("{}, {}", plural(static_cast<std::size_t>(result.typed.casts), "cast"), pairs_text(result.typed)),
      options.width);
  text += labelled("Weights", weights_text(result.typed), options.width);
  for (const SkippedLayers& group : result.skipped) {
    text += wrap(skipped_text(group), options.width, group.instead_of.empty() ? "skipped: " : "lowered: ");
  }
  text += notes_text(result.typed.notes, options, "note: ") + notes_text(result.notes, options, "note: ");
  if (result.compiled) text += engine_section(*result.compiled, options);
  return text;
}

}  // namespace vernier
