// Repairs of the caller's: the network as they see it, and their ideas as proposals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "numerics/distribution.h"
#include "numerics/range_methods.h"
#include "numerics/round.h"
#include "repairs/repair.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/experiments.h"
#include "vernier/onnx_model.h"

namespace vernier {
namespace {

std::pair<float, float> range_of(const QuantParams& grid) {
  const GridEnds ends = grid_ends(grid);
  return {static_cast<float>(ends.low), static_cast<float>(ends.high)};
}

NetworkToRepair seen_by_callers(const Network& network) {
  NetworkToRepair seen;
  seen.model = OnnxModel::of_model(std::make_shared<const Model>(network.model), "the float model");
  std::map<std::string, const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) nodes.emplace(node.name(), &node);
  for (const Layer& layer : network.layers) {
    LayerToRepair& one = seen.layers.emplace_back();
    one.name = layer.name;
    one.op_type = layer.op_type;
    one.format = network.plan.format_of(layer.name);
    if (const auto found = nodes.find(layer.name); found != nodes.end()) {
      one.inputs.assign(found->second->input().begin(), found->second->input().end());
      one.outputs.assign(found->second->output().begin(), found->second->output().end());
    }
    if (const auto found = network.noise.find(layer.name); found != network.noise.end()) one.noise = found->second;
    if (const auto found = network.mean_error.find(layer.name); found != network.mean_error.end()) {
      one.mean_error = found->second.mean;
    }
  }
  for (const auto& [tensor, grid] : network.plan.tensors) {
    if (is_initializer(network.model, tensor) || grid.scale.size() != 1) continue;
    seen.ranges.emplace(tensor, range_of(grid));
    const auto counted = network.histograms.find(tensor);
    if (counted == network.histograms.end()) continue;
    ValueHistogram all = counted->second.at(0);
    all += counted->second.at(1);
    Distribution values = distribution_of(all);
    take_mask(values);
    seen.values.emplace(tensor, seen_values(tensor, grid.format, values));
  }
  seen.channel_absmax = network.channel_absmax;
  return seen;
}

/// A caller's ideas, held to what the network is.
class IdeaReader {
 public:
  IdeaReader(const RepairMethod& method, const Network& network) : method_(method), network_(network) {}

  Proposal proposal_of(const RepairIdea& idea) {
    Proposal proposal;
    proposal.layers = idea.layers;
    proposal.what = idea.what;
    proposal.why_not = idea.why_not;
    for (const std::string& layer : idea.layers) {
      if (network_.node(layer) == nullptr) refuse(fmt::format("no layer is named '{}'", printable(layer)));
    }
    if (!idea.why_not.empty()) return proposal;
    if (idea.layers.empty()) refuse("the proposal names no layer");
    for (const auto& [tensor, range] : idea.ranges) proposal.grids.emplace(tensor, grid_of(tensor, range));
    for (const auto& [name, value] : idea.constants) proposal.constants.emplace(name, constant_of(name, value));
    if (!idea.model.empty()) proposal.rewrite = rewrite_to(idea.model);  // a second one is refused below
    const bool fits = !idea.ranges.empty() || !idea.constants.empty();
    if (idea.model.empty() && !fits) refuse("the proposal changes nothing");
    if (!idea.model.empty() && (fits || ideas_ > 0)) refuse("a model has to be the only change");
    if (rewritten_ && idea.model.empty()) refuse("a model has to be the only change");
    ++ideas_;
    return proposal;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::BadProposal, fmt::format("repair {}: {}", printable(method_.id), why));
  }

  QuantParams grid_of(const std::string& tensor, std::pair<float, float> range) const {
    const auto [low, high] = range;
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
      refuse(fmt::format("[{}, {}] is not a range for '{}'", low, high, printable(tensor)));
    }
    const auto old = network_.plan.tensors.find(tensor);
    if (old == network_.plan.tensors.end() || old->second.scale.size() != 1 || is_initializer(network_.model, tensor)) {
      refuse(fmt::format("'{}' is not an activation with a range", printable(tensor)));
    }
    return activation_params(old->second.format, {low, high});
  }

  RepairedConstant constant_of(const std::string& name, const Tensor& value) const {
    const std::optional<Tensor> old = initializer(network_.model, name);
    if (!old || old->shape() != value.shape() || value.dtype() != Dtype::Float32) {
      refuse(fmt::format("'{}' is not a float32 constant of shape {}", printable(name), shape_text(value.shape())));
    }
    std::vector<std::string> readers;
    for (const onnx::NodeProto& node : network_.model.proto.graph().node()) {
      if (std::ranges::find(node.input(), name) != node.input().end()) readers.push_back(node.name());
    }
    if (readers.size() != 1) {
      refuse(fmt::format("'{}' is read by {}: exactly one reader is required", printable(name),
                         plural(readers.size(), "layer")));
    }
    return {readers.front(), Tensor::of(value.shape(), value.floats())};
  }

  std::function<void(Model&)> rewrite_to(const OnnxModel& source) {
    rewritten_ = true;
    const auto read = std::make_shared<const Model>(read_model(source));
    if (input_names(*read) != input_names(network_.model) || output_names(*read) != output_names(network_.model)) {
      refuse("its model has different inputs or outputs");
    }
    return [read](Model& model) {
      Model next = *read;
      next.path = model.path;
      next.sha256 = model.sha256;
      next.data_files = model.data_files;
      model = std::move(next);
    };
  }

  const RepairMethod& method_;
  const Network& network_;
  std::size_t ideas_ = 0;  // that change something
  bool rewritten_ = false;
};

}  // namespace

std::vector<Proposal> own_proposals(const RepairMethod& method, const Network& network) {
  IdeaReader reader(method, network);
  std::vector<Proposal> proposals;
  for (const RepairIdea& idea : method.propose(seen_by_callers(network))) {
    proposals.push_back(reader.proposal_of(idea));
  }
  return proposals;
}

}  // namespace vernier
