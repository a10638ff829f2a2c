#include "engines/onnxruntime/optimized_graph.h"

#include <fmt/format.h>

#include "base/file.h"
#include "engines/onnxruntime/runtime.h"
#include "vernier/error.h"

namespace vernier {

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
  onnx::ModelProto proto;
  if (!proto.ParseFromString(read_text(scratch))) {
    throw Error(ErrorKind::Backend,
                fmt::format("{}: ONNX Runtime wrote an optimized model that is none", path.string()));
  }
  return proto;
}

}  // namespace vernier
