#include "jobs/debug/other_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kSameDb = 30;
constexpr std::size_t kMostNodes = 64;

using Nodes = std::vector<const onnx::NodeProto*>;

/// The nodes that compute `tensor` from tensors in `known`, from graph inputs and constants; the nearest first.
Nodes nodes_behind(const Makers& made_by, const std::string& tensor, const std::set<std::string>& known) {
  Nodes nodes;
  std::vector<std::string> open = {tensor};
  std::set<const onnx::NodeProto*> seen;
  for (std::size_t next = 0; next < open.size() && nodes.size() < kMostNodes; ++next) {
    if (next > 0 && known.contains(open[next])) continue;
    const auto made = made_by.find(open[next]);
    if (made == made_by.end() || !seen.insert(made->second).second) continue;
    nodes.push_back(made->second);
    open.insert(open.end(), made->second->input().begin(), made->second->input().end());
  }
  return nodes;
}

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

std::string attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::FLOAT:
      return fmt::format("{:g}", attribute.f());
    case onnx::AttributeProto::INT:
      return std::to_string(attribute.i());
    case onnx::AttributeProto::STRING:
      return printable(attribute.s());
    case onnx::AttributeProto::INTS:
      return fmt::format("[{}]", fmt::join(attribute.ints().begin(), attribute.ints().end(), ", "));
    case onnx::AttributeProto::FLOATS:
      return fmt::format("[{:g}]", fmt::join(attribute.floats().begin(), attribute.floats().end(), ", "));
    default:
      return "another value";
  }
}

/// "alpha 0.3, in the float model 0.1"; empty: no attribute that both have differs.
std::string other_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  for (const onnx::AttributeProto& wanted : ref.attribute()) {
    const onnx::AttributeProto* held = find_attribute(low, wanted.name());
    if (held == nullptr || wanted.type() == onnx::AttributeProto::GRAPH) continue;
    if (held->SerializeAsString() == wanted.SerializeAsString()) continue;
    const std::string is = attribute_text(*held), was = attribute_text(wanted);
    if (is != was) return fmt::format("{} {}, in the float model {}", printable(wanted.name()), is, was);
  }
  return {};
}

/// "no 'group', which the float model sets to 8", or the other way round; empty: both set the same ones.
std::string lone_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  for (const onnx::AttributeProto& wanted : ref.attribute()) {
    if (find_attribute(low, wanted.name()) != nullptr) continue;
    return fmt::format("no {}, in the float model {}", printable(wanted.name()), attribute_text(wanted));
  }
  for (const onnx::AttributeProto& held : low.attribute()) {
    if (find_attribute(ref, held.name()) != nullptr) continue;
    return fmt::format("{} {}, in the float model none", printable(held.name()), attribute_text(held));
  }
  return {};
}

bool values_differ(std::span<const float> wanted, std::span<const float> held) {
  if (wanted.size() != held.size()) return true;
  double energy = 0, error = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double difference = static_cast<double>(wanted[i]) - static_cast<double>(held[i]);
    energy += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
    error += difference * difference;
  }
  return error > energy * std::pow(10.0, -kSameDb / 10);
}

struct Difference {
  std::string node, text;  // node: of the file
};

class Comparing {
 public:
  Comparing(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights, const LayerMatches& matches,
            bool outputs_agree)
      : outputs_agree_(outputs_agree),
        file_(file),
        weights_(weights),
        ref_made_(makers_in(subject.model)),
        low_made_(makers_in(file.model)) {
    for (const Match& match : matches.pairs) {
      refs_.insert(match.ref);
      lows_.insert(match.low);
    }
    for (const QuantizedTensor& pair : file.quantized) {
      if (pair.quantizer.empty()) stored_.insert(pair.output);
    }
  }

  Nodes of_file(const Match& match) const { return nodes_behind(low_made_, match.low, lows_); }

  std::optional<Difference> at(const Match& match) const {
    const Nodes refs = nodes_behind(ref_made_, match.ref, refs_);
    Nodes lows = of_file(match);
    if (refs.empty() || lows.empty() || (names_moved(*refs.front(), lows) && stands_behind(match.low, *refs.front()))) {
      return std::nullopt;
    }
    const std::string nearest = computing(lows);
    std::vector<std::pair<const onnx::NodeProto*, const onnx::NodeProto*>> twins;
    Nodes lost;
    for (const onnx::NodeProto* ref : refs) {
      const auto same_type = [&](const onnx::NodeProto* low) { return low->op_type() == ref->op_type(); };
      auto twin =
          std::ranges::find_if(lows, [&](const auto* low) { return same_type(low) && low->name() == ref->name(); });
      if (twin == lows.end()) twin = std::ranges::find_if(lows, same_type);
      if (twin == lows.end()) {
        if (!may_be_folded(*ref)) lost.push_back(ref);
        continue;
      }
      twins.emplace_back(ref, *twin);
      lows.erase(twin);
    }
    for (const auto& [ref, low] : twins) {
      if (const std::string other = other_attribute(*ref, *low); !other.empty()) return described(*low, other);
    }
    std::erase_if(lows, [](const onnx::NodeProto* low) { return may_be_folded(*low); });
    if (!lost.empty() && !lows.empty()) {
      return Difference{lows.front()->name(), fmt::format("the file has {} '{}' in place of {} '{}'",
                                                          lows.front()->op_type(), printable(lows.front()->name()),
                                                          lost.front()->op_type(), printable(lost.front()->name()))};
    }
    if (!lost.empty()) {
      const auto source = ref_made_.find(lost.front()->input_size() > 0 ? lost.front()->input(0) : std::string());
      return Difference{
          nearest, fmt::format("the file has no {0} behind '{1}': '{2}' of the float model is lost",
                               printable(lost.front()->op_type()),
                               printable(source == ref_made_.end() ? lost.front()->input(0) : source->second->name()),
                               printable(lost.front()->name()))};
    }
    if (!lows.empty()) {
      return Difference{lows.front()->name(),
                        fmt::format("the float model has no {} where the file has '{}'",
                                    printable(lows.front()->op_type()), printable(lows.front()->name()))};
    }
    for (const auto& [ref, low] : twins) {
      if (outputs_agree_) break;  // other layers undo it: channels in another order, factors
      for (const std::string& input : low->input()) {
        const auto wanted = weights_.found.find(input);
        const auto held =
            wanted == weights_.found.end() || stored_.contains(input) ? std::nullopt : initializer(file_.model, input);
        if (!held || held->dtype() != Dtype::Float32 || !values_differ(wanted->second.values.floats(), held->floats()))
          continue;
        return Difference{low->name(), fmt::format("the constant '{}' of {} '{}' is not '{}' of the float model",
                                                   printable(input), printable(low->op_type()), printable(low->name()),
                                                   printable(wanted->second.name))};
      }
    }
    for (const auto& [ref, low] : twins) {
      if (const std::string other = lone_attribute(*ref, *low); !other.empty()) return described(*low, other);
    }
    return std::nullopt;
  }

 private:
  static bool names_moved(const onnx::NodeProto& ref, const Nodes& lows) {
    return std::ranges::none_of(lows, [&](const auto* low) { return low->op_type() == ref.op_type(); });
  }

  /// The operator, or one that cuts off values as it does, reads the tensor that was matched with its result: the names
  /// of tensors moved.
  bool stands_behind(const std::string& low, const onnx::NodeProto& ref) const {
    for (const onnx::NodeProto& node : file_.model.proto.graph().node()) {
      const bool alike = node.op_type() == ref.op_type() || (has(node, Trait::Clips) && has(ref, Trait::Clips));
      if (alike && std::ranges::find(node.input(), low) != node.input().end()) return true;
    }
    return false;
  }

  static Difference described(const onnx::NodeProto& low, const std::string& other) {
    return {low.name(), fmt::format("{} '{}' has {}", printable(low.op_type()), printable(low.name()), other)};
  }

  static std::string computing(const Nodes& lows) {
    const auto found = std::ranges::find_if(lows, [](const onnx::NodeProto* low) { return low->domain() != kDomain; });
    return found == lows.end() ? lows.front()->name() : (*found)->name();
  }

  const bool outputs_agree_;
  const SimulatedFile& file_;
  const FloatWeights& weights_;
  const Makers ref_made_, low_made_;
  std::set<std::string> refs_, lows_, stored_;
};

}  // namespace

OtherOperators find_other_operators(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights,
                                    const LayerMatches& matches, const std::vector<std::optional<ErrorStats>>& exact,
                                    const std::set<std::string>& skipped, bool outputs_agree) {
  OtherOperators found;
  const Comparing comparing(subject, file, weights, matches, outputs_agree);
  std::set<std::string> named;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    if (!exact[i] || exact[i]->count == 0 || sqnr_db(*exact[i]) >= kSameDb) continue;
    const Nodes nodes = comparing.of_file(matches.pairs[i]);
    const auto is_skipped = [&](const onnx::NodeProto* node) {
      return std::ranges::any_of(node->input(), [&](const std::string& input) { return skipped.contains(input); });
    };
    if (std::ranges::any_of(nodes, is_skipped)) continue;
    const std::optional<Difference> difference = comparing.at(matches.pairs[i]);
    if (!difference) continue;
    found.layers.insert(matches.pairs[i].low);
    for (const onnx::NodeProto* node : nodes) found.layers.insert(node->output().begin(), node->output().end());
    if (!named.insert(difference->node + '\n' + difference->text).second) continue;
    found.defects.push_back(
        {"other-operator", difference->node,
         fmt::format("{}. Without any rounding, '{}' keeps {:.1f} dB on exact inputs", difference->text,
                     printable(matches.layers[i]->name), sqnr_db(*exact[i])),
         "export both files from the same network, or write the layer again as the float model has it"});
  }
  found.behind = found.layers;
  for (const onnx::NodeProto& node : file.model.proto.graph().node()) {
    const auto reads = [&](const std::string& input) { return found.behind.contains(input); };
    if (std::ranges::any_of(node.input(), reads)) found.behind.insert(node.output().begin(), node.output().end());
  }
  return found;
}

}  // namespace vernier
