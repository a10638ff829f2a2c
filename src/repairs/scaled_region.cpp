#include "repairs/scaled_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "repairs/factor_degrees.h"
#include "repairs/norm_in_pieces.h"

namespace vernier {
namespace {

constexpr std::size_t kMostNodes = 64;  // of a region: beyond, it has no end nearby

const std::string& scaled_input(const Model& model, const GraphWalk& walk, const onnx::NodeProto& node) {
  const auto by_weights = [&](const std::string& tensor) {
    const onnx::NodeProto* maker = walk.maker(tensor);
    return maker != nullptr && has_constant_weights(model, *maker);
  };
  const bool second = multiplies_tensors(model, node) && by_weights(node.input(1)) && !by_weights(node.input(0));
  return node.input(second ? 1 : 0);
}

class Growth {
 public:
  Growth(const Network& network, const GraphWalk& walk, const NodeIndex& index, RegionStart& start)
      : network_(network), walk_(walk), index_(index), start_(start) {
    for (const auto& output : network.model.proto.graph().output()) outputs_.insert(output.name());
  }

  /// Nothing where the start turned out to need another source: it has it now.
  std::optional<ScaledRegion> grow() {
    region_.sources = region_.reached = start_.sources;
    for (const std::string& name : start_.nodes) next_.insert(index_.place(name));
    while (!next_.empty()) {
      const onnx::NodeProto& node = index_.node(*next_.begin());
      next_.erase(next_.begin());
      if (region_.nodes.size() >= kMostNodes) {
        region_.why_not = "too many layers would have to be scaled with it";
        return region_;
      }
      if (!enter(node)) return std::nullopt;
    }
    for (const std::string& output : outputs_) restore(output);
    for (const auto& [tensor, degree] : region_.restored) {
      if (!fits(tensor)) region_.why_not = fmt::format("'{}' exceeds the format by itself", printable(tensor));
    }
    return region_;
  }

 private:
  int degree_of(const std::string& tensor) const {
    if (const auto inside = open_.find(tensor); inside != open_.end()) return inside->second;
    const auto source = start_.sources.find(tensor);
    return source == start_.sources.end() ? 0 : source->second;
  }

  bool fits(const std::string& tensor) const {
    const auto range = network_.ranges.find(tensor);
    return range == network_.ranges.end() || range->second.absmax() <= kLargestFloat16;
  }

  void restore(const std::string& tensor) {
    if (const auto inside = open_.find(tensor); inside != open_.end()) region_.restored[tensor] = inside->second;
  }

  bool enter(const onnx::NodeProto& node) {
    const std::optional<int> result =
        result_degree(network_.model, node, [&](const std::string& input) { return degree_of(input); });
    if (result && joins_equals(node) && *result != 0 && !join(node, *result)) return false;
    if (!result || (node.output_size() != 1 && !has(node, Trait::Moves))) {
      for (const std::string& input : tensors_read(node)) restore(input);
      return true;
    }
    region_.nodes[node.name()] = *result;
    for (const std::string& input : node.input()) {
      if (open_.contains(input)) region_.tensors.insert(input);
    }
    if (node.op_type() == "Log") {
      region_.logarithms.insert(node.name());
      return true;
    }
    if (*result == 0) return true;
    const std::string& output = node.output(0);
    const bool taken_out = !start_.passed.contains(node.name()) && fits(output);
    if (taken_out && (has_constant_factor(network_.model, node) || has_constant_weights(network_.model, node))) {
      region_.folded.insert(node.name());
      return true;
    }
    for (const std::string& made : node.output()) region_.reached[made] = *result;
    if (taken_out && std::abs(*result) <= 1 && !has(node, Trait::Moves) && !cancels(output, *result, 3)) {
      region_.restored[output] = *result;
      return true;
    }
    for (const std::string& made : node.output()) {
      open_[made] = *result;
      next_.insert(index_.readers(made).begin(), index_.readers(made).end());
    }
    return true;
  }

  /// All that reads `tensor` gives what it gave before, at once or in a few steps.
  bool cancels(const std::string& tensor, int degree, int steps) const {
    if (outputs_.contains(tensor) || walk_.readers(tensor).empty()) return false;
    return std::ranges::all_of(walk_.readers(tensor), [&](const onnx::NodeProto* reader) {
      const auto with = [&](const std::string& input) { return input == tensor ? degree : degree_of(input); };
      const std::optional<int> result = result_degree(network_.model, *reader, with);
      if (!result || reader->output_size() != 1) return false;
      return *result == 0 || (steps > 0 && cancels(reader->output(0), *result, steps - 1));
    });
  }

  /// What is added to a scaled tensor has to be scaled as well.
  bool join(const onnx::NodeProto& node, int degree) {
    bool complete = true;
    for (const std::string& input : node.input()) {
      if (degree_of(input) != 0 || float_constant(network_.model, input)) continue;
      add_source(input, degree);
      complete = false;
    }
    return complete;
  }

  /// Before it is squared, where it is a square; and in front of the product that takes it beyond the format.
  void add_source(const std::string& tensor, int degree) {
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker != nullptr && degree == 2 && squares(network_.model, *maker)) {
      start_.sources[maker->input(0)] = 1;
    } else if (maker != nullptr && !fits(tensor) && multiplies_tensors(network_.model, *maker)) {
      start_.sources[scaled_input(network_.model, walk_, *maker)] = degree;
    } else if (maker != nullptr && !fits(tensor) && joins_equals(*maker)) {
      if (!start_.nodes.insert(maker->name()).second) return;
      for (const std::string& input : maker->input()) {
        if (degree_of(input) == 0 && !float_constant(network_.model, input)) add_source(input, degree);
      }
    } else {
      start_.sources[tensor] = degree;
      return;
    }
    start_.nodes.insert(maker->name());
  }

  const Network& network_;
  const GraphWalk& walk_;
  const NodeIndex& index_;
  RegionStart& start_;
  std::set<std::size_t> next_;  // places of nodes, in the graph's order
  ScaledRegion region_;
  std::set<std::string> outputs_;
  std::map<std::string, int> open_;  // tensors inside that may be read with the factor, and their degrees
};

/// The way back from a Log or a Sqrt, through what passes a factor on.
class WayBack {
 public:
  WayBack(const Model& model, const GraphWalk& walk) : model_(model), walk_(walk) {}

  RegionStart start(const onnx::NodeProto& end) {
    follow(end.input(0));
    const int degree = squares_.empty() ? 1 : 2;
    RegionStart start;
    for (const onnx::NodeProto* square : squares_) {
      start.sources[square->input(0)] = 1;
      path_.insert(square->name());
    }
    for (const std::string& tensor : ends_) start.sources.try_emplace(tensor, degree);
    start.passed = path_;
    path_.insert(end.name());
    for (const auto& [tensor, unused] : start.sources) {
      for (const onnx::NodeProto* reader : walk_.readers(tensor)) {
        if (path_.contains(reader->name())) start.nodes.insert(reader->name());
      }
    }
    return start;
  }

 private:
  void follow(const std::string& tensor) {
    const onnx::NodeProto* maker = walk_.maker(tensor);
    if (maker != nullptr && squares(model_, *maker)) {
      squares_.push_back(maker);
      return;
    }
    const std::vector<std::string> inputs =
        maker == nullptr || path_.size() >= kMostNodes ? std::vector<std::string>() : carriers(*maker);
    if (inputs.empty()) {
      ends_.insert(tensor);
    } else if (path_.insert(maker->name()).second) {
      for (const std::string& input : inputs) follow(input);
    }
  }

  /// The inputs that a factor of the result can come from; none where the way ends.
  std::vector<std::string> carriers(const onnx::NodeProto& node) const {
    if (!of_onnx(node) || node.input_size() == 0 || node.output_size() != 1) return {};
    if (!power_of_two(model_, node).empty()) return {};  // it can take the factor in
    if (passes_first(node) || node.op_type() == "Clip") return {node.input(0)};
    std::vector<std::string> inputs;
    const bool product = node.op_type() == "Mul" || node.op_type() == "Div" || node.op_type() == "MatMul";
    if (!product && !joins_equals(node)) return {};
    for (const std::string& input : node.input()) {
      if (!float_constant(model_, input)) inputs.push_back(input);
    }
    if (product && inputs.size() != 1) return {};
    if (node.op_type() == "Div" && inputs.front() != node.input(0)) return {};
    return inputs;
  }

  const Model& model_;
  const GraphWalk& walk_;
  std::set<std::string> path_;  // names of nodes
  std::vector<const onnx::NodeProto*> squares_;
  std::set<std::string> ends_;
};

}  // namespace

NodeIndex::NodeIndex(const Model& model) {
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    places_[node.name()] = nodes_.size();
    for (const std::string& tensor : tensors_read(node)) readers_[tensor].push_back(nodes_.size());
    nodes_.push_back(&node);
  }
}

const std::vector<std::size_t>& NodeIndex::readers(const std::string& tensor) const {
  static const std::vector<std::size_t> kNone;
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? kNone : found->second;
}

RegionStart start_at(const Model& model, const GraphWalk& walk, const onnx::NodeProto& node) {
  return {{{scaled_input(model, walk, node), 1}}, {node.name()}, {}};
}

RegionStart start_in_front_of(const Model& model, const GraphWalk& walk, const onnx::NodeProto& end) {
  return WayBack(model, walk).start(end);
}

ScaledRegion scaled_region(const Network& network, const GraphWalk& walk, const NodeIndex& index, RegionStart start) {
  for (std::size_t tries = 0; tries < kMostNodes; ++tries) {
    if (std::optional<ScaledRegion> region = Growth(network, walk, index, start).grow()) return *std::move(region);
  }
  ScaledRegion none;
  none.why_not = "too many layers would have to be scaled with it";
  return none;
}

int power_for(const Network& network, const ScaledRegion& region, double largest) {
  std::optional<int> power;
  for (const auto& [tensor, degree] : region.reached) {
    const auto range = network.ranges.find(tensor);
    if (degree <= 0 || range == network.ranges.end() || range->second.absmax() == 0) continue;
    const double room = std::log2(largest / static_cast<double>(range->second.absmax()));
    const int most = static_cast<int>(std::floor(room / degree));
    power = power ? std::min(*power, most) : most;
  }
  return power.value_or(0);
}

}  // namespace vernier
