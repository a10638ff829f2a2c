#include "jobs/search/chosen_objective.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "jobs/common/split.h"
#include "vernier/requirement.h"

namespace vernier {

namespace {

SampleCount all_samples_for(Sources& sources, const Model& model) {
  return count_samples(sources.options().data, model_inputs(model), sources.size(model));
}

}  // namespace

LabelCheck label_check(const LabelRequirement& wanted, Sources& sources, const Model& model) {
  return label_check(wanted, all_samples_for(sources, model), numbers_of(*sources.samples(model)));
}

std::unique_ptr<Objective> task_objective(const TaskRequirement& task, Sources& sources, const Model& model,
                                          const std::vector<JudgedView>& views) {
  if (task.labels) {
    return of_whole_outputs(
        label_objective(*task.labels, all_samples_for(sources, model), numbers_of(*sources.samples(model))), views);
  }
  if (task.function) return of_given_outputs(metric_objective(*task.function), views);
  if (!task.metric) return nullptr;
  SourceOptions how = sources.options().data;
  how.interrupted = sources.sinks().interrupted;
  return of_given_outputs(metric_objective(*task.metric, how), views);
}

std::unique_ptr<Objective> chosen_objective(const DiagnoseOptions& options, Sources& sources, const Model& model,
                                            const std::vector<JudgedView>& views) {
  const SearchOptions& search = options.search;
  if (options.measure.requirement || search.check) return nullptr;
  if (auto task = task_objective(search.task, sources, model, views)) return task;
  return search.compare ? of_whole_outputs(comparison_objective(search), views) : nullptr;
}

std::string objective_text(const DiagnoseOptions& options, const Objective* objective) {
  if (options.search.check) {
    if (options.search.check->command.empty()) return "‹check› by a person (‹ask›)";
    std::string command = "‹check›";
    for (const std::string& word : options.search.check->command) command += " " + printable(word);
    return command;
  }
  std::string text;
  if (objective != nullptr) {
    text = objective->text();
  } else {
    const Requirement& requirement = options.measure.requirement.value();
    text = fmt::format("‹{}›", word_of(requirement.metric));
    for (const Limit& limit : requirement.limits) {
      text += fmt::format(" {}{}{:.17g}", printable(limit.output), limit.output.empty() ? "" : ":", limit.value);
    }
  }
  if (options.trials_on_engine) text += fmt::format(", on {}", word_of(options.confirm_on.value()));
  const std::filesystem::path& golden = options.search.golden;
  return text + (golden.empty() ? "" : fmt::format(", against {}", printable(golden.string())));
}

}  // namespace vernier
