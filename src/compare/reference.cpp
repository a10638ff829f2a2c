#include "compare/reference.h"

#include "compare/surgery.h"
#include "engine/ort/operators.h"

namespace vernier {

std::set<std::string> tensors_to_observe(const Subject& subject) {
  std::set<std::string> tensors;
  for (const Layer& layer : subject.layers) {
    if (!layer.weighted) continue;
    tensors.insert(layer.inputs.begin(), layer.inputs.end());
    tensors.insert(layer.outputs.begin(), layer.outputs.end());
  }
  return tensors;
}

Reference run_reference(const Subject& subject, const std::set<std::string>& observed) {
  const std::vector<std::string> names(observed.begin(), observed.end());
  std::map<std::string, std::int64_t> slots;
  for (std::size_t i = 0; i < names.size(); ++i) slots[names[i]] = static_cast<std::int64_t>(i);

  Model model = subject.model;
  tap(*model.proto.mutable_graph(), observed,
      [&](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, slots.at(tensor)); });
  std::map<std::string, Dtype> dtypes;
  for (const InputInfo& output : model_outputs(subject.model)) dtypes[output.name] = output.dtype;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : subject.judged) outputs.emplace_back(name, dtypes[name]);
  for (const Carry& carry : subject.carries) outputs.emplace_back(carry.output, dtypes[carry.output]);
  set_outputs(model, outputs);

  Reference reference;
  const Recorder empty(0, names.size(), 0);
  Recorder total = empty;
  const Session session = subject.session(model);
  std::map<std::string, RangeStats> states;  // of carried inputs: what each sample hands to the next
  std::map<std::string, Tensor> handed_on;
  run_samples(subject, session, all_samples(subject), empty, "reference", [&](SampleResult result) {
    for (const auto& [input, state] : handed_on) {
      if (state.dtype() == Dtype::Float32) accumulate_range(state.floats(), states[input]);
    }
    for (std::size_t i = 0; i < subject.carries.size(); ++i) {
      handed_on[subject.carries[i].input] = result.outputs[subject.judged.size() + i];
    }
    result.outputs.resize(subject.judged.size());
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      reference.totals[subject.judged[i]].add_sample(result.index, result.outputs[i], result.outputs[i]);
    }
    reference.outputs.put(result.index, result.outputs);
    total += result.recorder;
    return true;
  });
  for (std::size_t i = 0; i < names.size(); ++i) {
    reference.ranges[names[i]] = total.ranges[i];
    reference.shapes[names[i]] = total.shapes[i];
  }
  // Graph inputs pass no operator of ours: they are read where they come from.
  for (const InputInfo& input : model_inputs(subject.model)) {
    const auto state = states.find(input.name);
    const bool carried = state != states.end() || handed_on.contains(input.name);
    RangeStats range = state == states.end() ? RangeStats{} : state->second;
    for (const std::size_t index : all_samples(subject)) {
      if (carried && index > 0) break;  // later samples start from the state before
      const Sample sample = subject.samples->at(index);
      const auto value = sample.find(input.name);
      if (value == sample.end()) continue;
      if (value->second.dtype() == Dtype::Float32) accumulate_range(value->second.floats(), range);
      reference.shapes[input.name] = value->second.shape();
    }
    if (input.dtype == Dtype::Float32) reference.ranges[input.name] = range;
  }
  return reference;
}

}  // namespace vernier
