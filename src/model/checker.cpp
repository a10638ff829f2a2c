#include "model/checker.h"

#include <onnx/checker.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>

#include "model/tensorrt_operators.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// No domain of operators has this name.
constexpr const char* kExperiments = "vernier.experiments";

/// Beyond this a copy of the weights, which the checker looks at the sizes of, takes more memory than it is worth.
constexpr std::size_t kMostCopied = std::size_t{64} << 20U;

/// The checker wants the bytes of every constant that it sees; of an input the type says the same of its readers.
onnx::ModelProto with_weights_as_inputs(const Model& model) {
  onnx::ModelProto proto = model.proto;
  onnx::GraphProto& graph = *proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (!model.weights.contains(tensor.name())) {
      kept.Add()->Swap(&tensor);
      continue;
    }
    add_input(graph, tensor);
  }
  graph.mutable_initializer()->Swap(&kept);
  return proto;
}

/// ONNX's checker passes over operators that were experiments once, and prints their names on standard output, which
/// belongs to results and to other threads. It passes over those of domains that it does not know, too, and is silent.
void hide_experiments(onnx::ModelProto& proto) {
  const auto hide = [](onnx::NodeProto& node) {
    const bool is_one = onnx::checker::check_is_experimental_op(node);
    if (is_one) node.set_domain(kExperiments);
    return is_one;
  };
  const auto import_to = [](auto& holder) {
    onnx::OperatorSetIdProto& opset = *holder.add_opset_import();
    opset.set_domain(kExperiments);
    opset.set_version(1);
  };
  bool any = false;
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) any = hide(node) || any;
  });
  if (any) import_to(proto);
  for (onnx::FunctionProto& function : *proto.mutable_functions()) {
    bool in_function = false;
    for (onnx::NodeProto& node : *function.mutable_node()) in_function = hide(node) || in_function;
    if (in_function) import_to(function);
  }
}

}  // namespace

std::optional<std::string> checker_complaint(const Model& model) {
  Model bare = model;
  bare.notes.reset();  // which it does not look at
  onnx::ModelProto proto = bytes_beside(bare) <= kMostCopied ? whole_proto(bare) : with_weights_as_inputs(bare);
  hide_experiments(proto);
  // An output of unknown rank has no shape in the original either, and engines take it.
  auto& outputs = *proto.mutable_graph()->mutable_output();
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const onnx::ValueInfoProto& output) {
                                 return output.type().has_tensor_type() && !output.type().tensor_type().has_shape();
                               }),
                outputs.end());
  register_tensorrt_operators();
  try {
    onnx::checker::check_model(proto, /*full_check=*/true);
  } catch (const std::bad_alloc&) {
    throw;  // which says nothing of the model
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return std::nullopt;
}

void check_written_model(const Model& model) {
  if (const auto complaint = checker_complaint(model)) {
    throw Error(ErrorKind::Internal, "the ONNX checker refuses a model we made: " + *complaint);
  }
}

}  // namespace vernier
