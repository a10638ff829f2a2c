#include "engines/onnxruntime/optimized_graph.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/mapped_file.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/graph_optimization.h"

namespace vernier {
namespace {

/// The runtime's message is about the model. A file that takes no more byte is what could not be written.
void refuse_if_full(int file) {
  if (::lseek(file, 0, SEEK_END) < 0 || ::write(file, "", 1) == 1) return;
  throw Error(ErrorKind::Input, fmt::format("a temporary file in memory cannot be written: {}", std::strerror(errno)),
              "raise the limits of the shell's ulimit: those of files and of memory");
}

/// What the runtime writes for a session of `model` with `options`.
onnx::ModelProto written_for(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                             SessionOptions options) {
  // The runtime wants a path; this one needs no disk.
  const Descriptor descriptor(::memfd_create("vernier", MFD_CLOEXEC));
  if (descriptor.empty()) throw Error(ErrorCode::RuntimeFails, fmt::format("memfd_create: {}", std::strerror(errno)));
  options.optimized = fmt::format("/proc/self/fd/{}", descriptor.get());
  try {
    const Session writes(runtime, model, options);  // its memory is free again before the file is read
  } catch (const Error&) {
    refuse_if_full(descriptor.get());
    throw;
  }
  const auto file = MappedFile::of(descriptor.get(), model.path);
  onnx::ModelProto proto;
  if (!std::in_range<int>(file->bytes().size()) ||
      !proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size()))) {
    throw Error(ErrorCode::RuntimeFails,
                fmt::format("{}: ONNX Runtime wrote an optimized model that is none", model.path.string()));
  }
  return proto;
}

/// The values of `proto`, whose bytes are taken where that can be done.
Tensor taken_from(onnx::TensorProto& proto) {
  const auto dtype = static_cast<Dtype>(proto.data_type());
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const std::size_t bits = static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(dtype));
  if (bits == 0 || proto.raw_data().size() != (bits + 7) / 8) return tensor_of(proto);
  const auto bytes = std::make_shared<const std::string>(std::move(*proto.mutable_raw_data()));
  return {dtype, shape, {bytes, reinterpret_cast<const std::byte*>(bytes->data())}};
}

/// Puts each node behind those it reads from, the outputs' first inputs first: the runtime leaves its nodes in an order
/// that differs from run to run.
void order_from_outputs(onnx::GraphProto& graph) {
  std::map<std::string, int> makers;
  for (int n = 0; n < graph.node_size(); ++n) {
    for (const std::string& output : graph.node(n).output()) makers[output] = n;
  }
  std::vector<int> order;
  std::vector<bool> seen(static_cast<std::size_t>(graph.node_size()), false);
  std::vector<std::pair<int, bool>> open;  // node, and whether what it reads from is placed
  const auto visit = [&](const std::string& tensor) {
    const auto maker = makers.find(tensor);
    if (maker != makers.end() && !seen[static_cast<std::size_t>(maker->second)])
      open.emplace_back(maker->second, false);
  };
  const auto place_all = [&] {
    while (!open.empty()) {
      const auto [n, placed] = open.back();
      open.pop_back();
      if (placed) {
        order.push_back(n);
        continue;
      }
      if (seen[static_cast<std::size_t>(n)]) continue;
      seen[static_cast<std::size_t>(n)] = true;
      open.emplace_back(n, true);
      // The last one pushed is placed first. What bodies capture comes last.
      const onnx::NodeProto& node = graph.node(n);
      if (has_body(node)) {
        for (const std::string& tensor : tensors_read(node)) visit(tensor);
      }
      for (auto input = node.input().rbegin(); input != node.input().rend(); ++input) visit(*input);
    }
  };
  for (const onnx::ValueInfoProto& output : graph.output()) {
    visit(output.name());
    place_all();
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (const int n : order) graph.add_node()->Swap(nodes.Mutable(n));
}

}  // namespace

onnx::ModelProto optimized_graph(const std::shared_ptr<const Runtime>& runtime, const Model& file,
                                 bool kernels_of_x86) {
  return written_for(
      runtime, file,
      {.integer_kernels = true, .kernels_of_x86 = kernels_of_x86, .level = GraphOptimization::EnableExtended});
}

Model optimized_model(const std::shared_ptr<const Runtime>& runtime, const Model& model) {
  Model optimized;
  optimized.path = model.path;
  optimized.proto = written_for(runtime, model, {});
  onnx::GraphProto& graph = *optimized.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  for (onnx::TensorProto& tensor : initializers) {
    if (tensor.data_type() == onnx::TensorProto::STRING) {  // names of classes
      graph.add_initializer()->Swap(&tensor);
      continue;
    }
    add_initializer(optimized, graph, tensor.name(), taken_from(tensor));
  }
  order_from_outputs(graph);
  return optimized;
}

}  // namespace vernier
