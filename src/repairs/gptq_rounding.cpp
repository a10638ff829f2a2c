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
#include <map>
#include <optional>
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
constexpr std::size_t kMostToFold = 256;  // inputs: what more of them cost is spent on one half alone
constexpr const char* kNoInputs = "its inputs are all zero, or not finite";
constexpr const char* kTooMuch = "rounding it costs more than an option may. Run ‹vernier fix› to round it";

struct Candidate {
  WeightedLayer layer;
  WeightLayout layout;
  std::size_t floats = 0;  // of its products
  double work = 0;         // multiply-adds, all dampings tried
};

/// Each damping takes a factor and rounds all results on each half, and measures both; the one that is chosen does so
/// once more.
double work_of(std::size_t groups, std::size_t inputs, std::size_t results) {
  const double times = (inputs > kMostToFold ? 1 : 2) * static_cast<double>(kDampings.size()) + 1;
  const auto of_result = static_cast<double>(inputs) * static_cast<double>(inputs);
  const double factor = static_cast<double>(groups) * of_result * static_cast<double>(inputs) / 3;
  return times * (factor + 1.5 * static_cast<double>(results) * of_result);
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
  const auto share = network.weight_share.find(layer.layer->name);
  if (share == network.weight_share.end()) return "its local error is not known";
  if (share->second >= kWeightShare) return {};
  return fmt::format("its weights make only {:.0f} % of its error, and less than 20 % is not worth rounding",
                     100 * std::max(0.0, share->second));
}

/// The damping with which the weights that one half of the samples rounds leave the least error on the other half; of
/// both halves, unless the layer is large. nullopt: the nearest codes leave less.
std::optional<double> cross_validated(const Tensor& weight, const WeightLayout& layout, const QuantParams& grid,
                                      const std::vector<float>& nearest, const std::vector<InputProducts>& parts,
                                      std::size_t threads) {
  const std::size_t folds = parts.front().inputs > kMostToFold ? 1 : parts.size();
  const auto judge = [&](std::size_t fold) -> const InputProducts& { return parts[(fold + 1) % parts.size()]; };
  double least = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    least += output_energy(weight, layout, nearest, judge(fold), threads);
  }
  std::optional<double> chosen;
  for (const double damping : kDampings) {
    double energy = 0;
    for (std::size_t fold = 0; fold < folds; ++fold) {
      const auto rounded = gptq_round(weight, layout, grid, parts[fold], damping, threads);
      energy += output_energy(weight, layout, rounded ? *rounded : nearest, judge(fold), threads);
    }
    if (energy < least) {
      least = energy;
      chosen = damping;
    } else if (chosen) {
      break;  // still more takes the gain away
    }
  }
  return chosen;
}

/// The most that one layer may take, so that those with the least work fit into the limit together.
double most_of_one(const std::vector<Candidate>& candidates, double limit) {
  std::vector<double> works;
  for (const Candidate& candidate : candidates) works.push_back(candidate.work);
  std::ranges::sort(works);
  double spent = 0, most = 0;
  for (const double work : works) {
    if (limit > 0 && spent + work > limit) break;
    spent += work;
    most = work;
  }
  return most;
}

bool teaches_nothing(const std::vector<InputProducts>& parts) {
  return std::ranges::all_of(parts, [](const InputProducts& part) {
    return std::ranges::none_of(part.sums, [](float sum) { return std::abs(sum) > 0 && std::isfinite(sum); });
  });
}

Proposal proposal_of(const Network& network, const Candidate& candidate, std::vector<InputProducts> parts) {
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
    const std::optional<double> chosen =
        cross_validated(weight, candidate.layout, grid, nearest, parts, network.threads);
    if (!chosen) {
      proposal.why_not =
          teaches_nothing(parts)
              ? kNoInputs
              : "weights rounded on one half of the samples are not better than nearest rounding on the other half";
      return proposal;
    }
    proposal.damping = *chosen;
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
  proposal.constants[candidate.layer.weight] = {candidate.layer.layer->name, weight.shape(), std::move(*rounded)};
  return proposal;
}

}  // namespace

std::vector<Proposal> gptq_rounding(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::map<std::string, int> readers = count_readers(network.model);
  std::vector<Candidate> batch;
  std::size_t floats = 0;
  const auto flush = [&] {
    std::vector<std::string> names;
    for (const Candidate& candidate : batch) names.push_back(candidate.layer.layer->name);
    LayerProducts products = network.products(names);
    for (const Candidate& candidate : batch) {
      const auto found = products.find(candidate.layer.layer->name);
      if (found != products.end()) proposals.push_back(proposal_of(network, candidate, std::move(found->second)));
    }
    batch.clear();
    floats = 0;
  };
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
  const double most = most_of_one(candidates, network.damping != nullptr ? 0 : network.rounding_work);
  for (Candidate& candidate : candidates) {
    if (candidate.work > most) {
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
