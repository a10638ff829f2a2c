#include "engines/onnxruntime/optimized_graph.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/file.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// The message in a file that the runtime wrote for `source`.
onnx::ModelProto proto_in(const std::filesystem::path& file, const std::filesystem::path& source) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(read_text(file))) {
    throw Error(ErrorKind::Backend,
                fmt::format("{}: ONNX Runtime wrote an optimized model that is none", source.string()));
  }
  return proto;
}

}  // namespace

onnx::ModelProto optimized_graph(const std::shared_ptr<const Runtime>& runtime, const std::filesystem::path& path,
                                 const std::filesystem::path& scratch) {
  const OrtApi& api = runtime->api();
  const OwnedOptions options = runtime->new_options();
  OrtSessionOptions* const raw_options = options.get();
  runtime->check(api.SetSessionGraphOptimizationLevel(raw_options, ORT_ENABLE_EXTENDED));
  runtime->check(api.SetSessionLogSeverityLevel(raw_options, ORT_LOGGING_LEVEL_FATAL));
  runtime->check(api.SetOptimizedModelFilePath(raw_options, scratch.c_str()));
  OrtSession* raw = nullptr;
  runtime->check(api.CreateSession(runtime->env(), path.c_str(), raw_options, &raw));
  const Handle<OrtSession, &OrtApi::ReleaseSession> session(api, raw);
  return proto_in(scratch, path);
}

Model optimized_model(const std::shared_ptr<const Runtime>& runtime, const Model& model) {
  // The runtime wants a path; this one needs no disk.
  const Descriptor file(::memfd_create("vernier", MFD_CLOEXEC));
  if (file.empty()) throw Error(ErrorKind::Backend, fmt::format("memfd_create: {}", std::strerror(errno)));
  SessionOptions options;
  options.optimized = fmt::format("/proc/self/fd/{}", file.get());
  const Session session(runtime, model, options);
  Model optimized;
  optimized.path = model.path;
  optimized.proto = proto_in(options.optimized, model.path);
  onnx::GraphProto& graph = *optimized.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  for (const onnx::TensorProto& tensor : initializers) {
    add_initializer(optimized, graph, tensor.name(), tensor_of(tensor));
  }
  return optimized;
}

}  // namespace vernier
