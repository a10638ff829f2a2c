#include "jobs/common/runtime_check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/process.h"
#include "base/process_copy.h"
#include "base/refuse.h"
#include "base/text.h"
#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "plan/simulate_typed.h"
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

/// One file, tried on one sample in several ways.
class Trials {
 public:
  Trials(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample, std::size_t threads,
         DefaultPlace place)
      : runtime_(runtime), model_(model), sample_(sample) {
    options_.threads = static_cast<int>(threads);
    options_.integer_kernels = true;
    options_.keeps_no_memory = true;
    options_.ir_as_given = true;
    options_.any_outputs = true;
    options_.providers = providers_at(place, *runtime);
  }

  Attempt plain() const { return attempt(model_, without_optimizations()); }

  /// In float32, with the roundings of its formats: whether the refusal is of a format. Nothing in it may be low.
  bool runs_in_float32() const {
    const SimulatedFile simulated = simulate_typed(model_);
    return any_low(simulated) && attempt(simulated.model, without_optimizations()).refused.empty();
  }

  /// As users run it. What may crash is tried in a copy of this process first; then `optimizers` are those to avoid.
  Attempt optimized(std::vector<std::string>& optimizers) const {
    SessionOptions options = options_;
    const std::vector<std::string> faulty = faulty_optimizers(model_.proto.graph());
    if (faulty.empty() || !options.providers.empty()) return attempt(model_, options);
    options.faulty_optimizers = true;
    constexpr unsigned kMostSeconds = 60;
    std::string words;
    const ProcessEnd end = run_in_copy([&] { attempt(model_, options); }, kMostSeconds, words);
    if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
    if (end.succeeded()) return attempt(model_, options);
    options.faulty_optimizers = false;
    Attempt result = attempt(model_, options);
    if (end.timed_out) return result;
    if (result.refused.empty()) optimizers = faulty;
    result.refused = "a process that loads it " + end_text(end);
    return result;
  }

 private:
  SessionOptions without_optimizations() const {
    SessionOptions options = options_;
    options.optimize = false;
    return options;
  }

  Attempt attempt(const Model& model, const SessionOptions& options) const {
    Attempt result;
    try {
      const Session session(runtime_, model, options);
      result.loaded = true;
      result.outputs = session.run(sample_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      result.node = error.node();
      result.refused = printable_text(first_line(reason_with_node(error)));
    }
    return result;
  }

  const std::shared_ptr<const Runtime>& runtime_;
  const Model& model_;
  const Sample& sample_;
  SessionOptions options_;
};

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
  const Trials trials(runtime, model, sample, threads, place);
  std::vector<std::string> crashing;
  const Attempt optimized = trials.optimized(crashing);
  const Attempt plain = trials.plain();
  if (optimized.refused.empty()) {
    constexpr double kAnother = 10;  // integer sums that saturate on some CPUs are above it, a lost Relu below
    RuntimeCheck check;
    const double agreement = agreement_db(plain.outputs, optimized.outputs);
    if (agreement < kAnother) check.changed_db = agreement;
    return check;
  }
  const bool runs_unoptimized = plain.refused.empty();
  if (samples.is_random() && plain.loaded && !runs_unoptimized && !trials.runs_in_float32()) return std::nullopt;
  return RuntimeCheck{optimized.refused, runs_unoptimized, {}, optimized.node, crashing};
}

std::optional<Note> refusal_note(const RuntimeCheck& check, const std::string& version) {
  if (check.changed_db) return Note{"changed-by-optimizations", {{"version", version}, {"db", *check.changed_db}}};
  if (check.refused.empty()) return std::nullopt;
  if (!check.crashing_optimizers.empty()) {
    return Note{"onnxruntime-crashes",
                {{"version", version}, {"why", check.refused}, {"optimizers", check.crashing_optimizers}}};
  }
  return Note{"onnxruntime-refuses",
              {{"version", version}, {"runs_unoptimized", check.runs_unoptimized}, {"why", check.refused}}};
}

}  // namespace vernier
