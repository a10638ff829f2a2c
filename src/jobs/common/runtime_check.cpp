#include "jobs/common/runtime_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

struct Attempt {
  bool loaded = false;
  std::string refused;  // empty: it ran
  std::string node;     // that refuses
  std::vector<Tensor> outputs;
};

Attempt attempt(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample, bool optimize,
                std::size_t threads, DefaultPlace place) {
  Attempt result;
  try {
    const Session session(runtime, model,
                          {.optimize = optimize,
                           .threads = static_cast<int>(threads),
                           .integer_kernels = true,
                           .keeps_no_memory = true,
                           .ir_as_given = true,
                           .any_outputs = true,
                           .providers = providers_at(place, *runtime)});
    result.loaded = true;
    result.outputs = session.run(sample);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    result.node = error.node();
    result.refused = printable_text(first_line(reason_with_node(error)));
  }
  return result;
}

/// Of all float outputs together; infinite where there are none.
double agreement_db(const std::vector<Tensor>& plain, const std::vector<Tensor>& optimized) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < plain.size() && i < optimized.size(); ++i) {
    if (plain[i].dtype() != Dtype::Float32 || plain[i].shape() != optimized[i].shape()) continue;
    for (std::size_t k = 0; k < plain[i].floats().size(); ++k) {
      const double a = plain[i].floats()[k];
      const double b = optimized[i].floats()[k];
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      signal += a * a;
      noise += (a - b) * (a - b);
    }
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

}  // namespace

std::vector<std::string> providers_at(DefaultPlace place, const Runtime& runtime) {
  if (place == DefaultPlace::Cpu || runtime.gpu() == nullptr) return {};
  return {"CUDA"};
}

bool too_large_to_try(const Model& model) {
  constexpr int kMostTriedNodes = 15000;  // its optimizers take the square: some 5 s for as many
  return bytes_beside(model) > kLargeWeights || model.proto.graph().node_size() > kMostTriedNodes;
}

std::optional<RuntimeCheck> try_on_runtime(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                           const SampleSource& samples, std::size_t threads, DefaultPlace place) {
  if (too_large_to_try(model)) return std::nullopt;
  const Sample sample = samples.at(0);
  const Attempt optimized = attempt(runtime, model, sample, /*optimize=*/true, threads, place);
  const Attempt plain = attempt(runtime, model, sample, /*optimize=*/false, threads, place);
  if (optimized.refused.empty()) {
    constexpr double kAnother = 10;  // integer sums that saturate on some CPUs are above it, a lost Relu below
    RuntimeCheck check;
    const double agreement = agreement_db(plain.outputs, optimized.outputs);
    if (agreement < kAnother) check.changed_db = agreement;
    return check;
  }
  if (samples.is_random() && plain.loaded && !plain.refused.empty()) return std::nullopt;
  return RuntimeCheck{optimized.refused, plain.refused.empty(), {}, optimized.node};
}

std::optional<Note> refusal_note(const RuntimeCheck& check, const std::string& version) {
  if (check.changed_db) return Note{"changed-by-optimizations", {{"version", version}, {"db", *check.changed_db}}};
  if (check.refused.empty()) return std::nullopt;
  return Note{"onnxruntime-refuses",
              {{"version", version}, {"runs_unoptimized", check.runs_unoptimized}, {"why", check.refused}}};
}

}  // namespace vernier
