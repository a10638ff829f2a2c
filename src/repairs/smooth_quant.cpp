// SmoothQuant: where a few channels of an activation are far larger than the others, one step for all of them leaves
// the others few levels. They are scaled towards each other, and the weights that read them the other way round.
//   before: (norm(x) g + b) W     after: (norm(x) g/s + b/s) (S W)     and the same between two convolutions
// What makes the activation takes the factors: a convolution in front (channel_scaling.h), or the constants of a norm,
// or a factor of all channels, such as the half of a GELU in pieces, which becomes one for each; or the product that a
// gate multiplies, as in SwiGLU: silu(x G) (x U) D = silu(x G) (x U / s) (S D);
// also where a Reshape, a Transpose or a Gather between the two leaves the channels last. A constant that others read
// as well, as exporters merge equal ones, gets a copy. Factors are powers of two, so that the float model keeps its
// bits. Source: G. Xiao et al., "SmoothQuant", ICML 2023.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/lattice.h"
#include "repairs/channel_scaling.h"
#include "repairs/projections.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kSmallest = 1.0 / 64;  // factor: dead channels would get any

/// Constants that are divided by the factors, and the nodes that they belong to.
struct NormScale {
  struct Constant {
    std::string name;            // [K], but for dimensions of 1
    std::string node;            // that reads it so
    bool may_be_scalar = false;  // a factor, such as the half of a GELU: it becomes one for each channel
    bool shared = false;
  };
  std::vector<Constant> constants;
  std::optional<Projection> product;  // in the place of these: what a gate multiplies
  std::string why_not;
};

using Types = std::map<std::string, ValueType>;

bool ends_in(const Types& types, const std::string& tensor, std::size_t channels) {
  const auto type = types.find(tensor);
  return type != types.end() && type->second.rank_known && !type->second.shape.empty() &&
         type->second.shape.back() == static_cast<std::int64_t>(channels);
}

std::string constant_of_channels(const Network& network, const std::string& name, std::size_t channels,
                                 bool may_be_scalar) {
  const std::optional<Tensor> value = initializer(network.model, name);
  if (!value || value->dtype() != Dtype::Float32) return "is not a constant of floats";
  if (may_be_scalar && value->count() == 1) return {};
  const bool fits = !value->shape().empty() && value->shape().back() == static_cast<std::int64_t>(channels) &&
                    value->count() == static_cast<std::int64_t>(channels);
  return fits ? std::string() : "does not have one value for each channel";
}

/// Input of a Mul or Add that is a constant; -1 when none is, or both are.
int constant_input(const Network& network, const onnx::NodeProto& node) {
  if (node.input_size() != 2) return -1;
  const bool first = is_initializer(network.model, node.input(0));
  const bool second = is_initializer(network.model, node.input(1));
  return first == second ? -1 : (first ? 0 : 1);
}

/// The transposed dimension 1 comes last.
bool brings_channels_last(const onnx::NodeProto& node) {
  const std::vector<std::int64_t> order = attribute_ints(node, "perm");
  return node.op_type() == "Transpose" && !order.empty() && order.back() == 1;
}

/// What makes `tensor`, whose last dimension are the channels: a norm, the Mul and the Add behind one, or a Mul of two
/// products, of which a gate takes the other. Empty without a reason: something else makes it.
NormScale norm_scale_of(const Network& network, const GraphWalk& walk, const Types& types,
                        const std::map<std::string, int>& readers, const std::string& tensor, std::size_t channels) {
  NormScale found;
  const onnx::NodeProto* maker = walk.maker(tensor);
  if (maker == nullptr) return {};
  const auto alone = [&](const std::string& name) { return readers.contains(name) && readers.at(name) == 1; };
  if (brings_channels_last(*maker)) {
    maker = walk.maker(maker->input(0));
    if (maker == nullptr || maker->op_type() != "BatchNormalization" || !alone(maker->output(0))) return {};
  } else if (maker->op_type() == "BatchNormalization") {
    return {};  // its channels are not the last dimension
  }
  const std::string& op = maker->op_type();
  if (op == "Add" || op == "Mul") {
    const int constant = constant_input(network, *maker);
    for (int i = 0; op == "Mul" && constant < 0 && !found.product && i < maker->input_size(); ++i) {
      if (ends_in(types, tensor, channels))
        found.product = projection_of(network.model, walk, readers, maker->input(i), channels);
    }
    if (constant < 0) return found;
    found.constants.push_back({maker->input(constant), maker->name(), op == "Mul"});
    if (op == "Add") {
      const std::string& scaled = maker->input(1 - constant);
      const onnx::NodeProto* front = walk.maker(scaled);
      const int scale = front == nullptr || front->op_type() != "Mul" ? -1 : constant_input(network, *front);
      if (scale < 0 || !alone(scaled)) return {};
      found.constants.push_back({front->input(scale), front->name(), true});
    }
  } else if (op == "LayerNormalization" || op == "BatchNormalization" || op == "RMSNormalization" ||
             op == "SimplifiedLayerNormalization") {
    if (maker->output_size() > 1 && op == "BatchNormalization") return {};
    found.constants.push_back({maker->input(1), maker->name()});
    if (op != "RMSNormalization" && op != "SimplifiedLayerNormalization" && maker->input_size() > 2 &&
        !maker->input(2).empty()) {
      found.constants.push_back({maker->input(2), maker->name()});
    }
  } else {
    return {};
  }
  for (NormScale::Constant& constant : found.constants) {
    // One value says nothing of what it is multiplied with.
    const bool may_be_scalar = constant.may_be_scalar && ends_in(types, tensor, channels);
    const std::string reason = constant_of_channels(network, constant.name, channels, may_be_scalar);
    if (!reason.empty()) found.why_not = fmt::format("'{}' of {} '{}' {}", constant.name, op, maker->name(), reason);
    constant.shared = !alone(constant.name);
  }
  return found;
}

/// What stands between a norm and the weights that read its channels, which stay last in all of it.
struct Passage {
  std::string start;  // that the norm makes
  std::set<const onnx::NodeProto*> nodes;
};

/// Back from `tensor`, whose last dimension are the channels, over nodes that only move values.
Passage passage_to(const GraphWalk& walk, const Types& types, const std::string& tensor, std::size_t channels) {
  Passage passage{tensor, {}};
  // Behind a Reshape of unknown sizes the channels may not be last any more: until the norm's constants say so only
  // another Reshape leaves them where they are.
  bool known = true;
  for (;;) {
    const onnx::NodeProto* node = walk.maker(passage.start);
    if (node == nullptr || node->input_size() == 0) return passage;
    const std::string& op = node->op_type();
    bool passes = op == "Reshape";
    if (known && op == "Transpose") {
      const std::vector<std::int64_t> order = attribute_ints(*node, "perm");
      passes = !order.empty() && order.back() == static_cast<std::int64_t>(order.size()) - 1;
    } else if (known && op == "Gather") {
      const auto type = types.find(node->input(0));
      const std::int64_t axis = attribute_int(*node, "axis", 0);
      passes = type != types.end() && type->second.rank_known && axis >= 0 &&
               axis + 1 < static_cast<std::int64_t>(type->second.shape.size());
    }
    if (!passes) return passage;
    passage.nodes.insert(node);
    passage.start = node->input(0);
    known = op == "Reshape" ? ends_in(types, passage.start, channels) : known;
  }
}

/// Of a Gemm or MatMul weight of two dimensions: whether its rows are what it reads; absent for others.
std::optional<bool> reads_rows(const onnx::NodeProto& node, const Tensor& weight) {
  if (weight.shape().size() != 2) return std::nullopt;
  if (node.op_type() == "MatMul") return true;
  if (node.op_type() != "Gemm" || attribute_int(node, "transA", 0) != 0) return std::nullopt;
  return attribute_int(node, "transB", 0) == 0;
}

/// The one value of a constant for each of the channels, which are the last dimension, in its rank.
void give_each_channel(Model& model, const std::string& constant, std::size_t channels) {
  Shape shape(std::max<std::size_t>(initializer(model, constant)->shape().size(), 1), 1);
  shape.back() = static_cast<std::int64_t>(channels);
  Tensor wide(Dtype::Float32, shape);
  std::ranges::fill(wide.mutable_floats(), initializer(model, constant)->floats()[0]);
  set_initializer(model, *owner_of_initializer(model, constant), constant, wide);
}

/// s[j] = max|X_j|^alpha / max|W_j|^(1 - alpha), the largest of them 1.
std::vector<float> factors_of(const std::vector<float>& seen, const std::vector<float>& read, double alpha) {
  std::vector<double> wanted(seen.size(), 0);
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (seen[j] <= 0 || read[j] <= 0) continue;
    wanted[j] = std::pow(static_cast<double>(seen[j]), alpha) / std::pow(static_cast<double>(read[j]), 1 - alpha);
  }
  const double largest = std::ranges::max(wanted);
  std::vector<float> factors(seen.size(), 1);
  for (std::size_t j = 0; j < factors.size(); ++j) {
    if (wanted[j] <= 0 || !std::isfinite(largest)) continue;
    factors[j] = power_of_two(std::max(wanted[j] / largest, kSmallest));
  }
  return factors;
}

/// What a norm makes, and all weights that read it.
struct BehindNorm {
  std::vector<WeightedLayer> layers;
  std::set<const onnx::NodeProto*> passed;  // on the way to them
};

/// The first tensor that is read by others than these; empty: none is.
std::string read_by_others(const GraphWalk& walk, const std::map<std::string, int>& readers, const std::string& start,
                           const BehindNorm& behind) {
  std::vector<std::string> tensors{start};
  for (const onnx::NodeProto* node : behind.passed) tensors.push_back(node->output(0));
  for (const std::string& tensor : tensors) {
    const auto expected = std::ranges::count(behind.layers, tensor, &WeightedLayer::data) +
                          std::ranges::count_if(walk.readers(tensor), [&](const onnx::NodeProto* reader) {
                            return has(*reader, Trait::ReadsShape) || behind.passed.contains(reader);
                          });
    if (readers.at(tensor) != static_cast<int>(expected)) return tensor;
  }
  return {};
}

/// One activation behind a norm, and all weights that read it.
std::optional<Proposal> smooth_norm(const Network& network, const GraphWalk& walk, const Types& types,
                                    const std::map<std::string, int>& readers, const std::string& tensor,
                                    const BehindNorm& behind, double alpha) {
  std::vector<float> seen;
  for (const WeightedLayer& layer : behind.layers) {
    const auto own = network.channel_absmax.find(layer.data);
    if (own == network.channel_absmax.end() || own->second.empty()) return std::nullopt;
    if (seen.empty()) seen.resize(own->second.size());
    if (seen.size() != own->second.size()) return std::nullopt;
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] = std::max(seen[j], own->second[j]);
  }
  const NormScale norm = norm_scale_of(network, walk, types, readers, tensor, seen.size());
  if (norm.constants.empty() && !norm.product) return std::nullopt;
  Proposal proposal;
  std::vector<std::pair<std::string, bool>> weights;  // with whether they are read by rows
  std::vector<float> read(seen.size());
  for (const WeightedLayer& layer : behind.layers) {
    proposal.layers.push_back(layer.layer->name);
    const Tensor weight = *initializer(network.model, layer.weight);
    const std::optional<bool> rows = reads_rows(*layer.node, weight);
    if (!rows) return std::nullopt;
    const std::vector<float> largest = absmax_along(weight, *rows ? 0 : 1);
    if (largest.size() != read.size()) return std::nullopt;
    for (std::size_t j = 0; j < read.size(); ++j) read[j] = std::max(read[j], largest[j]);
    weights.emplace_back(layer.weight, *rows);
    if (readers.at(layer.weight) > 1) proposal.why_not = fmt::format("another layer also reads '{}'", layer.weight);
    if (lattice_of(weight.floats()))
      proposal.why_not = "its weights are multiples of one scale, and scaling would break that";
  }
  if (!norm.why_not.empty()) proposal.why_not = norm.why_not;
  if (const std::string other = read_by_others(walk, readers, tensor, behind); !other.empty()) {
    proposal.why_not = fmt::format("'{}' has readers other than the weights that could take the factors", other);
  }
  if (!proposal.why_not.empty()) return proposal;
  const std::vector<float> factors = factors_of(seen, read, alpha);
  const auto [low, high] = std::ranges::minmax(factors);
  if (low == high) return std::nullopt;
  const bool factor = norm.constants.size() == 1 && norm.constants.front().may_be_scalar;
  const char* const where = norm.product                 ? "the product that the gate multiplies"
                            : factor                     ? "the factor"
                            : norm.constants.size() == 1 ? "the scale of the norm"
                                                         : "scale and bias of the norm";
  proposal.what = fmt::format("activation '{}': {} channels times {:g} to {:g}, in {} before it", tensor,
                              factors.size(), 1 / high, 1 / low, where);
  if (norm.product) proposal.layers.push_back(norm.product->layer);
  proposal.rewrite = [norm, weights, factors](Model& model) {
    if (norm.product) scale_projection(model, *norm.product, [&](std::size_t i) { return 1 / factors[i]; });
    for (const NormScale::Constant& constant : norm.constants) {
      const std::string own = constant.shared ? own_copy(model, constant.name, constant.node) : constant.name;
      if (initializer(model, own)->count() != static_cast<std::int64_t>(factors.size()))
        give_each_channel(model, own, factors.size());
      scale_constant(model, own, [&](std::size_t i) { return 1 / factors[i]; });
    }
    for (const auto& [name, rows] : weights) {
      const auto width = static_cast<std::size_t>(initializer(model, name).value().shape()[1]);
      const bool by_rows = rows;
      scale_constant(model, name, [&](std::size_t i) { return factors[by_rows ? i / width : i % width]; });
    }
  };
  return proposal;
}

void smooth_convolutions(const Network& network, double alpha, std::vector<Proposal>& proposals) {
  std::set<std::string> taken;
  std::vector<ScalablePair> pairs = scalable_pairs(network);
  // A layer has a part in one pair: those whose worst reader is the worst choose first.
  std::ranges::stable_sort(pairs, std::ranges::greater{}, [&](const ScalablePair& pair) {
    double worst = 0;
    for (const WeightedLayer& second : pair.seconds) {
      const auto noise = network.noise.find(second.layer->name);
      if (noise != network.noise.end()) worst = std::max(worst, noise->second);
    }
    return worst;
  });
  const auto is_lattice = [&](const WeightedLayer& layer) {
    return lattice_of(initializer(network.model, layer.weight)->floats()).has_value();
  };
  for (const ScalablePair& pair : pairs) {
    const auto seen = network.channel_absmax.find(pair.data());
    if (seen == network.channel_absmax.end() || seen->second.size() != pair.read.size()) continue;
    const std::vector<std::string> layers = pair.layers();
    if (std::ranges::any_of(layers, [&](const std::string& layer) { return taken.contains(layer); })) continue;
    // Of these cross_layer_equalization says why.
    if (is_lattice(pair.first) || std::ranges::any_of(pair.seconds, is_lattice)) continue;
    const float largest = std::ranges::max(seen->second);
    std::vector<float> factors(pair.read.size(), 1);
    std::size_t changed = 0;
    for (std::size_t j = 0; j < factors.size(); ++j) {
      if (seen->second[j] <= 0 || pair.read[j] <= 0) continue;
      const double spread = static_cast<double>(seen->second[j]) / static_cast<double>(largest);
      factors[j] = power_of_two(std::max(std::pow(spread, alpha), kSmallest));
      changed += factors[j] != 1 ? 1 : 0;
    }
    if (changed == 0 || largest <= 0) continue;
    taken.insert(layers.begin(), layers.end());
    proposals.push_back(scaling_proposal(pair, factors, fmt::format("activation '{}'", pair.data())));
  }
}

}  // namespace

std::vector<Proposal> smooth_quant(const Network& network, int round) {
  // How much of an activation's spread the weights take over.
  const double alpha = round == 0 ? 0.5 : 0.75;
  std::vector<Proposal> proposals;
  smooth_convolutions(network, alpha, proposals);
  const GraphWalk walk(network.model);
  const std::map<std::string, int> readers = count_readers(network.model);
  const std::map<std::string, ValueType> types = infer_types(network.model);
  std::map<std::string, BehindNorm> behind;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const auto seen = network.channel_absmax.find(layer.data);
    if (seen == network.channel_absmax.end()) continue;
    const Passage passage = passage_to(walk, types, layer.data, seen->second.size());
    BehindNorm& group = behind[passage.start];
    group.layers.push_back(layer);
    group.passed.insert(passage.nodes.begin(), passage.nodes.end());
  }
  for (const auto& [tensor, group] : behind) {
    if (auto proposal = smooth_norm(network, walk, types, readers, tensor, group, alpha)) {
      proposals.push_back(std::move(*proposal));
    }
  }
  for (Proposal& proposal : smooth_attentions(network, alpha)) proposals.push_back(std::move(proposal));
  return proposals;
}

}  // namespace vernier
