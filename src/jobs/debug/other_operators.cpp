#include "jobs/debug/other_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "base/text.h"
#include "jobs/debug/expansions.h"
#include "jobs/debug/limiting_pair.h"
#include "jobs/debug/other_attributes.h"
#include "jobs/debug/other_constants.h"
#include "jobs/debug/wiring.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "model/onnx_runtime_operators.h"
#include "model/operator_traits.h"
#include "numerics/round.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Nodes = std::vector<const onnx::NodeProto*>;

/// Operators that exporters and quantizers fold into a neighbour, or write in other ways that compute the same.
bool may_be_folded(const onnx::NodeProto& node) {
  static const std::set<std::string> kFolded = {"Add",      "Sub",     "Mul",      "Div",  "BatchNormalization",
                                                "Identity", "Dropout", "Constant", "Cast", "Sum",
                                                "Shape",    "Conv",    "MatMul",   "Gemm", "Pad",
                                                "Where"};
  return node.domain() == kDomain || kFolded.contains(node.op_type()) ||
         has(node, kFollows | Trait::Quantizes | Trait::Weighted | Trait::ComputesOnCodes | Trait::StoresCodes) ||
         has(node, Trait::ReadsShape | Trait::NeverLayer | Trait::ChangesType);
}

/// "[2, 4, 3]" of a constant of integers; empty: it holds others.
std::string integers_text(const std::optional<Tensor>& constant) {
  constexpr std::int64_t kMostIntegers = 64;
  if (!constant || constant->count() > kMostIntegers) return {};
  std::vector<std::int64_t> values(static_cast<std::size_t>(constant->count()));
  if (constant->dtype() == Dtype::Int64) {
    std::memcpy(values.data(), constant->bytes().data(), values.size() * sizeof(std::int64_t));
  } else if (constant->dtype() == Dtype::Int32) {
    std::vector<std::int32_t> narrow(values.size());
    std::memcpy(narrow.data(), constant->bytes().data(), narrow.size() * sizeof(std::int32_t));
    std::ranges::copy(narrow, values.begin());
  } else {
    return {};
  }
  // Axes and ends that count from behind, or lie beyond the end, have several forms.
  const auto unclear = [](std::int64_t value) { return value < 0 || value > std::numeric_limits<std::int32_t>::max(); };
  if (std::ranges::any_of(values, unclear)) return {};
  return fmt::format("[{}]", fmt::join(values, ", "));
}

class Comparing {
 public:
  Comparing(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights, const LayerMatches& matches)
      : subject_(subject),
        file_(file),
        weights_(weights),
        wiring_(subject, file, matches),
        ref_made_(makers_in(subject.model)),
        low_made_(makers_in(file.model)),
        opset_(default_opset(file.model.proto)),
        constants_(subject.model, file.model, weights, stored_) {
    for (const Match& match : matches.pairs) {
      refs_.insert(match.ref);
      lows_.insert(match.low);
    }
    for (const QuantizedTensor& pair : file.quantized) {
      if (pair.quantizer.empty()) stored_.insert(pair.output);
    }
  }

  Nodes of_file(const Match& match) const { return nodes_behind(low_made_, match.low, lows_); }

  /// A constant, or a number in an attribute, of a layer that computes nearly the same.
  std::optional<OtherLayer> other_number(const Match& match) const {
    const Nodes lows = of_file(match);
    if (auto found = constants_.any_other_value(lows)) return found;
    for (const onnx::NodeProto* ref : nodes_behind(ref_made_, match.ref, refs_)) {
      for (const onnx::NodeProto* low : lows) {
        if (low->op_type() != ref->op_type()) continue;
        auto changed = with_other_numbers(*ref, *low, settled(*low));
        if (!changed) continue;
        OtherLayer found{described(*low, other_attribute(*ref, *low, settled(*low)))};
        found.instead = std::move(changed);
        return found;
      }
    }
    return std::nullopt;
  }

  std::optional<OtherLayer> at(const Match& match) const {
    const Nodes refs = nodes_behind(ref_made_, match.ref, refs_);
    Nodes lows = of_file(match);
    if (refs.empty() || lows.empty() || (names_moved(*refs.front(), lows) && stands_behind(match.low, *refs.front()))) {
      return std::nullopt;
    }
    const Nodes all = lows;
    Twins twins;
    Nodes lost, folded;  // of the float model, without a twin
    for (const onnx::NodeProto* ref : refs) {
      const auto same_type = [&](const onnx::NodeProto* low) { return low->op_type() == ref->op_type(); };
      auto twin =
          std::ranges::find_if(lows, [&](const auto* low) { return same_type(low) && low->name() == ref->name(); });
      if (twin == lows.end()) twin = std::ranges::find_if(lows, same_type);
      if (twin == lows.end()) {
        (may_be_folded(*ref) ? folded : lost).push_back(ref);
        continue;
      }
      twins.emplace_back(ref, *twin);
      lows.erase(twin);
    }
    for (const auto& [ref, low] : twins) {
      if (const std::string other = other_attribute(*ref, *low, settled(*low)); !other.empty()) {
        return OtherLayer{described(*low, other), !differs_in_axes_alone(*ref, *low)};
      }
    }
    if (auto found = other_epsilon(refs, all)) return found;
    if (auto found = constants_.other_norm(refs, all)) return found;
    if (auto found = other_products(folded, lows, all)) return found;
    Nodes added = lows;
    std::erase_if(added, [](const onnx::NodeProto* low) { return may_be_folded(*low); });
    if (std::ranges::any_of(lost, [](const auto* ref) { return is_onnx(*ref, "Relu"); }) && starts_at_zero(all)) {
      return std::nullopt;
    }
    if (auto found = wrapping_cast(added.empty() ? Nodes{} : all)) return found;
    if (const auto found = other_activation(lost, added)) return OtherLayer{described(*found->node, found->text), true};
    const auto [not_written, not_read] = without_expansions(lost, added);
    // A node that reads another tensor depends on what made that one.
    if (not_written.empty() && !not_read.empty() && is_exact(all)) {
      if (auto found = wiring_.other_sources(match, node_of_layer(all))) return OtherLayer{*found};
    }
    if (auto found = other_nodes(not_written, not_read, all)) return found;
    if (is_exact(all)) {
      if (auto found = wiring_.other_sources(match, node_of_layer(all))) return OtherLayer{*found};
      if (auto found = other_reading(match, twins)) return OtherLayer{*found};
    }
    if (auto found = constants_.other_weight(all)) return found;
    if (auto found = constants_.other_values(all)) return found;
    if (is_exact(all)) {
      if (auto found = constants_.other_bias(refs, all)) return found;
      Nodes moved = folded;
      std::erase_if(moved, [](const onnx::NodeProto* ref) { return !reorders(*ref); });
      std::erase_if(lows, [](const onnx::NodeProto* low) { return !reorders(*low); });
      if (auto found = other_nodes(moved, lows, all)) return OtherLayer{found->difference};
    }
    if (drop_norms_in_pieces(lost, added) || drop_norms_in_pieces(added, lost)) return other_nodes(lost, added, all);
    // An operator written with others, in which nothing else differs.
    if (is_fused(lost, added)) return std::nullopt;
    if (auto found = other_nodes(lost, added, all)) return found;
    for (const auto& [ref, low] : twins) {
      if (const std::string other = lone_attribute(*ref, *low, opset_, settled(*low)); !other.empty()) {
        return OtherLayer{described(*low, other), true};
      }
    }
    if (holds_factor(all)) return std::nullopt;
    std::erase_if(folded, [&](const onnx::NodeProto* ref) { return !scales(*ref); });
    if (is_exact(all) && !folded.empty()) return OtherLayer{other_nodes(folded, {}, all)->difference};
    return std::nullopt;
  }

 private:
  using Twins = std::vector<std::pair<const onnx::NodeProto*, const onnx::NodeProto*>>;

  /// Whether one operator of ONNX Runtime stands for several: its name tells nothing of what differs.
  static bool is_fused(const Nodes& lost, const Nodes& added) {
    const auto fuses = [](const onnx::NodeProto* node) { return is_onnx_runtime(*node); };
    return std::ranges::any_of(lost, fuses) != std::ranges::any_of(added, fuses);
  }

  /// Moves values to other places, or leaves some out.
  static bool reorders(const onnx::NodeProto& node) {
    static const std::set<std::string> kSameOrder = {"Reshape",  "Flatten", "Squeeze", "Unsqueeze",
                                                     "Identity", "Dropout", "Expand",  "Cast"};
    return has(node, kFollows) && node.domain() != kDomain && !kSameOrder.contains(node.op_type());
  }

  const FloatWeight* weight_of(const onnx::NodeProto& low) const {
    const auto weight = low.input_size() > 1 ? weights_.found.find(low.input(1)) : weights_.found.end();
    return weight == weights_.found.end() ? nullptr : &weight->second;
  }

  /// Attributes that say how a weight lies, or by what it is multiplied, if the file stores it in another form: its
  /// values were compared.
  std::set<std::string_view> settled(const onnx::NodeProto& low) const {
    const FloatWeight* weight = weight_of(low);
    if (weight != nullptr && weight->factor) return {"transB", "alpha", "beta"};
    if (weight != nullptr && weight->other_form) return {"transB"};
    return {};
  }

  bool holds_factor(const Nodes& lows) const {
    return std::ranges::any_of(lows, [&](const onnx::NodeProto* low) {
      const FloatWeight* weight = weight_of(*low);
      return weight != nullptr && weight->factor;
    });
  }

  /// Multiplies with a constant.
  bool scales(const onnx::NodeProto& node) const {
    return (is_onnx(node, "Mul") || is_onnx(node, "Div")) &&
           std::ranges::any_of(node.input(), [&](const auto& input) { return is_initializer(subject_.model, input); });
  }

  /// Whether nothing rounds in these nodes of the file once float weights are in them.
  bool is_exact(const Nodes& lows) const {
    return std::ranges::none_of(lows, [&](const onnx::NodeProto* low) {
      return has(*low, Trait::Quantizes | Trait::ComputesOnCodes | Trait::StoresCodes) ||
             std::ranges::any_of(low->input(), [&](const std::string& input) {
               return stored_.contains(read_name(input)) && !weights_.found.contains(input);
             });
    });
  }

  /// Layers with weights that only one of both has. `refs` and `lows`: without a twin.
  static std::optional<OtherLayer> other_products(const Nodes& refs, const Nodes& lows, const Nodes& all) {
    constexpr Traits kProducts = Trait::Weighted | Trait::Recurrent | Trait::StoresCodes | Trait::ComputesOnCodes;
    const auto products = [&](Nodes nodes) {
      std::erase_if(nodes, [&](const onnx::NodeProto* node) { return !has(*node, kProducts); });
      return nodes;
    };
    // Operators of other domains may do the work of several.
    const auto is_other = [](const onnx::NodeProto* node) { return !of_onnx(*node) && node->domain() != kDomain; };
    if (std::ranges::any_of(refs, is_other) || std::ranges::any_of(lows, is_other)) return std::nullopt;
    const auto text = [](const Nodes& nodes) {
      return nodes.size() == 1 ? fmt::format("layer '{}'", printable(nodes.front()->name()))
                               : fmt::format("{} layers, from '{}' to '{}',", nodes.size(),
                                             printable(nodes.back()->name()), printable(nodes.front()->name()));
    };
    const Nodes lost = products(refs), added = products(lows);
    if (lost.empty() == added.empty()) return std::nullopt;
    if (added.empty()) {
      return OtherLayer{{node_of_layer(all), "the file lacks " + text(lost) + " of the float model"}, true};
    }
    return OtherLayer{{added.front()->name(), "the float model lacks " + text(added) + " of the file"}, true};
  }

  /// `lost`: of the float model, without a twin; `added`: of the file. `lows`: all nodes of the file there.
  std::optional<OtherLayer> other_nodes(const Nodes& lost, const Nodes& added, const Nodes& lows) const {
    if (!lost.empty() && !added.empty()) {
      return OtherLayer{{added.front()->name(), fmt::format("the file has {} '{}' instead of {} '{}'",
                                                            added.front()->op_type(), printable(added.front()->name()),
                                                            lost.front()->op_type(), printable(lost.front()->name()))},
                        true};
    }
    if (!lost.empty()) {
      const onnx::NodeProto& ref = *lost.front();
      const auto source = ref_made_.find(ref.input_size() > 0 ? ref.input(0) : std::string());
      OtherLayer found{
          {node_of_layer(lows),
           fmt::format("the file has no {0} after '{1}': '{2}' of the float model is lost", printable(ref.op_type()),
                       printable(source == ref_made_.end() ? ref.input(0) : source->second->name()),
                       printable(ref.name()))},
          true};
      if (const QuantizedTensor* pair = limits_of(ref, lows); pair != nullptr) {
        const auto [low, high] = ends_of(pair->params);
        found.difference.node = pair->quantizer;
        found.difference.text += fmt::format(
            ", and its pair '{}' clips to {:.3g} and {:.3g} instead of {} (scale {:.6g}, zero point {})",
            printable(pair->quantizer), low, high, limits_text(subject_.model, ref), pair->params.scale.front(),
            pair->params.zero_point.empty() ? 0 : pair->params.zero_point.front());
        found.cure = "choose the scale and zero point so that the range matches the activation, or add the activation";
      }
      return found;
    }
    if (added.empty()) return std::nullopt;
    return OtherLayer{
        {added.front()->name(), fmt::format("the float model has no {} where the file has '{}'",
                                            printable(added.front()->op_type()), printable(added.front()->name()))},
        true};
  }

  /// The pair that stands for a Relu or Clip of the float model.
  const QuantizedTensor* limits_of(const onnx::NodeProto& ref, const Nodes& lows) const {
    const auto source = ref_made_.find(ref.input_size() > 0 ? ref.input(0) : std::string());
    if (source == ref_made_.end() || !has(ref, Trait::Clips)) return nullptr;
    return pair_with_limits(file_, low_made_, *source->second, lows);
  }

  /// Whether a pair among these nodes cuts off what is negative, to two steps: it does the work of a Relu.
  bool starts_at_zero(const Nodes& lows) const {
    return std::ranges::any_of(file_.quantized, [&](const QuantizedTensor& pair) {
      const auto makes = [&](const onnx::NodeProto* low) { return low->output(0) == pair.output; };
      return pair.params.scale.size() == 1 && ends_of(pair.params).first >= -2 * pair.params.scale.front() &&
             std::ranges::any_of(lows, makes);
    });
  }

  /// A Cast to 8 bits that nothing in front of it keeps from wrapping, as a pair written in float operators has one.
  std::optional<OtherLayer> wrapping_cast(const Nodes& lows) const {
    for (const onnx::NodeProto* low : lows) {
      const std::int64_t to = low->op_type() == "Cast" ? attribute_int(*low, "to", 0) : 0;
      if (to != onnx::TensorProto::INT8 && to != onnx::TensorProto::UINT8) continue;
      const onnx::NodeProto* before = low;
      const auto limits = [](const onnx::NodeProto& node) {
        return has(node, Trait::Clips) || node.op_type() == "Min" || node.op_type() == "Max";
      };
      while (before != nullptr && !limits(*before)) {
        const auto data =
            std::ranges::find_if(before->input(), [&](const std::string& input) { return low_made_.contains(input); });
        const bool inside = data != before->input().end() && !lows_.contains(*data);
        before = inside ? low_made_.at(*data) : nullptr;
      }
      if (before != nullptr) continue;
      OtherLayer found{
          {low->name(), fmt::format("Cast '{}' to {} wraps values beyond its ends, and no Clip precedes it",
                                    printable(low->name()), dtype_name(static_cast<Dtype>(to)))},
          true};
      found.cure = "put a Clip to the ends of the type before the Cast, or use QuantizeLinear, which saturates";
      return found;
    }
    return std::nullopt;
  }

  /// Of a normalization that both write, perhaps one of them in pieces.
  std::optional<OtherLayer> other_epsilon(const Nodes& refs, const Nodes& lows) const {
    constexpr float kSame = 0.01F;
    const std::optional<Epsilon> wanted = epsilon_in(subject_.model, refs), held = epsilon_in(file_.model, lows);
    if (!wanted || !held || std::abs(wanted->value - held->value) <= kSame * wanted->value) return std::nullopt;
    return OtherLayer{
        described(*held->node, fmt::format("epsilon {:g}, in the float model {:g}", held->value, wanted->value)), true};
  }

  /// Inputs in another order, or other integers: indices, axes, ends of slices.
  std::optional<Difference> other_reading(const Match& match, const Twins& twins) const {
    for (const auto& [ref, low] : twins) {
      if (std::string other = wiring_.other_order(match, *ref, *low); !other.empty()) {
        return Difference{low->name(), std::move(other)};
      }
      for (int k = 0; k < ref->input_size() && k < low->input_size(); ++k) {
        const std::string was = integers_text(initializer(subject_.model, ref->input(k)));
        const std::string is = integers_text(initializer(file_.model, low->input(k)));
        if (was.empty() || is.empty() || was == is) continue;
        // A Reshape keeps the order of the values, whatever the shape in between.
        if (is_onnx(*ref, "Reshape")) continue;
        return described(*low, fmt::format("{} in '{}', in the float model {}", is, printable(low->input(k)), was));
      }
    }
    return std::nullopt;
  }

  static bool names_moved(const onnx::NodeProto& ref, const Nodes& lows) {
    return std::ranges::none_of(lows, [&](const auto* low) { return low->op_type() == ref.op_type(); });
  }

  /// The operator, or one that cuts off values as it does, reads the tensor that was matched with its result: the names
  /// of tensors moved.
  bool stands_behind(const std::string& low, const onnx::NodeProto& ref) const {
    for (const onnx::NodeProto& node : file_.model.proto.graph().node()) {
      const bool matched = node.output_size() > 0 && lows_.contains(read_name(node.output(0)));
      if (is_onnx(node, "Identity") || matched) continue;
      const bool alike = node.op_type() == ref.op_type() || (has(node, Trait::Clips) && has(ref, Trait::Clips));
      if (alike && std::ranges::find(node.input(), low) != node.input().end()) return true;
    }
    return false;
  }

  static Difference described(const onnx::NodeProto& low, const std::string& other) {
    return {low.name(), fmt::format("{} '{}' has {}", printable(low.op_type()), printable(low.name()), other)};
  }

  const Subject& subject_;
  const SimulatedFile& file_;
  const FloatWeights& weights_;
  const Wiring wiring_;
  const Makers ref_made_, low_made_;
  const int opset_;
  std::set<std::string> refs_, lows_, stored_;
  const OtherConstants constants_;
};

/// A layer that differs.
struct Named {
  std::size_t match;
  OtherLayer other;
  Nodes nodes;
  std::optional<double> left;  // of the outputs' noise, with the float model's value
  bool same;                   // its own result shows little
};

/// Whether outputs agree as soon as the other constants are mended: this one was changed on purpose, as a mask is.
bool is_harmless(const Named& one, const std::vector<Named>& all, const Asked& asked) {
  if (!one.other.values || one.same) return false;
  std::vector<const OtherLayer*> others;
  for (const Named& each : all) {
    // A constant that two layers read is one.
    if (each.other.values && each.other.constant != one.other.constant) others.push_back(&each.other);
  }
  return !others.empty() && asked.agree_with(others);
}

}  // namespace

OtherOperators find_other_operators(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights,
                                    const LayerMatches& matches, const std::vector<std::optional<ErrorStats>>& exact,
                                    const std::set<std::string>& skipped, const Asked& asked) {
  OtherOperators found;
  const Comparing comparing(subject, file, weights, matches);
  constexpr std::size_t kMostAsked = 16;
  constexpr double kMostLeft = 0.5;  // of the outputs' noise, where the layer itself shows little
  std::size_t asked_of_same = 0;
  std::vector<Named> all_named;
  std::set<std::string> read;  // by layers that are named
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    if (exact[i] && exact[i]->count > 0) order.push_back(i);
  }
  const auto is_same = [&](std::size_t i) { return sqnr_db(*exact[i]) >= kSameDb; };
  std::ranges::stable_partition(order, std::not_fn(is_same));
  for (const std::size_t i : order) {
    const bool same = is_same(i);
    const Nodes nodes = comparing.of_file(matches.pairs[i]);
    // The result of a layer without its bias may be what the float model has in front of the bias.
    if (same && read.contains(matches.pairs[i].low)) continue;
    const auto is_skipped = [&](const onnx::NodeProto* node) {
      return std::ranges::any_of(node->input(), [&](const std::string& input) { return skipped.contains(input); });
    };
    if (std::ranges::any_of(nodes, is_skipped)) continue;
    const std::optional<OtherLayer> other =
        same ? comparing.other_number(matches.pairs[i]) : comparing.at(matches.pairs[i]);
    if (!other || (!other->counts_if_undone && asked.outputs_agree())) continue;
    std::optional<double> left;
    if (other->values || other->instead) {
      if (same && asked_of_same++ == kMostAsked) continue;
      left = asked.left_with(*other);
      if (!left || !(*left <= (same ? kMostLeft : other->most_left))) continue;
    }
    for (const onnx::NodeProto* node : nodes) read.insert(node->input().begin(), node->input().end());
    all_named.push_back({i, *other, nodes, left, same});
  }
  std::set<std::string> named;
  for (const Named& one : all_named) {
    const auto& [i, other, nodes, left, same] = one;
    const bool harmless = is_harmless(one, all_named, asked);
    const Difference& difference = other.difference;
    const Layer* layer = matches.layers[i];
    std::set<std::string>& made = harmless ? found.layers : found.behind;
    made.insert(matches.pairs[i].low);
    for (const onnx::NodeProto* node : nodes) made.insert(node->output().begin(), node->output().end());
    if (harmless || !named.insert(difference.node + '\n' + difference.text).second) continue;
    found.defects.push_back(
        {"other-operator", difference.node,
         same ? fmt::format("{}. With the float model's value, the outputs gain {:.1f} dB", difference.text,
                            -10 * std::log10(*left))
              : fmt::format("{}. Without any rounding, '{}' has an SQNR of {:.1f} dB on exact inputs", difference.text,
                            printable(layer == nullptr ? matches.pairs[i].ref : layer->name), sqnr_db(*exact[i])),
         other.cure});
  }
  found.layers.insert(found.behind.begin(), found.behind.end());
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    const auto reads = [&](const std::string& input) { return found.behind.contains(input); };
    if (std::ranges::any_of(node.input(), reads)) found.behind.insert(node.output().begin(), node.output().end());
  }
  return found;
}

}  // namespace vernier
