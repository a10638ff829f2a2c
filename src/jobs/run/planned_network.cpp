#include "jobs/run/planned_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/scripting/network_scripts.h"
#include "plan/scheme.h"
#include "vernier/format.h"
#include "vernier/report/note_text.h"

namespace vernier {

bool says_formats(const PrecisionOptions& precision) {
  return formats_named(precision) != std::set<Format>{Format::Float32} || !precision.layer_precisions.empty() ||
         !precision.layer_settings.empty() || !precision.network_scripts.empty();
}

std::string formats_of(const std::vector<PlannedLayer>& layers) {
  std::map<Format, std::size_t> counts;
  for (const PlannedLayer& layer : layers) ++counts[layer.format];
  std::string text;
  for (const auto& [format, count] : counts) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", plural(count, "layer"), format_name(format));
  }
  return text;
}

PlannedNetwork plan_network(const RunnerOptions& runner, const MeasureOptions& measure, Sources& sources,
                            const Warn& warn, const std::function<void(const std::string&)>& say) {
  const PrecisionOptions precision = run_network_scripts(runner.model, runner.precision, measure.data, sources, warn);
  PlannedNetwork planned{load(runner.model, preparation_of(precision), sources), {}, false};
  const Loaded& loaded = planned.loaded;
  for (const Note& note : loaded.warnings) warn(note);
  for (const Note& note : loaded.notes) say(note_text(note));
  const Subject& subject = loaded.subject;
  AssignedFormats assigned = assign_formats(subject.model, subject.layers, precision);
  for (const Note& note : assigned.warnings) warn(note);
  for (const Note& note : assigned.notes) say(note_text(note));
  planned.plan = std::move(assigned.plan);
  for (const Note& note : calibrate_on_samples(planned.plan, subject.model, subject.layers, loaded, precision,
                                               measure.calibration_cache)) {
    warn(note);
  }
  say(planned.plan.scheme + "; " + formats_of(planned.plan.layers));
  const bool scaled = std::any_of(planned.plan.layers.begin(), planned.plan.layers.end(),
                                  [](const PlannedLayer& layer) { return needs_scale(layer.format); });
  planned.calibrated_here = scaled && measure.calibration_cache.empty();
  return planned;
}

}  // namespace vernier
