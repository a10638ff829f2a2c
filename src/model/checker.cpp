#include "model/checker.h"

#include <onnx/checker.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>
#include <streambuf>

#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// ONNX's checker prints a line about removed experimental operators on standard output, which belongs to results.
class SilentStdout {
 public:
  SilentStdout() : before_(std::cout.rdbuf(swallowed_.rdbuf())) {}
  ~SilentStdout() { std::cout.rdbuf(before_); }
  SilentStdout(const SilentStdout&) = delete;
  SilentStdout& operator=(const SilentStdout&) = delete;

 private:
  std::ostringstream swallowed_;
  std::streambuf* before_;
};

bool fits_one_message(const Model& model) {
  std::size_t total = model.proto.ByteSizeLong();
  for (const auto& [name, weight] : model.weights) total += weight.byte_size();
  return total < 1'900'000'000;
}

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
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(tensor.name());
    onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.mutable_shape();
    for (const std::int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  graph.mutable_initializer()->Swap(&kept);
  return proto;
}

}  // namespace

std::optional<std::string> checker_complaint(const Model& model) {
  const SilentStdout silent;
  onnx::ModelProto proto = fits_one_message(model) ? whole_proto(model) : with_weights_as_inputs(model);
  // An output of unknown rank has no shape in the original either, and engines take it.
  auto& outputs = *proto.mutable_graph()->mutable_output();
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [](const onnx::ValueInfoProto& output) {
                                 return output.type().has_tensor_type() && !output.type().tensor_type().has_shape();
                               }),
                outputs.end());
  try {
    onnx::checker::check_model(proto, /*full_check=*/true);
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
