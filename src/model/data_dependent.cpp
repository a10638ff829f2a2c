#include "model/data_dependent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "base/text.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Inputs that say a size.
struct SizeInputs {
  const char* op_type;
  std::vector<int> inputs;
};
const std::array kSizes = {SizeInputs{"Range", {0, 1, 2}}, SizeInputs{"ConstantOfShape", {0}},
                           SizeInputs{"Expand", {1}},      SizeInputs{"Tile", {1}},
                           SizeInputs{"Resize", {2, 3}},   SizeInputs{"OneHot", {1}},
                           SizeInputs{"Pad", {1}}};

const SizeInputs* size_inputs(const onnx::NodeProto& node) {
  const auto found =
      std::find_if(kSizes.begin(), kSizes.end(), [&](const SizeInputs& row) { return node.op_type() == row.op_type; });
  return found == kSizes.end() || !of_onnx(node) ? nullptr : found;
}

}  // namespace

std::vector<std::string> unbounded_sizes(const Model& model) {
  std::set<std::string> from_data;  // values that come from float data, unbounded
  for (const InputInfo& input : model_inputs(model)) {
    if (input.dtype == Dtype::Float32 || input.dtype == Dtype::Float16 || input.dtype == Dtype::Float64) {
      from_data.insert(input.name);
    }
  }
  std::vector<std::string> found;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (const SizeInputs* sizes = size_inputs(node)) {
      for (const int index : sizes->inputs) {
        if (index >= node.input_size() || !from_data.contains(node.input(index))) continue;
        if (std::find(found.begin(), found.end(), node.input(index)) == found.end()) found.push_back(node.input(index));
      }
    }
    if (has(node, Trait::ReadsShape)) continue;
    const bool bounds = (is_onnx(node, "Min") || is_onnx(node, "Clip")) && node.input_size() > 1 &&
                        std::any_of(node.input().begin() + 1, node.input().end(), [&](const std::string& name) {
                          return !name.empty() && is_initializer(model, name);
                        });
    if (bounds) continue;
    const std::set<std::string> reads = tensors_read(node);
    if (std::any_of(reads.begin(), reads.end(), [&](const std::string& name) { return from_data.contains(name); })) {
      from_data.insert(node.output().begin(), node.output().end());
    }
  }
  return found;
}

void bound_size(Model& model, const std::string& tensor, std::int64_t bound) {
  const std::map<std::string, ValueType> types = infer_types(model);
  const auto type = types.find(tensor);
  if (type == types.end()) {
    throw Error(ErrorCode::InvalidModel, fmt::format("the type of tensor '{}' is not known", printable(tensor)));
  }
  Tensor value(type->second.dtype, {});
  const std::span<std::byte> bytes = value.mutable_bytes();
  const auto put = [&](auto number) { std::memcpy(bytes.data(), &number, sizeof number); };
  switch (type->second.dtype) {
    case Dtype::Int64:
      put(bound);
      break;
    case Dtype::Int32:
      put(static_cast<std::int32_t>(bound));
      break;
    case Dtype::Float32:
      put(static_cast<float>(bound));
      break;
    default:
      throw Error(ErrorCode::InvalidModel, fmt::format("tensor '{}' is {}, and vernier has no Min of that type",
                                                       printable(tensor), dtype_name(type->second.dtype)));
  }
  if (default_opset(model.proto) < 12 && type->second.dtype != Dtype::Float32) {
    throw Error(ErrorCode::InvalidModel,
                fmt::format("tensor '{}': Min takes integers from opset 12 on, the model has {}", printable(tensor),
                            default_opset(model.proto)));
  }
  NamePool names(model);
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::string limit = names.unique(tensor + "_upper_bound");
  const std::string bounded = names.unique(tensor + "_bounded");
  set_initializer(model, graph, limit, value);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  bool placed = false;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const SizeInputs* sizes = size_inputs(node);
    bool reads = false;
    for (int i = 0; sizes != nullptr && i < node.input_size(); ++i) {
      const bool is_size = std::find(sizes->inputs.begin(), sizes->inputs.end(), i) != sizes->inputs.end();
      if (is_size && node.input(i) == tensor) {
        node.set_input(i, bounded);
        reads = true;
      }
    }
    if (reads && !placed) {
      placed = true;
      onnx::NodeProto& min = *nodes.Add();
      min.set_op_type("Min");
      min.set_name(names.unique(tensor + "_min"));
      min.add_input(tensor);
      min.add_input(limit);
      min.add_output(bounded);
    }
    nodes.Add()->Swap(&node);
  }
  graph.mutable_node()->Swap(&nodes);
}

}  // namespace vernier
