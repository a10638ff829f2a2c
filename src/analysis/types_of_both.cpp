#include "analysis/types_of_both.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "analysis/run_tensors.h"
#include "engines/onnxruntime/custom_types.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Model with_shapes_of(const Subject& subject, Model model) {
  const Sample sample = subject.samples->at(0);
  for (onnx::ValueInfoProto& input : *model.proto.mutable_graph()->mutable_input()) {
    const auto given = sample.find(input.name());
    if (given == sample.end()) continue;
    onnx::TensorShapeProto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    for (const std::int64_t dim : given->second.shape()) shape.add_dim()->set_dim_value(dim);
  }
  return model;
}

std::map<std::string, ValueType> types_in(const Subject& subject, Model model) {
  model = with_shapes_of(subject, std::move(model));
  if (holds_unknown_operators(model)) learn_custom_types(*subject.runtime, model);
  return infer_types(model);
}

bool is_float(const ValueType& type) { return type.dtype == Dtype::Float32; }

void learn(const Subject& subject, const Model& model, const std::vector<std::string>& tensors,
           std::map<std::string, ValueType>& types) {
  const std::vector<Tensor> got = tensors_of_first_sample(subject, model, tensors);
  for (std::size_t i = 0; i < got.size(); ++i) types[tensors[i]] = {got[i].dtype(), true, got[i].shape()};
}

}  // namespace

TypesOfBoth::TypesOfBoth(const Subject& subject, const Model& simulated)
    : ref(types_in(subject, without_rounds(subject.model))), low(types_in(subject, without_rounds(simulated))) {}

void TypesOfBoth::learn_shapes(const Subject& subject, const Model& simulated, const std::vector<Match>& pairs) {
  const auto is_open = [](const ValueType& type) {
    return !type.rank_known || std::ranges::any_of(type.shape, [](std::int64_t dim) { return dim < 0; });
  };
  std::set<std::string> of_ref, of_low;
  for (const Match& match : pairs) {
    const auto a = ref.find(match.ref), b = low.find(match.low);
    if (a == ref.end() || b == low.end() || !is_float(a->second) || !is_float(b->second)) continue;
    if (!fits(a->second, b->second)) continue;
    if (is_open(a->second)) of_ref.insert(match.ref);
    if (is_open(b->second)) of_low.insert(match.low);
  }
  if (!of_ref.empty()) learn(subject, subject.model, {of_ref.begin(), of_ref.end()}, ref);
  if (!of_low.empty()) learn(subject, simulated, {of_low.begin(), of_low.end()}, low);
}

bool fits(const ValueType& ref, const ValueType& low) {
  if (!ref.rank_known || !low.rank_known) return true;
  return std::ranges::equal(ref.shape, low.shape,
                            [](std::int64_t one, std::int64_t other) { return one == other || one < 0 || other < 0; });
}

}  // namespace vernier
