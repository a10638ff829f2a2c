#include "analysis/float_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/output_store.h"
#include "analysis/some_samples.h"
#include "numerics/metrics.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Samples whose float32 values are moved up or down by a few roundings, the same each time.
class MovedSamples final : public SampleSource {
 public:
  explicit MovedSamples(const SampleSource& all) : all_(all) {}
  std::size_t size() const override { return all_.size(); }
  std::string description() const override { return all_.description(); }
  bool is_random() const override { return all_.is_random(); }
  Sample at(std::size_t index) const override {
    Sample sample = all_.at(index);
    for (auto& [name, values] : sample) {
      if (values.dtype() == Dtype::Float32 && !all_whole(values)) values = moved(values);
    }
    return sample;
  }

 private:
  /// Positions, pixels: they are exact.
  static bool all_whole(const Tensor& values) {
    return std::ranges::all_of(values.floats(), [](float value) { return value == std::floor(value); });
  }

  static Tensor moved(const Tensor& values) {
    constexpr float kBy = 0x1p-20F;
    Tensor result(Dtype::Float32, values.shape());
    std::uint32_t drawn = 1;
    std::ranges::transform(values.floats(), result.mutable_floats().begin(), [&](float value) {
      drawn = drawn * 1664525U + 1013904223U;  // Numerical Recipes' generator: its high bit is one sign after another
      return value * (drawn >> 31U != 0 ? 1 + kBy : 1 - kBy);
    });
    return result;
  }

  const SampleSource& all_;
};

}  // namespace

std::map<std::string, double> float_noise(const Subject& subject) {
  constexpr std::size_t kSamples = 8;
  constexpr double kSteady = 1e-5;  // 50 dB
  const FewSamples few(subject, kSamples);
  const MovedSamples moved(few);
  Subject own = subject;
  own.samples = &few;
  own.ranks = nullptr;
  const OutputStore known = outputs_of_float(own);
  own.samples = &moved;
  std::map<std::string, double> found;
  for (const auto& [output, stats] : run_beside_known(own, own.model, known).outputs) {
    const double noise = noise_to_signal(stats.pooled);
    if (stats.finite() && noise > kSteady) found.emplace(output, noise);
  }
  return found;
}

std::optional<Note> float_noise_note(const RunFigures& run) {
  std::vector<std::string> outputs;
  double lowest = 0;
  for (const OutputFigure& figure : run.outputs) {
    if (!figure.float_noise_db) continue;
    lowest = outputs.empty() ? *figure.float_noise_db : std::min(lowest, *figure.float_noise_db);
    outputs.push_back(figure.name);
  }
  if (outputs.empty()) return std::nullopt;
  return Note{"errors-at-float-noise", {{"outputs", outputs}, {"noise", lowest}}};
}

}  // namespace vernier
