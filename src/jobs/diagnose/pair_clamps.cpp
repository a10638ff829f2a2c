#include "jobs/diagnose/pair_clamps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "analysis/judged_views.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/parallel.h"
#include "base/text.h"
#include "jobs/common/load.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/error.h"
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
  double energy = 0, cut_energy = 0;

  double share() const { return count > 0 ? (below + above) / count : 0; }
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
    cuts.cut_energy += beyond * beyond;
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
    if (pair.quantizer.empty() || !needs_scale(pair.params.format) || pair.params.block > 0) continue;
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

/// The samples that are looked at, spread over all.
std::vector<std::size_t> chosen_samples(std::size_t all) {
  const std::size_t count = std::min(all, kMostSamples);
  std::vector<std::size_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) chosen[i] = i * all / count;
  return chosen;
}

std::string tapped(const std::string& tensor) { return tensor + "/before_pair"; }

/// Lets the model give out the values in front of each pair, behind its own outputs.
void give_out(Model& model, const std::vector<Cuts>& pairs) {
  std::set<std::string> seen;
  for (const Cuts& cuts : pairs) {
    if (!seen.insert(cuts.pair.tensor).second) continue;
    onnx::NodeProto& node = *model.proto.mutable_graph()->add_node();
    node.set_op_type("Identity");
    node.set_name(tapped(cuts.pair.tensor));
    node.add_input(cuts.pair.tensor);
    node.add_output(tapped(cuts.pair.tensor));
    add_output(model, tapped(cuts.pair.tensor), Dtype::Float32);
  }
}

/// A network behind the file, with the outputs by which models are judged, and what runs it.
class Behind {
 public:
  Behind(const Model& typed, Sources& sources) : sources_(sources), samples_(sources.samples(typed)) {
    beside_.subject.model = without_roundings(typed).model;
    beside_.subject.model.path = typed.path;
    beside_.views = judge_as_floats(beside_.subject.model);
    for (const InputInfo& output : model_outputs(beside_.subject.model)) {
      if (output.dtype == Dtype::Float32) judged_.insert(output.name);
    }
  }

  /// Gives a model of the file the inputs and the judged outputs of this one.
  void fit(Model& model) const { fit_beside(model, beside_); }

  /// Runs `model` and gives `take` each output by name, sample after sample.
  void run(const Model& model, const std::function<void(std::size_t, const std::string&, const Tensor&)>& take) const {
    Subject subject;
    subject.runtime = sources_.runtime();
    subject.model = model;
    subject.samples = samples_.get();
    const MeasureOptions& options = sources_.options();
    subject.threads = options.threads == 0 ? usable_cores() : options.threads;
    const Session session = subject.session(model);
    run_samples(subject, session, chosen_samples(samples_->size()), Recorder(), "clamps", [&](SampleResult result) {
      if (sources_.sinks().is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
      for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        take(result.index, session.output_names()[i], result.outputs[i]);
      }
      return true;
    });
  }

  bool judges(const std::string& output) const { return judged_.contains(output); }

 private:
  Sources& sources_;
  std::shared_ptr<const SampleSource> samples_;
  Loaded beside_;
  std::set<std::string> judged_;
};

using Outputs = std::map<std::pair<std::size_t, std::string>, Tensor>;

Outputs outputs_of(const Behind& behind, const Model& model) {
  Outputs outputs;
  behind.run(model, [&](std::size_t sample, const std::string& name, const Tensor& value) {
    if (behind.judges(name)) outputs.emplace(std::pair(sample, name), value);
  });
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

[[noreturn]] void refuse(const Model& typed, const Cuts& worst, const std::string& output, double db) {
  throw Error(
      ErrorKind::Input,
      fmt::format("{}: the pair of '{}' ({}) cuts off {:.2g} % of its values, and without that output '{}' is "
                  "another one ({:.1f} dB): a clamp of the network, or a range that is too narrow? The file does "
                  "not say",
                  printable(typed.path.string()), printable(worst.pair.tensor), printable(worst.pair.quantizer),
                  100 * worst.share(), printable(output), db),
      "compare it with its float model: ‹vernier verify FLOAT.onnx QUANTIZED.onnx›");
}

/// The network that the answer would rest on, against the file with all of its ends and without its rounding.
void require_alike(const Model& typed, const Behind& behind, const std::vector<Cuts>& pairs, const Clamps& kept,
                   const Outputs& rounded) {
  Clamps all = kept;
  const Cuts* worst = nullptr;
  for (const Cuts& cuts : pairs) {
    const auto own = kept.find(cuts.pair.output);
    if (!cuts.drops(own == kept.end() ? Clamp{} : own->second)) continue;
    all[cuts.pair.output] = {/*low=*/true, /*high=*/true};
    if (worst == nullptr || cuts.cut_energy * worst->energy > worst->cut_energy * cuts.energy) worst = &cuts;
  }
  if (worst == nullptr) return;
  const auto outputs_with = [&](const Clamps& clamps) {
    Model model = without_roundings(typed, clamps).model;
    model.path = typed.path;
    behind.fit(model);
    return outputs_of(behind, model);
  };
  const Outputs exact = outputs_with(all);
  const auto rounding = errors_between(exact, rounded);
  for (const auto& [output, cut] : errors_between(exact, outputs_with(kept))) {
    const double db = sqnr_db(cut);
    if (db < kHarmlessDb && cut.error_energy > rounding.at(output).error_energy) refuse(typed, *worst, output, db);
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
  behind.fit(file.model);
  give_out(file.model, pairs);
  std::map<std::string, std::vector<Cuts*>> before;  // by what is given out in front of them
  for (Cuts& cuts : pairs) before[tapped(cuts.pair.tensor)].push_back(&cuts);
  Outputs rounded;
  behind.run(file.model, [&](std::size_t sample, const std::string& name, const Tensor& value) {
    if (behind.judges(name)) rounded.emplace(std::pair(sample, name), value);
    if (const auto found_here = before.find(name); found_here != before.end()) {
      for (Cuts* cuts : found_here->second) add(*cuts, value);
    }
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
    found.notes.push_back(
        fmt::format("the quantizers of {} also clamp, as activations do; the float network keeps that: {}. Only the "
                    "float model can "
                    "tell a clamp from a range that is too narrow",
                    plural(clamps.size(), "tensor"), list_some(clamps)));
  }
  return found;
}

}  // namespace vernier
