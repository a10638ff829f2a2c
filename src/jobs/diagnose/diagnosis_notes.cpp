#include "jobs/diagnose/diagnosis_notes.h"

#include <fmt/ranges.h>

#include <optional>

#include "base/text.h"
#include "model/trip_counts.h"
#include "plan/simulate_typed.h"
#include "report/text/figures.h"
#include "vernier/report/figures.h"

namespace vernier {

std::vector<Note> notes_of_unmeasured(const std::vector<Layer>& layers, const Plan& plan) {
  std::vector<Note> notes;
  for (const Layer& layer : layers) {
    if (!traits_of(layer.op_type).any(Trait::Recurrent) || plan.format_of(layer.name) == Format::Float32) continue;
    notes.push_back(recurrence_note(layer.op_type, layer.name));
  }
  std::vector<std::string> lowered;
  std::vector<std::string> left;
  for (const Layer& layer : layers) {
    if (layer.graph.empty() || layer.follows) continue;
    (plan.format_of(layer.name) == plan.high ? left : lowered).push_back(layer.name);
  }
  if (!lowered.empty()) notes.push_back({"layers-in-bodies-lowered", {{"layers", lowered}}});
  if (!left.empty()) notes.push_back({"layers-in-bodies-left", {{"layers", left}, {"format", format_name(plan.high)}}});
  return notes;
}

std::vector<Note> notes_of_loops(const Model& model, const std::vector<Layer>& layers) {
  const TripCounts trips(model, [](const std::string&) { return std::optional(Shape{1}); });  // of Scans a run says it
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (layer.weighted && !trips.of(layer.graph)) names.push_back(layer.name);
  }
  if (names.empty()) return {};
  return {{"layers-in-loops", {{"layers", names}}}};
}

std::vector<Note> notes_of_known(const std::vector<std::string>& must, Format high) {
  if (must.empty()) return {};
  return {{"known-before-the-search", {{"layers", must}, {"format", format_name(high)}}}};
}

std::optional<Note> worse_high_note(const DiagnoseReport& report) {
  if (!report.requirement || !report.all_high || report.all_high->passed != false) return std::nullopt;
  const std::optional<double>&high = report.all_high->damage, &low = report.all_low.damage;
  if (!high || !low || !(*high > *low)) return std::nullopt;
  return Note{"high-format-worse",
              {{"high", std::string(format_title(report.high))},
               {"with", figure_text(*report.all_high, report.requirement)},
               {"without", figure_text(report.all_low, report.requirement)}}};
}

}  // namespace vernier
