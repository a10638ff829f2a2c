#include "analysis/judged_tensors.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vernier {

std::vector<JudgedTensor> judged_tensors(const Subject& subject) {
  std::map<std::string, const Layer*> makers;
  for (const Layer& layer : subject.layers) {
    if (!layer.graph.empty()) continue;
    for (const std::string& output : layer.outputs) makers[output] = &layer;
  }
  std::vector<JudgedTensor> tensors;
  for (const std::string& output : subject.judged) {
    auto maker = makers.find(output);
    while (maker != makers.end() && maker->second->follows && maker->second->inputs.size() == 1) {
      maker = makers.find(maker->second->inputs.front());
    }
    const bool behind = maker != makers.end() && maker->second->op_type == "Softmax";
    tensors.push_back({output, behind ? maker->second->name : ""});
  }
  return tensors;
}

void run_judged(const Subject& subject, const std::vector<JudgedTensor>& judged, Model model,
                const std::vector<std::size_t>& order, const VisitTensors& visit) {
  std::vector<std::string> names;  // each once: two outputs may be moved from one Softmax
  std::vector<std::size_t> places;
  for (const JudgedTensor& tensor : judged) {
    const std::string name = tensor.name_in(model);
    places.push_back(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
    if (places.back() == names.size()) names.push_back(name);
  }
  run_tensors(subject, std::move(model), names, order, [&](std::size_t sample, const std::vector<Tensor>& got) {
    std::vector<Tensor> chosen;
    for (const std::size_t place : places) chosen.push_back(got[place]);
    return visit(sample, chosen);
  });
}

}  // namespace vernier
