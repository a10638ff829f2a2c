#include "engines/onnxruntime/session_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/providers.h"
#include "vernier/error.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

// Where tensors of the inside are marked as outputs, nearly all memory leaves with them: what an arena or a plan keeps
// for the next run would come on top.
constexpr std::size_t kManyOutputs = 16;

// Two threads wait for each other where an arena hands out every tensor of a run by itself: vit-cifar on two threads
// takes 1.6 times as long as where one block is planned for all (measured: 1.31.1).
constexpr std::size_t kSmallInputs = std::size_t{64} << 10U;

/// Whether weights are few and the shapes of all inputs are given, dimensions left open aside: tensors within are then
/// small.
bool has_small_tensors(const Model& model) {
  if (bytes_beside(model) >= kTrimmedBytes) return false;
  std::size_t bytes = 0;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) {
    const onnx::TypeProto::Tensor& type = input.type().tensor_type();
    if (!type.has_shape()) return false;
    std::size_t elements = 1;
    for (const auto& dim : type.shape().dim())
      elements *= static_cast<std::size_t>(std::max<std::int64_t>(dim.dim_value(), 1));
    bytes += elements * sizeof(float);
  }
  return bytes <= kSmallInputs;
}

/// Sums of pairs in 16 bits, which CPUs alone have.
bool has_pair_sums(const onnx::GraphProto& graph) {
  return std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) { return node.op_type() == "PairSums"; });
}

}  // namespace

bool runs_on_gpu(const Runtime& runtime, const SessionOptions& options, const onnx::GraphProto& graph) {
  if (runtime.gpu() == nullptr || has_pair_sums(graph)) return false;
  return options.providers.empty() ? !options.integer_kernels : options.providers == std::vector<std::string>{"CUDA"};
}

GraphOptimizationLevel level_of(const SessionOptions& options) {
  if (!options.level) return options.optimize ? ORT_ENABLE_ALL : ORT_DISABLE_ALL;
  switch (*options.level) {
    case GraphOptimization::DisableAll:
      return ORT_DISABLE_ALL;
    case GraphOptimization::EnableBasic:
      return ORT_ENABLE_BASIC;
    case GraphOptimization::EnableExtended:
      return ORT_ENABLE_EXTENDED;
    case GraphOptimization::EnableAll:
      break;
  }
  return ORT_ENABLE_ALL;
}

OwnedOptions runtime_options(const Runtime& runtime, const SessionOptions& options, const Model& model, bool in_turns) {
  const onnx::GraphProto& graph = model.proto.graph();
  const OrtApi& api = runtime.api();
  OwnedOptions owned = runtime.new_options();
  OrtSessionOptions* const raw = owned.get();
  runtime.check(api.SetSessionGraphOptimizationLevel(raw, level_of(options)));
  if (!options.profile.empty()) runtime.check(api.EnableProfiling(raw, options.profile.c_str()));
  if (!options.optimized.empty()) {
    runtime.check(api.SetOptimizedModelFilePath(raw, options.optimized.c_str()));
    runtime.check(api.AddSessionConfigEntry(raw, kOrtSessionOptionsConfigDisablePrepacking, "1"));  // it is not to run
  }
  const bool on_gpu = runs_on_gpu(runtime, options, graph);
  if (!on_gpu) append_providers(runtime, raw, options.providers);
  runtime.check(api.SetIntraOpNumThreads(raw, options.threads));
  runtime.check(api.SetInterOpNumThreads(raw, 1));
  runtime.check(api.SetSessionExecutionMode(raw, ORT_SEQUENTIAL));
  runtime.check(api.SetSessionLogSeverityLevel(raw, ORT_LOGGING_LEVEL_FATAL));
  if (!options.integer_kernels) {
    runtime.check(api.AddSessionConfigEntry(raw, kOrtSessionOptionsDisableQuantQDQ, "1"));
    // A planned block comes on top of the chunks that the first runs, which nothing was planned for, leave behind.
    if (!has_small_tensors(model)) runtime.check(api.DisableMemPattern(raw));
  }
  if (options.kernels_of_x86) runtime.check(api.AddSessionConfigEntry(raw, kOrtSessionOptionsQDQIsInt8Allowed, "0"));
  if (static_cast<std::size_t>(graph.output_size()) > kManyOutputs || options.keeps_no_memory) {
    runtime.check(api.DisableMemPattern(raw));
    runtime.check(api.DisableCpuMemArena(raw));
  } else if (in_turns && !on_gpu) {
    runtime.check(api.AddSessionConfigEntry(raw, kOrtSessionOptionsConfigUseEnvAllocators, "1"));  // of a SharedArena
  }
  const bool optimizes = level_of(options) != ORT_DISABLE_ALL && !options.faulty_optimizers;
  std::vector<std::string> left_out = optimizes ? faulty_optimizers(graph) : std::vector<std::string>();
  if (!options.left_out.empty()) left_out.push_back(options.left_out);
  if (!left_out.empty()) {
    const std::string names = fmt::format("{}", fmt::join(left_out, ";"));
    runtime.check(api.AddSessionConfigEntry(raw, kOrtSessionOptionsDisableSpecifiedOptimizers, names.c_str()));
  }
  // Spinning threads steal the core from the samples that run beside this one.
  runtime.check(
      api.AddSessionConfigEntry(raw, kOrtSessionOptionsConfigAllowIntraOpSpinning, options.threads > 1 ? "1" : "0"));
  if (on_gpu) {
    runtime.gpu()->add_to(runtime, raw);
  } else {
    register_operators(runtime, raw);
  }
  return owned;
}

}  // namespace vernier
