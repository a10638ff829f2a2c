#include "jobs/diagnose/diagnosis_notes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/trip_counts.h"
#include "plan/simulate_typed.h"

namespace vernier {

std::vector<std::string> notes_of_unmeasured(const std::vector<Layer>& layers, const Plan& plan) {
  std::vector<std::string> notes;
  for (const Layer& layer : layers) {
    std::string note = recurrence_note(layer.op_type, layer.name);
    if (!note.empty() && plan.format_of(layer.name) != Format::Float32) notes.push_back(std::move(note));
  }
  std::vector<std::string> lowered;
  std::vector<std::string> left;
  for (const Layer& layer : layers) {
    if (layer.graph.empty() || layer.follows) continue;
    (plan.format_of(layer.name) == plan.high ? left : lowered).push_back("'" + printable(layer.name) + "'");
  }
  const auto note = [&](const std::vector<std::string>& names, const std::string& what) {
    if (names.empty()) return;
    notes.push_back(fmt::format("{} inside bodies of If, Loop or Scan: {}: {}", plural(names.size(), "layer"), what,
                                fmt::join(names, ", ")));
  };
  note(lowered, "lowered, but not measured one by one");
  note(left, fmt::format("left in {}", format_name(plan.high)));
  return notes;
}

std::vector<std::string> notes_of_loops(const Model& model, const std::vector<Layer>& layers) {
  const TripCounts trips(model, [](const std::string&) { return std::optional(Shape{1}); });  // of Scans a run says it
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (layer.weighted && !trips.of(layer.graph)) names.push_back("'" + printable(layer.name) + "'");
  }
  if (names.empty()) return {};
  return {
      fmt::format("{} in loops without a constant number of iterations, so their multiply-accumulates count once: {}",
                  plural(names.size(), "layer"), list_some(names, 6))};
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
