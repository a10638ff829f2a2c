#include "jobs/common/invalid_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/text.h"
#include "model/contents.h"
#include "vernier/lint.h"
#include "vernier/onnx_model.h"
#include "vernier/report/lint.h"

namespace vernier {

std::vector<FoundDefect> invalid_nodes(const std::shared_ptr<const Model>& model,
                                       const std::vector<std::filesystem::path>& custom_operators,
                                       const JobSinks& sinks) {
  if (static_cast<std::size_t>(weight_bytes(*model)) > kLargeWeights) return {};
  LintOptions wanted;
  wanted.model = OnnxModel::of_model(model, model->path.string());
  wanted.measure.custom_operators = custom_operators;
  wanted.run = false;
  const LintReport found = lint(wanted, sinks);
  const auto is_error_of = [](const char* by) {
    return [by](const LintEntry& entry) { return entry.error && entry.source == by; };
  };
  std::vector<FoundDefect> defects;
  if (std::ranges::none_of(found.entries, is_error_of("onnxruntime"))) return defects;
  for (const LintEntry& entry : found.entries) {
    if (!is_error_of("onnx_checker")(entry) && !(entry.error && entry.forbidden)) continue;
    defects.push_back({"invalid-node", entry.nodes.empty() ? std::string() : entry.nodes.front(), entry.message,
                       "all that is wrong with the file: ‹vernier check lint MODEL›", /*refused=*/true});
  }
  return defects;
}

std::vector<FoundDefect> repeated_name_defects(const Model& file, bool refused) {
  if (file.repeated_names.empty()) return {};
  const std::string& name = file.repeated_names.front();
  const std::size_t others = file.repeated_names.size() - 1;
  return {{"invalid-node", name,
           fmt::format("several nodes are named '{}'{}: ONNX Runtime refuses the file", printable(name),
                       others == 0 ? "" : fmt::format(", and so for {}", plural(others, "more name"))),
           "‹vernier convert MODEL -o OUT› writes a name of its own for each node", refused}};
}

}  // namespace vernier
