// float16 ends at 65504 and thins out below 6e-5: squares of values beyond 255 become infinite and those below 0.0078
// lose digits, sums over many values become infinite where their mean would not, areas of boxes and gated hidden layers
// are products of two such tensors, and a floor of 1e-10 under a logarithm becomes 0. The same is computed with values
// that a power of two made smaller or larger, which is exact (scaled_region.h says where the factor goes out again).
//
// What overflows is scaled down once, so far that 4 times the largest value still fits. In front of a Log or a Sqrt
// both ends matter, and where between them the window lies best is searched: a round for each place of the largest
// value.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_walk.h"
#include "numerics/grid.h"
#include "repairs/factor_degrees.h"
#include "repairs/norm_in_pieces.h"
#include "repairs/repair.h"
#include "repairs/scaled_region.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr std::array kLargest = {0x1p14, 0x1p10, 0x1p15};  // of the region, by round
constexpr float kLostDigits = 0x1p-20F;                    // fewer than 16 of float16's smallest steps
constexpr double kPoor = 1e-6;  // of a layer's own noise: float16 that has all its digits makes 1e-7

float largest_of(const Network& network, const std::string& tensor) {
  const auto range = network.ranges.find(tensor);
  return range == network.ranges.end() ? 0 : range->second.absmax();
}

bool overflows(const Network& network, const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  const bool product = multiplies_tensors(network.model, node);
  if (!product && !squares(network.model, node) && op != "ReduceSum" && op != "ReduceSumSquare") return false;
  return largest_of(network, node.output(0)) > kLargestFloat16 &&
         largest_of(network, node.input(0)) <= kLargestFloat16 &&
         (!product || largest_of(network, node.input(1)) <= kLargestFloat16);
}

bool has_small_constant(const Network& network, const onnx::NodeProto& node) {
  return std::ranges::any_of(scaled_constants(network.model, node), [&](int place) {
    const std::optional<Tensor> value = float_constant(network.model, node.input(place));
    return value->count() == 1 && value->floats()[0] > 0 && value->floats()[0] < kLostDigits;
  });
}

/// Digits are lost in front of a Log or a Sqrt: by what was measured, or because a floor is too small.
bool loses_digits(const Network& network, const NodeIndex& index, const onnx::NodeProto& end,
                  const RegionStart& start) {
  const auto poor = [&](const std::string& layer) {
    const auto noise = network.noise.find(layer);
    return noise != network.noise.end() && !(noise->second < kPoor);
  };
  if (poor(end.name())) return true;
  return std::ranges::any_of(start.passed, [&](const std::string& name) {
    return poor(name) || has_small_constant(network, index.node(name));
  });
}

struct Candidate {
  RegionStart start;
  bool too_large = false;
};

std::optional<Candidate> candidate(const Network& network, const GraphWalk& walk, const NodeIndex& index,
                                   const onnx::NodeProto& node) {
  if (overflows(network, node)) return Candidate{start_at(network.model, walk, node), true};
  if (node.op_type() != "Log" && node.op_type() != "Sqrt") return std::nullopt;
  RegionStart start = start_in_front_of(network.model, walk, node);
  if (node.op_type() == "Sqrt" && !std::ranges::any_of(start.passed, [&](const std::string& name) {
        return squares(network.model, index.node(name));
      })) {
    return std::nullopt;
  }
  if (!loses_digits(network, index, node, start)) return std::nullopt;
  return Candidate{std::move(start), false};
}

/// A power of two that was put in front in a round before may be made smaller again.
bool was_enlarged(const Network& network, const GraphWalk& walk, const ScaledRegion& region) {
  return std::ranges::all_of(region.sources, [&](const auto& source) {
    const onnx::NodeProto* maker = walk.maker(source.first);
    const std::string factor = maker == nullptr ? std::string() : power_of_two(network.model, *maker);
    return !factor.empty() && float_constant(network.model, factor)->floats()[0] > 1;
  });
}

std::string what(const Network& network, const ScaledRegion& region, int power) {
  std::string most;
  float largest = 0;
  for (const auto& [tensor, degree] : region.sources) {
    if (const float own = largest_of(network, tensor); most.empty() || own > largest) {
      most = tensor;
      largest = own;
    }
  }
  return fmt::format(
      "{} with '{}' times {:g} (it reaches {:.4g})",
      region.nodes.size() == 1 ? "1 node computes" : fmt::format("{} nodes compute", region.nodes.size()),
      printable(most), std::exp2(power), largest);
}

}  // namespace

std::vector<Proposal> scale_squares(const Network& network, int round) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  const NodeIndex index(network.model);
  std::set<std::string> taken;  // nodes of regions that are proposed
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    if (network.plan.format_of(node.name()) != Format::Float16 || taken.contains(node.name())) continue;
    std::optional<Candidate> found = candidate(network, walk, index, node);
    if (!found) continue;
    const ScaledRegion region = scaled_region(network, walk, index, std::move(found->start));
    if (std::ranges::any_of(region.nodes, [&](const auto& inside) { return taken.contains(inside.first); })) continue;
    Proposal proposal;
    proposal.layers = {node.name()};
    proposal.why_not = region.why_not;
    if (proposal.why_not.empty()) {
      const int power = power_for(network, region, kLargest.at(static_cast<std::size_t>(round)));
      if (power == 0 || (found->too_large && (power > 0 || round > 0))) continue;
      if (!found->too_large && power < 0 && !was_enlarged(network, walk, region)) continue;
      for (const auto& [name, degree] : region.nodes) {
        taken.insert(name);
        if (name != node.name()) proposal.layers.push_back(name);
      }
      proposal.by_output = !found->too_large;
      proposal.what = what(network, region, power);
      proposal.rewrite = [region, power](Model& model) { scale_region(model, region, power); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
