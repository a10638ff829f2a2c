// An InstanceNorm or GroupNorm subtracts the mean of each group of channels. A convolution in front need not add it:
// the bias gets the mean of its group, or the middle of what was seen, less.
//   norm(x W + b)  ->  norm(x W + b - c),  c the same for all channels of a group
#include "repairs/centre_biases.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "numerics/grid.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Types = std::map<std::string, ValueType>;

/// A convolution that only such norms read, and how many groups they have.
struct CentredBias {
  std::string layer, tensor;
  std::size_t channels = 0, groups = 0;
};

/// Groups whose mean the node subtracts; 0: it is no such norm.
std::size_t groups_of(const Model& model, const onnx::NodeProto& node) {
  if (is_onnx(node, "GroupNormalization")) return static_cast<std::size_t>(attribute_int(node, "num_groups", 0));
  if (!is_onnx(node, "InstanceNormalization")) return 0;
  const std::optional<Tensor> scale = initializer(model, node.input(1));
  return scale ? static_cast<std::size_t>(scale->count()) : 0;
}

/// A Reshape that leaves the batch, and makes each group of channels one channel.
bool gathers_groups(const Model& model, const Types& types, const onnx::NodeProto& node, std::size_t groups) {
  if (!is_onnx(node, "Reshape") || attribute_int(node, "allowzero", 0) != 0) return false;
  const std::optional<Tensor> shape = initializer(model, node.input(1));
  if (!shape || shape->dtype() != Dtype::Int64 || shape->count() < 3) return false;
  const auto before = types.find(node.input(0));
  const std::int64_t batch = shape->int64s()[0];
  const bool same_batch = batch == 0 || (batch > 0 && before != types.end() && before->second.rank_known &&
                                         !before->second.shape.empty() && before->second.shape[0] == batch);
  return same_batch && shape->int64s()[1] == static_cast<std::int64_t>(groups);
}

std::optional<CentredBias> in_front_of(const Model& model, const GraphWalk& walk, const Types& types,
                                       const std::map<std::string, int>& readers, const onnx::NodeProto& norm) {
  CentredBias found;
  found.groups = groups_of(model, norm);
  if (found.groups == 0) return std::nullopt;
  const auto maker_of = [&](const std::string& tensor) {
    const auto count = readers.find(tensor);
    return count != readers.end() && count->second == 1 ? walk.maker(tensor) : nullptr;
  };
  const onnx::NodeProto* maker = maker_of(norm.input(0));
  if (maker != nullptr && is_onnx(norm, "InstanceNormalization") &&
      gathers_groups(model, types, *maker, found.groups)) {
    maker = maker_of(maker->input(0));
  }
  if (maker == nullptr || !is_onnx(*maker, "Conv")) return std::nullopt;
  const std::optional<Tensor> weight = initializer(model, maker->input(1));
  if (!weight || weight->shape().empty()) return std::nullopt;
  found.layer = maker->name();
  found.tensor = maker->output(0);
  found.channels = static_cast<std::size_t>(weight->shape()[0]);
  return found.channels % found.groups == 0 ? std::optional(found) : std::nullopt;
}

std::optional<Tensor> bias_of(const Model& model, const onnx::NodeProto& layer) {
  if (layer.input_size() < 3 || layer.input(2).empty()) return std::nullopt;
  return initializer(model, layer.input(2));
}

/// What each channel's bias gets less.
std::vector<float> means_of_groups(const Tensor& bias, const CentredBias& centred) {
  std::vector<float> means(centred.channels);
  const std::size_t size = centred.channels / centred.groups;
  for (std::size_t first = 0; first < means.size(); first += size) {
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(bias.floats()[first + i]);
    for (std::size_t i = 0; i < size; ++i) means[first + i] = static_cast<float>(sum / static_cast<double>(size));
  }
  return means;
}

void centre(Model& model, const std::string& layer, const std::vector<float>& less) {
  onnx::NodeProto& node = *find_node(*model.proto.mutable_graph(), layer);
  const std::optional<Tensor> old = bias_of(model, node);
  Tensor bias(Dtype::Float32, {static_cast<std::int64_t>(less.size())});
  for (std::size_t i = 0; i < less.size(); ++i) {
    bias.mutable_floats()[i] = (old ? old->floats()[i] : 0) - less[i];
  }
  NamePool names(model);
  const std::string name = names.unique(layer + ".centred_bias");
  set_initializer(model, *model.proto.mutable_graph(), name, bias);
  while (node.input_size() < 3) node.add_input("");
  node.set_input(2, name);
  remove_leftovers(model);
}

}  // namespace

std::vector<Proposal> centre_biases(const Network& network, int round) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  const std::map<std::string, int> readers = count_readers(network.model);
  const PlannedFormats formats(network.plan);
  Types types;
  for (const onnx::NodeProto& norm : network.model.proto.graph().node()) {
    if (groups_of(network.model, norm) == 0) continue;
    if (types.empty()) types = infer_types(network.model);
    const std::optional<CentredBias> centred = in_front_of(network.model, walk, types, readers, norm);
    if (!centred) continue;
    const Format format = formats.of(centred->layer);
    const auto range = network.ranges.find(centred->tensor);
    if ((format != Format::Float16 && format != Format::BFloat16) || range == network.ranges.end()) continue;
    const RangeStats& seen = range->second;
    if (seen.empty() || (seen.min <= 0 && seen.max >= 0)) continue;  // the mean is not large beside what is left
    const std::optional<Tensor> bias = bias_of(network.model, *network.node(centred->layer));
    if (bias && (bias->dtype() != Dtype::Float32 || bias->count() != static_cast<std::int64_t>(centred->channels)))
      continue;
    std::vector<float> less(centred->channels, seen.min / 2 + seen.max / 2);
    if (round == 0) {
      if (!bias) continue;
      less = means_of_groups(*bias, *centred);
    }
    Proposal& proposal = proposals.emplace_back();
    proposal.layers = {centred->layer};
    proposal.by_output = true;
    proposal.what =
        fmt::format("{} is subtracted from the bias of {}, as '{}' subtracts the mean of {}",
                    round == 0 ? "the mean of each group" : "the middle of its range",
                    plural(centred->channels, "channel"), printable(norm.name()), plural(centred->groups, "group"));
    proposal.rewrite = [layer = centred->layer, less](Model& model) { centre(model, layer, less); };
  }
  return proposals;
}

}  // namespace vernier
