#include "jobs/diagnose/pair_clamps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analysis/judged_views.h"
#include "analysis/run_tensors.h"
#include "analysis/some_samples.h"
#include "analysis/subject.h"
#include "base/parallel.h"
#include "base/text.h"
#include "jobs/common/load.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSamples = 16;
constexpr double kMostCutByCalibration = 0.01;
constexpr double kRelu6End = 6;
/// Cuts that leave the output this close are nobody's concern.
constexpr double kHarmlessDb = 40;

/// What one pair does to the values that reach it.
struct Cuts {
  QuantizedTensor pair;
  bool from_zero = false;  // its grid begins at 0
  bool to_six = false;     // and ends at 6, give or take a step
  double count = 0, below = 0, above = 0;
  double energy = 0, energy_below = 0, energy_above = 0;  // energy_below, energy_above: of what is cut off there

  /// Of values, and of their energy: what is cut off at ends that are not `kept`.
  double share(const Clamp& kept) const {
    return count > 0 ? ((kept.low ? 0 : below) + (kept.high ? 0 : above)) / count : 0;
  }
  double cut_energy(const Clamp& kept) const { return (kept.low ? 0 : energy_below) + (kept.high ? 0 : energy_above); }
  Clamp clamp() const {
    const double least = count * kMostCutByCalibration;
    Clamp clamp;
    clamp.low = below > (from_zero ? 0 : least);
    clamp.high = above > least || (from_zero && to_six && above > 0);
    return clamp;
  }
  bool drops(const Clamp& kept) const { return (below > 0 && !kept.low) || (above > 0 && !kept.high); }
};

/// Values less than half a step outside are rounded, not cut.
void add(Cuts& cuts, const Tensor& values) {
  const QuantParams& params = cuts.pair.params;
  const std::size_t scales = params.scale.size();
  std::int64_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(params.axis + 1); scales > 1 && d < values.shape().size(); ++d) {
    inner *= values.shape()[d];
  }
  std::vector<GridEnds> ends;
  for (std::size_t i = 0; i < scales; ++i) ends.push_back(grid_ends(params, i));
  const std::span<const float> all = values.floats();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t scale = scales == 1 ? 0 : i / static_cast<std::size_t>(inner) % scales;
    const double value = all[i], half = params.scale[scale] / 2.0;
    if (!std::isfinite(value)) continue;
    cuts.count += 1;
    cuts.energy += value * value;
    const double beyond = value < ends[scale].low ? ends[scale].low - value : std::max(value - ends[scale].high, 0.0);
    if (beyond <= half) continue;
    (value < ends[scale].low ? cuts.below : cuts.above) += 1;
    (value < ends[scale].low ? cuts.energy_below : cuts.energy_above) += beyond * beyond;
  }
}

/// Pairs on activations of the main graph.
std::vector<Cuts> pairs_of(const SimulatedFile& file) {
  std::set<std::string> made;
  for (const onnx::NodeProto& node : file.model.proto.graph().node())
    made.insert(node.output().begin(), node.output().end());
  for (const InputInfo& input : model_inputs(file.model)) made.insert(input.name);
  std::vector<Cuts> pairs;
  for (const QuantizedTensor& pair : file.quantized) {
    if (pair.quantizer.empty() || !needs_scale(pair.params.format) || pair.params.block > 0 || pair.params.dynamic)
      continue;
    if (!made.contains(pair.tensor) || is_initializer(file.model, pair.tensor)) continue;
    if (pair.params.scale.size() > 1 && pair.rank <= pair.params.axis) continue;
    Cuts cuts;
    cuts.pair = pair;
    cuts.from_zero = true;
    cuts.to_six = true;
    for (std::size_t i = 0; i < pair.params.scale.size(); ++i) {
      const GridEnds ends = grid_ends(pair.params, i);
      cuts.from_zero = cuts.from_zero && ends.low == 0;
      cuts.to_six = cuts.to_six && std::abs(ends.high - kRelu6End) <= pair.params.scale[i];
    }
    pairs.push_back(std::move(cuts));
  }
  return pairs;
}

/// What the networks behind the file are judged by, and what runs them.
class Behind {
 public:
  Behind(const Model& typed, Sources& sources) : sources_(sources), samples_(sources.samples(typed)) {
    Subject& subject = beside_.subject;
    subject.model = without_roundings(typed).model;
    subject.model.path = typed.path;
    beside_.views = judge_as_floats(subject.model);
    for (const InputInfo& output : model_outputs(subject.model)) {
      if (output.dtype == Dtype::Float32) subject.judged.push_back(output.name);
    }
    judge_picked_outputs(subject, {}, beside_.views);
    std::erase_if(subject.judged, [&](const std::string& name) {
      const Picked picked = picked_of(subject, name);
      return picked == Picked::ByOthers || picked == Picked::Layered;
    });
    subject.runtime = sources.runtime();
    const MeasureOptions& options = sources.options();
    subject.threads = options.threads == 0 ? usable_cores() : options.threads;
    subject.samples = samples_.get();
    few_.emplace(subject, kMostSamples);
    subject.samples = &*few_;
  }
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

  const std::vector<std::string>& judged() const { return beside_.subject.judged; }

  /// Runs `model`, a form of the file, and gives `take` the values of `tensors`, sample after sample.
  void run(Model model, const std::vector<std::string>& tensors,
           const std::function<void(std::size_t, const std::vector<Tensor>&)>& take) const {
    fit_beside(model, beside_);
    run_tensors(beside_.subject, std::move(model), tensors, all_samples(beside_.subject),
                [&](std::size_t sample, const std::vector<Tensor>& got) {
                  if (sources_.sinks().is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
                  take(sample, got);
                  return true;
                });
  }

 private:
  Sources& sources_;
  std::shared_ptr<const SampleSource> samples_;
  Loaded beside_;
  std::optional<FewSamples> few_;
};

using Outputs = std::map<std::pair<std::size_t, std::string>, Tensor>;

void keep(const std::vector<std::string>& names, std::size_t sample, const std::vector<Tensor>& got, Outputs& outputs) {
  for (std::size_t i = 0; i < names.size(); ++i) outputs.emplace(std::pair(sample, names[i]), got[i]);
}

Outputs outputs_of(const Behind& behind, Model model) {
  Outputs outputs;
  behind.run(std::move(model), behind.judged(),
             [&](std::size_t sample, const std::vector<Tensor>& got) { keep(behind.judged(), sample, got, outputs); });
  return outputs;
}

/// By output, of `got` against `ref`.
std::map<std::string, ErrorStats> errors_between(const Outputs& ref, const Outputs& got) {
  std::map<std::string, ErrorStats> errors;
  for (const auto& [place, value] : ref) accumulate_error(value.floats(), got.at(place).floats(), errors[place.second]);
  return errors;
}

/// "'a' [0, 6]": the tensor and the grid of its pair.
std::string text_of(const Cuts& cuts) {
  const GridEnds ends = grid_ends(cuts.pair.params);
  return fmt::format("'{}' to [{:.4g}, {:.4g}]", printable(cuts.pair.tensor), ends.low, ends.high);
}

[[noreturn]] void refuse(const Model& typed, const Cuts& worst, double share, const std::string& output, double db) {
  throw Error(ErrorCode::NotFloat,
              fmt::format("{}: the pair of '{}' ({}) clips {:.2g} % of its values. Without it, output '{}' differs "
                          "({:.1f} dB). Either it is a clamp of the network, or its range is too narrow",
                          printable(typed.path.string()), printable(worst.pair.tensor), printable(worst.pair.quantizer),
                          100 * share, printable(output), db),
              "compare it with its float model: ‹vernier verify FLOAT.onnx QUANTIZED.onnx›");
}

/// The network that the answer would rest on, against the file with all of its ends and without its rounding.
void require_alike(const Model& typed, const Behind& behind, const std::vector<Cuts>& pairs, const Clamps& kept,
                   const Outputs& rounded) {
  Clamps all = kept;
  const Cuts* worst = nullptr;
  const auto kept_of = [&](const Cuts& cuts) {
    const auto own = kept.find(cuts.pair.output);
    return own == kept.end() ? Clamp{} : own->second;
  };
  const auto lost_by = [&](const Cuts& cuts) {
    return cuts.energy > 0 ? cuts.cut_energy(kept_of(cuts)) / cuts.energy : 0;
  };
  for (const Cuts& cuts : pairs) {
    if (!cuts.drops(kept_of(cuts))) continue;
    all[cuts.pair.output] = {/*low=*/true, /*high=*/true};
    if (worst == nullptr || lost_by(cuts) > lost_by(*worst)) worst = &cuts;
  }
  if (worst == nullptr) return;
  const auto outputs_with = [&](const Clamps& clamps) {
    Model model = without_roundings(typed, clamps).model;
    model.path = typed.path;
    return outputs_of(behind, std::move(model));
  };
  const Outputs exact = outputs_with(all);
  const auto rounding = errors_between(exact, rounded);
  for (const auto& [output, cut] : errors_between(exact, outputs_with(kept))) {
    const double db = sqnr_db(cut);
    if (db < kHarmlessDb && cut.error_energy > rounding.at(output).error_energy) {
      refuse(typed, *worst, worst->share(kept_of(*worst)), output, db);
    }
  }
}

}  // namespace

PairClamps find_pair_clamps(const Model& typed, Sources& sources) {
  PairClamps found;
  SimulatedFile file = simulate_typed(typed);
  std::vector<Cuts> pairs = pairs_of(file);
  if (pairs.empty()) return found;
  file.model.path = typed.path;
  const Behind behind(typed, sources);
  std::vector<std::string> tensors = behind.judged();
  std::map<std::string, std::size_t> places;  // of the tensors in front of pairs
  for (std::size_t i = 0; i < tensors.size(); ++i) places.emplace(tensors[i], i);
  for (const Cuts& cuts : pairs) {
    if (places.emplace(cuts.pair.tensor, tensors.size()).second) tensors.push_back(cuts.pair.tensor);
  }
  Outputs rounded;
  behind.run(std::move(file.model), tensors, [&](std::size_t sample, const std::vector<Tensor>& got) {
    keep(behind.judged(), sample, got, rounded);
    for (Cuts& cuts : pairs) add(cuts, got[places.at(cuts.pair.tensor)]);
  });
  std::vector<std::string> clamps;
  for (const Cuts& cuts : pairs) {
    const Clamp clamp = cuts.clamp();
    if (!clamp.low && !clamp.high) continue;
    found.kept[cuts.pair.output] = clamp;
    if (std::ranges::find(clamps, text_of(cuts)) == clamps.end()) clamps.push_back(text_of(cuts));
  }
  require_alike(typed, behind, pairs, found.kept, rounded);
  if (!clamps.empty()) {
    found.notes.push_back({"quantizers-clamp", {{"clamps", clamps}}});
  }
  return found;
}

}  // namespace vernier
