#include "jobs/run/scripted_runners.h"

#include <filesystem>
#include <map>
#include <set>

#include "plan/scheme.h"
#include "vernier/format.h"

namespace vernier {

std::vector<ScriptedModel> run_model_scripts(RunOptions& options, const JobSinks& sinks) {
  std::map<std::filesystem::path, std::set<Format>> scripts;
  for (const RunnerOptions& runner : options.runners) {
    if (is_model_script(runner.model)) scripts[runner.model.file()].merge(formats_named(runner.precision));
  }
  std::vector<ScriptedModel> models;
  for (const auto& [script, formats] : scripts) {
    for (const auto& path :
         {options.save_inputs, options.save_input_blobs, options.save_outputs, options.save_accuracy}) {
      if (!path.empty()) keep_model_script(path, script);
    }
    models.push_back(
        run_model_script(script, formats, options.measure.data, sinks, [&](const Note& note) { sinks.warn(note); }));
    for (RunnerOptions& runner : options.runners) {
      if (runner.model != script) continue;
      runner.model = models.back().path;
      runner.precision.layer_settings = models.back().settings;
    }
  }
  return models;
}

}  // namespace vernier
