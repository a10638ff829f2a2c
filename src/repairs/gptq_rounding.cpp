// GPTQ: rounding each weight to the nearest is best for the weight, not for what its layer gives: errors of neighbours
// that see the same inputs should cancel. Weights are rounded one after the other, each making up for those before.
//   before: round(w / s)     after: codes near it for which |(W - Q) X|^2 is small     (numerics/gptq.h)
// The grids stay, the codes change: the written model costs what it did. How much of the samples' correlations is
// believed, the damping, is chosen by cross-validation: each half of the samples judges what the other half rounds.
// Source: E. Frantar et al., "GPTQ", ICLR 2023; M. Stone (see jobs/diagnose/cross_fit.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kWeightShare = 0.2;  // of a layer's error power: with less there is nothing that would be accepted
constexpr std::size_t kMostInputs = 6144;  // of one result: their products take 150 MB, and minutes of time
constexpr std::size_t kAtOnce = std::size_t{64} << 20U;  // products measured in one run
/// Of the mean of the diagonal. The source has 0.01, enough where many positions of many samples teach. Weights that
/// few rows teach follow their chance: in a transformer's layers of 48 inputs, 15 samples leave less error with 1.
constexpr std::array<double, 3> kDampings{0.01, 0.1, 1};
/// Inputs that the damping is chosen by, evenly spread over those of a larger layer, as a factor takes their cube; and
/// a quarter as many results, each of which takes their square.
constexpr std::size_t kMostToFold = 256;
/// Of its error power, that rounding would take away as the halves say: half of what would be accepted, as both
/// together teach more.
constexpr double kWorthRounding = 0.1;
constexpr const char* kNoInputs = "its inputs are all zero, or not finite";
constexpr const char* kTooMuch = "rounding it costs more than an option may. Run ‹vernier fix› to round it";

struct Candidate {
  WeightedLayer layer;
  WeightLayout layout;
  std::size_t floats = 0;  // of its products
  double work = 0;         // multiply-adds, all dampings tried
};

/// `count` of `of` places, evenly.
std::size_t place(std::size_t k, std::size_t count, std::size_t of) { return k * of / count; }

/// `of` results in all: as many of each group.
std::size_t results_to_fold(std::size_t of, std::size_t groups) {
  return groups * std::min(of / groups, std::max<std::size_t>(kMostToFold / 4 / groups, 1));
}

/// Each damping takes a factor and rounds all results on each half, and measures both; the one that is chosen does so
/// once more, with all inputs.
double work_of(std::size_t groups, std::size_t inputs, std::size_t results) {
  const auto once = [&](std::size_t of, std::size_t rounded) {
    const auto square = static_cast<double>(of) * static_cast<double>(of);
    const double factor = static_cast<double>(groups) * square * static_cast<double>(of) / 3;
    return factor + 1.5 * static_cast<double>(rounded) * square;
  };
  const double folds = 2 * static_cast<double>(kDampings.size());
  return folds * once(std::min(inputs, kMostToFold), results_to_fold(results, groups)) + once(inputs, results);
}

/// [results, K] as the operator reads its weight; why not where it does not.
std::string layout_of(const onnx::NodeProto& node, const Shape& shape, Candidate& candidate) {
  const bool conv = node.op_type() == "Conv" && shape.size() > 2;
  const bool gemm = node.op_type() == "Gemm" && shape.size() == 2 && attribute_int(node, "transA", 0) == 0;
  const bool matmul = node.op_type() == "MatMul" && shape.size() == 2;
  if (!conv && !gemm && !matmul) {
    return fmt::format("only Conv, Gemm and MatMul are supported, not {}", node.op_type());
  }
  const bool results_first = conv || (gemm && attribute_int(node, "transB", 0) != 0);
  candidate.layout.results = static_cast<std::size_t>(results_first ? shape[0] : shape[1]);
  const std::size_t inputs = static_cast<std::size_t>(element_count(shape)) / candidate.layout.results;
  candidate.layout.of_result = results_first ? inputs : 1;
  candidate.layout.of_input = results_first ? 1 : candidate.layout.results;
  const auto groups = conv ? static_cast<std::size_t>(std::max<std::int64_t>(1, attribute_int(node, "group", 1))) : 1;
  candidate.floats = 2 * groups * inputs * inputs;
  candidate.work = work_of(groups, inputs, candidate.layout.results);
  if (inputs > kMostInputs) {
    return fmt::format("one result sums {} weights, more than the limit of {}", inputs, kMostInputs);
  }
  return {};
}

std::string why_not(const Network& network, const std::map<std::string, int>& readers, Candidate& candidate) {
  const WeightedLayer& layer = candidate.layer;
  const Tensor weight = *initializer(network.model, layer.weight);
  if (weight.count() == 0) return "its weight is empty";
  if (std::string reason = layout_of(*layer.node, weight.shape(), candidate); !reason.empty()) return reason;
  if (readers.at(layer.weight) > 1) return "another layer reads the same weight";
  if (network.damping != nullptr) return {};  // it was worth it, and is learned again
  const auto share = network.weight_share.find(layer.layer->name);
  if (share == network.weight_share.end()) return "its local error is not known";
  if (share->second >= kWeightShare) return {};
  return fmt::format("its weights make only {:.0f} % of its error, and less than 20 % is not worth rounding",
                     100 * std::max(0.0, share->second));
}

/// A layer with some of its inputs and results.
struct Excerpt {
  Tensor weight;
  WeightLayout layout;
  QuantParams grid;
  std::vector<InputProducts> parts;
};

/// nullopt: its weights have scales that differ between inputs.
std::optional<Excerpt> excerpt_of(const Tensor& weight, const WeightLayout& layout, const QuantParams& grid,
                                  const std::vector<InputProducts>& parts) {
  const std::size_t all = parts.front().inputs, groups = parts.front().groups;
  const bool by_result = grid.block == 0 && (grid.scale.size() == 1 || grid.scale.size() == layout.results);
  if (!by_result) return std::nullopt;
  const std::size_t inputs = std::min(all, kMostToFold), results = results_to_fold(layout.results, groups);
  const auto input = [&](std::size_t k) { return place(k, inputs, all); };
  const auto result = [&](std::size_t m) { return place(m, results, layout.results); };
  Excerpt some;
  some.weight = Tensor(Dtype::Float32, {static_cast<std::int64_t>(results), static_cast<std::int64_t>(inputs)});
  some.layout = {results, inputs, 1};
  some.grid = grid;
  some.grid.axis = grid.scale.size() == 1 ? -1 : 0;
  if (some.grid.axis == 0) {
    some.grid.scale.clear();
    for (std::size_t m = 0; m < results; ++m) some.grid.scale.push_back(grid.scale[result(m)]);
    for (std::size_t m = 0; m < results && !grid.zero_point.empty(); ++m) {
      some.grid.zero_point[m] = grid.zero_point[result(m)];
    }
    if (!grid.zero_point.empty()) some.grid.zero_point.resize(results);
  }
  for (std::size_t m = 0; m < results; ++m) {
    for (std::size_t k = 0; k < inputs; ++k) {
      some.weight.mutable_floats()[m * inputs + k] =
          weight.floats()[result(m) * layout.of_result + input(k) * layout.of_input];
    }
  }
  for (const InputProducts& part : parts) {
    InputProducts& products = some.parts.emplace_back();
    products = {groups, inputs, std::vector<float>(groups * inputs * inputs)};
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t i = 0; i < inputs; ++i) {
        for (std::size_t j = 0; j < inputs; ++j) {
          products.sums[(group * inputs + i) * inputs + j] = part.sums[(group * all + input(i)) * all + input(j)];
        }
      }
    }
  }
  return some;
}

struct Validated {
  double damping = 0;
  double gain = 0;  // how much of the error that weights make is gone
};

/// Tells of the layers that are rounded, each of as many steps as dampings are tried, and one more.
class RoundingProgress {
 public:
  RoundingProgress(const Progress& progress, std::size_t layers) : progress_(progress), total_(layers * kSteps) {}

  void step() { tell(std::min(done_ + 1, end_ - 1)); }
  void end_layer() {
    tell(end_);
    end_ += kSteps;
  }

 private:
  static constexpr std::size_t kSteps = kDampings.size() + 1;

  void tell(std::size_t done) {
    done_ = done;
    if (progress_) progress_("round weights", done_, total_);
  }

  const Progress& progress_;
  std::size_t total_, done_ = 0, end_ = kSteps;
};

/// The damping with which the weights that one half of the samples rounds leave the least error on the other half.
/// nullopt: the nearest codes leave less.
std::optional<Validated> cross_validated(const Tensor& weight, const WeightLayout& layout, const QuantParams& grid,
                                         const std::vector<float>& nearest, const std::vector<InputProducts>& parts,
                                         std::size_t threads, RoundingProgress& progress) {
  const std::size_t groups = parts.front().groups;
  if (parts.front().inputs > kMostToFold || layout.results > results_to_fold(layout.results, groups)) {
    if (const auto some = excerpt_of(weight, layout, grid, parts)) {
      std::vector<float> of_some(static_cast<std::size_t>(some->weight.count()));
      round_tensor(some->grid, some->weight.shape(), some->weight.floats(), of_some);
      return cross_validated(some->weight, some->layout, some->grid, of_some, some->parts, threads, progress);
    }
  }
  const std::size_t folds = parts.size();
  const auto judge = [&](std::size_t fold) -> const InputProducts& { return parts[(fold + 1) % parts.size()]; };
  double before = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    before += output_energy(weight, layout, nearest, judge(fold), threads);
  }
  double least = before;
  std::optional<Validated> chosen;
  for (const double damping : kDampings) {
    double energy = 0;
    for (std::size_t fold = 0; fold < folds; ++fold) {
      const auto rounded = gptq_round(weight, layout, grid, parts[fold], damping, threads);
      energy += output_energy(weight, layout, rounded ? *rounded : nearest, judge(fold), threads);
    }
    progress.step();
    if (energy < least) {
      least = energy;
      chosen = {damping, 1 - energy / before};
    } else if (chosen) {
      break;  // still more takes the gain away
    }
  }
  return chosen;
}

/// What may be gained by each layer, for its work; one that was not ranked does less damage than those that were.
std::map<const Candidate*, double> worths_of(const std::vector<Candidate>& candidates, const Network& network) {
  std::map<const Candidate*, double> worths;
  double least = std::numeric_limits<double>::infinity();
  if (network.damage != nullptr) {
    for (const auto& [name, share] : *network.damage) least = std::min(least, share);
  }
  for (const Candidate& candidate : candidates) {
    double& worth = worths[&candidate] = 1 / candidate.work;
    if (network.damage == nullptr) continue;
    const std::string& layer = candidate.layer.layer->name;
    const auto damage = network.damage->find(layer);
    worth *= (damage == network.damage->end() ? least / 2 : damage->second) * network.weight_share.at(layer);
  }
  return worths;
}

/// Those that fit into the limit together, the most worthwhile first; 0: all.
std::set<std::string> within(const std::vector<Candidate>& candidates, const Network& network, double limit) {
  std::set<std::string> chosen;
  if (limit <= 0) {
    for (const Candidate& candidate : candidates) chosen.insert(candidate.layer.layer->name);
    return chosen;
  }
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : candidates) order.push_back(&candidate);
  const std::map<const Candidate*, double> worths = worths_of(candidates, network);
  std::ranges::stable_sort(order, std::greater(), [&](const Candidate* one) { return worths.at(one); });
  double spent = 0;
  for (const Candidate* candidate : order) {
    if (spent + candidate->work > limit) continue;
    spent += candidate->work;
    chosen.insert(candidate->layer.layer->name);
  }
  return chosen;
}

bool teaches_nothing(const std::vector<InputProducts>& parts) {
  return std::ranges::all_of(parts, [](const InputProducts& part) {
    return std::ranges::none_of(part.sums, [](float sum) { return std::abs(sum) > 0 && std::isfinite(sum); });
  });
}

Proposal proposal_of(const Network& network, const Candidate& candidate, std::vector<InputProducts> parts,
                     RoundingProgress& progress) {
  Proposal proposal;
  proposal.layers = {candidate.layer.layer->name};
  const QuantParams& grid = network.plan.tensors.at(candidate.layer.weight);
  const Tensor weight = *initializer(network.model, candidate.layer.weight);
  std::vector<float> nearest(static_cast<std::size_t>(weight.count()));
  round_tensor(grid, weight.shape(), weight.floats(), nearest);
  proposal.damping = kDampings.front();
  if (network.damping != nullptr) {
    proposal.damping = network.damping->at(proposal.layers.front());
  } else if (parts.size() > 1) {
    const std::optional<Validated> chosen =
        cross_validated(weight, candidate.layout, grid, nearest, parts, network.threads, progress);
    if (!chosen) {
      proposal.why_not =
          teaches_nothing(parts)
              ? kNoInputs
              : "weights rounded on one half of the samples are not better than nearest rounding on the other half";
      return proposal;
    }
    proposal.damping = chosen->damping;
    const double gain = network.weight_share.at(proposal.layers.front()) * chosen->gain;
    if (gain < kWorthRounding) {
      proposal.why_not = fmt::format(
          "rounding its weights would take about {:.0f} % off its error, and 20 % are required", 100 * gain);
      return proposal;
    }
  }
  InputProducts& all = parts.front();
  for (std::size_t part = 1; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < all.sums.size(); ++i) all.sums[i] += parts[part].sums[i];
  }
  const auto rounded = gptq_round(weight, candidate.layout, grid, all, proposal.damping, network.threads);
  if (!rounded) {
    proposal.why_not = kNoInputs;
    return proposal;
  }
  std::size_t changed = 0;
  for (std::size_t i = 0; i < nearest.size(); ++i) changed += nearest[i] != (*rounded)[i] ? 1 : 0;
  proposal.what = fmt::format("{} of {} weights are not rounded to the nearest value", changed, nearest.size());
  proposal.constants[candidate.layer.weight] = {candidate.layer.layer->name, Tensor::of(weight.shape(), *rounded)};
  return proposal;
}

}  // namespace

std::vector<Proposal> gptq_rounding(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::map<std::string, int> readers = count_readers(network.model);
  const auto refuse = [&](const WeightedLayer& layer, std::string reason) {
    Proposal refused;
    refused.layers = {layer.layer->name};
    refused.why_not = std::move(reason);
    proposals.push_back(std::move(refused));
  };
  std::vector<Candidate> candidates;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    if (network.damping != nullptr && !network.damping->contains(layer.layer->name)) continue;
    Candidate candidate{layer, {}, 0, 0};
    if (std::string reason = why_not(network, readers, candidate); !reason.empty()) {
      refuse(layer, std::move(reason));
    } else {
      candidates.push_back(std::move(candidate));
    }
  }
  // What was accepted is learned again in any case.
  const std::set<std::string> chosen =
      within(candidates, network, network.damping != nullptr ? 0 : network.rounding_work);
  RoundingProgress progress(network.progress, chosen.size());
  std::vector<Candidate> batch;
  std::size_t floats = 0;
  const auto flush = [&] {
    std::vector<std::string> names;
    for (const Candidate& candidate : batch) names.push_back(candidate.layer.layer->name);
    LayerProducts products = network.products(names);
    for (const Candidate& candidate : batch) {
      const auto found = products.find(candidate.layer.layer->name);
      if (found != products.end())
        proposals.push_back(proposal_of(network, candidate, std::move(found->second), progress));
      progress.end_layer();
    }
    batch.clear();
    floats = 0;
  };
  for (Candidate& candidate : candidates) {
    if (!chosen.contains(candidate.layer.layer->name)) {
      refuse(candidate.layer, kTooMuch);
      continue;
    }
    if (!batch.empty() && floats + candidate.floats > kAtOnce) flush();
    floats += candidate.floats;
    batch.push_back(std::move(candidate));
  }
  if (!batch.empty()) flush();
  return proposals;
}

}  // namespace vernier
