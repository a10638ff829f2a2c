#include "flow/diagnosis_notes.h"

#include <fmt/format.h>

#include "core/text.h"
#include "plan/simulate_typed.h"

namespace vernier {

std::vector<std::string> notes_of_unmeasured(const std::vector<Layer>& layers, const Plan& plan) {
  std::vector<std::string> notes;
  for (const Layer& layer : layers) {
    std::string note = recurrence_note(layer.op_type, layer.name);
    if (!note.empty() && plan.format_of(layer.name) != Format::Float32) notes.push_back(std::move(note));
  }
  std::size_t inside = 0;
  std::string names;
  for (const Layer& layer : layers) {
    if (layer.graph.empty()) continue;
    names += fmt::format("{}'{}'", inside++ == 0 ? "" : ", ", printable(layer.name));
  }
  if (inside > 0) {
    notes.push_back(fmt::format("{} inside bodies of If, Loop or Scan: lowered, but not measured one by one: {}",
                                plural(inside, "layer"), names));
  }
  return notes;
}

std::vector<std::string> notes_of_known(const std::vector<std::string>& must, Format high) {
  if (must.empty()) return {};
  std::vector<std::string> quoted;
  for (const std::string& layer : must) quoted.push_back("'" + printable(layer) + "'");
  return {fmt::format(
      "known before the search: with {} low, alone, an output is not finite where the reference is. {} be kept in {}, "
      "or repaired: smaller values (scale them), or a format with more range, as bfloat16",
      list_some(quoted, 6), must.size() == 1 ? "It must" : "Each must", format_name(high))};
}

}  // namespace vernier
