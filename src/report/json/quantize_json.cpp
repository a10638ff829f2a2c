// What `vernier convert` and `vernier quantize` wrote, as JSON.
#include <optional>
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "report/json/fields_engine.h"
#include "vernier/report/note_text.h"
#include "vernier/report/quantize.h"

namespace vernier {

template <>
struct Fields<SkippedLayers> {
  using R = SkippedLayers;
  static constexpr bool (*elsewhere)(const R&) = [](const R& group) { return !group.instead_of.empty(); };
  static constexpr auto list = std::tuple{
      Prose{"reason", &R::reason}, Field{"runs_in", &R::runs_in}, Field{"instead_of", &R::instead_of, elsewhere},
      Field{"chosen", &R::chosen}, Field{"layers", &R::layers},   Field{"operators", &R::op_types}};
};

template <>
struct Fields<QuantizeResult> {
  using R = QuantizeResult;
  static constexpr auto list = std::tuple{
      Derived{"version", [](const R&) { return 1; }},
      Derived{"file", [](const R& result) { return result.typed.file; }},
      Field{"scheme", &R::scheme},
      Field{"layers_by_format", &R::layers_by_format},
      Derived{"casts", [](const R& result) { return result.typed.casts; }},
      Derived{"quantize_pairs", [](const R& result) { return result.typed.quantize_pairs; }},
      Derived{"quantized_weights", [](const R& result) { return result.typed.quantized_weights; }},
      Derived{"quantized_biases", [](const R& result) { return result.typed.quantized_biases; }},
      Derived{"weight_bytes", [](const R& result) { return result.typed.weight_bytes; }},
      Derived{"original_weight_bytes", [](const R& result) { return result.typed.original_weight_bytes; }},
      Derived{"float_weights", [](const R& result) { return json_of(result.typed.float_weights); }},
      Field{"skipped", &R::skipped},
      Remarks{"notes", "note_codes", &R::notes, note_texts},
      Derived{"typed_notes", [](const R& result) { return in_command_words(json_of(note_texts(result.typed.notes))); }},
      Derived{"typed_note_codes",
              [](const R& result) {
                return result.typed.notes.empty() ? std::nullopt
                                                  : std::optional(json_detail::codes_of(result.typed.notes));
              }},
      Remarks{"warnings", "warning_codes", &R::warnings, note_texts},
      Field{"onnxruntime", &R::onnxruntime},
      Field{"compiled", &R::compiled},
      Field{"is_engine", &R::is_engine}};
};

std::string result_to_json(const QuantizeResult& result) { return to_document(ReportKind::Convert, result); }

}  // namespace vernier
