#include "jobs/search/chosen_objective.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/alike_samples.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/requirement.h"

namespace vernier {

namespace {

SampleCount all_samples_for(Sources& sources, const Model& model) {
  return count_samples(sources.options().data, model_inputs(model), sources.samples(model)->size());
}

}  // namespace

LabelCheck label_check(const LabelRequirement& wanted, Sources& sources, const Model& model) {
  return label_check(wanted, all_samples_for(sources, model));
}

std::unique_ptr<Objective> task_objective(const TaskRequirement& task, Sources& sources, const Model& model,
                                          const std::vector<JudgedView>& views) {
  if (task.labels) {
    const bool of_new = task.labels->confidence > 0.5;
    if (of_new && !sources.options().carries.empty()) {
      throw Error(ErrorCode::Contradiction,
                  "‹claim-confidence› needs samples that do not depend on each other, and "
                  "‹carry› hands a state from one to the next");
    }
    const std::size_t distinct = of_new ? count_distinct(*sources.samples(model)) : 0;
    return of_whole_outputs(label_objective(*task.labels, all_samples_for(sources, model), distinct), views);
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

Deciding deciding(const DiagnoseOptions& options, const Objective* objective, bool engine_in_trials) {
  if (const auto& check = options.search.check) {
    if (check->command.empty())
      return {DecidedBy::Person, false, "‹check› by a person (‹ask›)", "--check by a person (--ask)"};
    std::string command;
    for (const std::string& word : check->command) command += " " + printable(word);
    return {DecidedBy::Program, false, "‹check›" + command, "--check" + command};
  }
  Deciding decides;
  if (objective != nullptr) {
    decides = {objective->decided_by(), false, objective->text(), objective->key()};
  } else {
    const Requirement& requirement = options.measure.requirement.value();
    std::string limits;
    for (const Limit& limit : requirement.limits) {
      limits += fmt::format(" {}{}{:.17g}", printable(limit.output), limit.output.empty() ? "" : ":", limit.value);
    }
    decides.by = engine_in_trials ? DecidedBy::Engine : DecidedBy::Requirement;
    decides.words = fmt::format("‹{}›{}", word_of(requirement.metric), limits);
    decides.key = fmt::format("--{}{}", word_of(requirement.metric), limits);
    if (requirement.confidence > 0.5) decides.key += fmt::format(" sure {:g}", requirement.confidence);
  }
  std::string more;  // of the key, which stays as it is
  if (engine_in_trials) {
    more += fmt::format(", on {}", word_of(options.confirm_on.value()));
    decides.words += fmt::format(" on {}", word_of(options.confirm_on.value()));
  }
  const std::filesystem::path& golden = options.search.golden;
  decides.golden = !golden.empty();
  if (decides.golden) {
    more += fmt::format(", against {}", printable(golden.string()));
    decides.words += fmt::format(" against {}", printable(golden.string()));
  }
  decides.key += more;
  return decides;
}

}  // namespace vernier
