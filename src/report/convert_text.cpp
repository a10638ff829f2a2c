// The text of `vernier convert`.
#include <fmt/format.h>

#include "core/text.h"
#include "report/layout.h"
#include "report/numbers.h"
#include "report/sections.h"
#include "vernier/jobs.h"

namespace vernier {

std::string result_to_text(const ConvertResult& result, const TextOptions& options) {
  std::string text = labelled("Written", shown(result.typed.file) + ", strongly typed", options.width);
  if (!result.scheme.empty()) text += labelled("Scheme", shown(result.scheme), options.width);
  std::string layers;
  for (const auto& [format, count] : result.layers_by_format) {
    layers += fmt::format("{}{} {}", layers.empty() ? "" : ", ", count, format);
  }
  if (!layers.empty()) text += labelled("Layers", layers, options.width);
  text +=
      labelled("Added",
               fmt::format("{}, {}", plural(static_cast<std::size_t>(result.typed.casts), "cast"),
                           plural(static_cast<std::size_t>(result.typed.quantize_pairs), "quantize/dequantize pair")),
               options.width);
  text += labelled(
      "Weights",
      fmt::format("{}, were {}", bytes_text(result.typed.weight_bytes), bytes_text(result.typed.original_weight_bytes)),
      options.width);
  for (const std::vector<std::string>* notes : {&result.typed.notes, &result.notes}) {
    for (const std::string& note : *notes) text += wrap(shown(note), options.width, "note: ");
  }
  return text;
}

}  // namespace vernier
