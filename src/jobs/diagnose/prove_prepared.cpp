#include "jobs/diagnose/prove_prepared.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/figures.h"
#include "analysis/judged_views.h"
#include "engines/onnxruntime/session.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

RunFigures prove_prepared(const Loaded& loaded) {
  const Subject& subject = loaded.subject;
  const Sample sample = loaded.samples->at(0);
  std::map<std::string, OutputStats> stats;
  const auto outputs_of = [&](Model model) {
    auto& listed = *model.proto.mutable_graph()->mutable_output();
    const auto others = std::ranges::remove_if(listed, [&](const onnx::ValueInfoProto& output) {
      return std::ranges::find(subject.judged, output.name()) == subject.judged.end();
    });
    listed.erase(others.begin(), others.end());  // strings, for example, cannot be compared
    std::map<std::string, Tensor> outputs;
    const std::vector<Tensor> values = Session(subject.runtime, model, {.optimize = false}).run(sample);
    for (std::size_t i = 0; i < values.size(); ++i) {
      outputs[model.proto.graph().output(static_cast<int>(i)).name()] = values[i];
    }
    return outputs;
  };
  Model original = *loaded.original;
  judge_alike(original, loaded.views);
  const auto before = outputs_of(original);
  const auto after = outputs_of(subject.model);
  for (const std::string& name : subject.judged)
    stats_of(stats, subject, name).add_sample(0, before.at(name), after.at(name));
  return figures_of(subject, stats, nullptr);
}

}  // namespace vernier
