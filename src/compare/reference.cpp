#include "compare/reference.h"

#include <fmt/format.h>

#include <span>

#include "compare/surgery.h"
#include "core/hash.h"
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

namespace {

void add_to_hash(const std::string& name, const Tensor& value, Sha256& hash) {
  const std::string header = fmt::format("{} {} {}\n", name, dtype_name(value.dtype()), shape_text(value.shape()));
  hash.update(std::as_bytes(std::span(header)));
  hash.update(value.bytes());
}

/// Graph inputs pass no operator of ours: they are read where they come from. `states` are the ranges of carried ones,
/// which only the first sample reads from the data.
void read_inputs(const Subject& subject, const std::map<std::string, RangeStats>& states, Reference& reference) {
  const std::vector<InputInfo> inputs = model_inputs(subject.model);
  std::set<std::string> carried;
  for (const Carry& carry : subject.carries) carried.insert(carry.input);
  for (const InputInfo& input : inputs) {
    const auto state = states.find(input.name);
    if (input.dtype == Dtype::Float32) {
      reference.ranges[input.name] = state == states.end() ? RangeStats{} : state->second;
    }
  }
  Sha256 hash;
  for (const std::size_t index : all_samples(subject)) {
    const Sample sample = subject.samples->at(index);
    for (const auto& [name, value] : sample) add_to_hash(name, value, hash);
    for (const InputInfo& input : inputs) {
      const auto value = sample.find(input.name);
      if (value == sample.end() || (carried.contains(input.name) && index > 0)) continue;
      if (value->second.dtype() == Dtype::Float32) {
        accumulate_range(value->second.floats(), reference.ranges[input.name]);
      }
      reference.shapes[input.name] = value->second.shape();
    }
  }
  reference.data_sha256 = hash.hex();
}

}  // namespace

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
  read_inputs(subject, states, reference);
  return reference;
}

}  // namespace vernier
