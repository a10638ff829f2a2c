#include "analysis/tensor_values.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "vernier/error.h"

namespace vernier {

std::vector<Sample> TensorValues::of(const std::vector<std::string>& names, std::size_t count) {
  std::set<std::string> graph_inputs;
  for (const InputInfo& input : model_inputs(model_)) graph_inputs.insert(input.name);
  std::map<std::string, std::vector<Tensor>> wanted;
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto known = known_.find(name);
    if (known != known_.end() && known->second.size() >= count) {
      wanted.insert(*known);
    } else if (!graph_inputs.contains(name)) {
      missing.push_back(name);
    }
  }
  std::optional<Session> session;
  if (!missing.empty()) {
    session.emplace(runtime_, cut(model_, missing, infer_types(model_)), SessionOptions{.optimize = false});
  }
  std::vector<Sample> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    Sample sample = samples_.at(i);
    if (session) {
      std::vector<Tensor> outputs = session->run(sample);
      for (std::size_t k = 0; k < missing.size(); ++k) wanted[missing[k]].push_back(std::move(outputs[k]));
    }
    for (const std::string& name : names) {
      const auto known = wanted.find(name);
      values[i][name] = known != wanted.end() ? known->second.at(i) : sample.at(name);
    }
  }
  known_ = std::move(wanted);
  return values;
}

void TensorValues::learn_types(const std::vector<std::string>& names, std::map<std::string, onnx::TypeProto>& types) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (!name.empty() && !types.contains(name)) unknown.push_back(name);
  }
  // A few at a time: all tensors of a network at once may be more than there is memory.
  constexpr std::size_t kAtOnce = 4;
  for (std::size_t from = 0; from < unknown.size(); from += kAtOnce) {
    const std::size_t to = std::min(from + kAtOnce, unknown.size());
    try {
      const std::vector<std::string> some(unknown.begin() + static_cast<std::ptrdiff_t>(from),
                                          unknown.begin() + static_cast<std::ptrdiff_t>(to));
      const std::vector<Sample> first = of(some, 1);
      for (const auto& [name, value] : first.at(0)) {
        auto& type = *types[name].mutable_tensor_type();
        type.set_elem_type(static_cast<int>(value.dtype()));
        type.mutable_shape();
        for (std::size_t i = 0; i < value.shape().size(); ++i) type.mutable_shape()->add_dim();
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
    }
  }
  known_.clear();
}

}  // namespace vernier
