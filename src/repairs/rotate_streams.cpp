// A few channels of a transformer's residual stream are often far larger than all others, and every layer that reads
// the stream is quantized with a step for them. An orthogonal matrix spreads them over all channels, and is folded into
// the weights: the network computes the same. A norm of the root mean square does not mind it; one that subtracts the
// mean does not mind a matrix that keeps the mean. Sources: S. Ashkboos et al., "QuaRot", 2024, and "SliceGPT", ICLR
// 2024.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "numerics/lattice.h"
#include "repairs/channel_rotation.h"
#include "repairs/repair.h"
#include "repairs/residual_stream.h"
#include "repairs/weighted_layers.h"

namespace vernier {
namespace {

constexpr std::size_t kMostProducts = 2;   // that are added
constexpr std::size_t kFewestForEach = 4;  // layers that take the matrix, for each of them

/// All values lie on a grid. The first few say so of most weights, which do not.
bool on_grid(std::span<const float> values) {
  constexpr std::size_t kFew = 4096;
  return lattice_of(values.first(std::min(kFew, values.size()))) && lattice_of(values);
}

std::string why_not_rotated(const Network& network, const ResidualStream& stream) {
  if (!stream.why_not.empty()) return stream.why_not;
  if (!ChannelRotation::fits(stream.width)) {
    return fmt::format("no flat matrix exists for {} channels", stream.width);
  }
  if (stream.crossings.size() > kMostProducts || stream.crossings.size() * kFewestForEach > stream.layers().size()) {
    const StreamCrossing& first = stream.crossings.front();
    std::string made = "an input of the network";
    for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
      for (const std::string& output : node.output()) {
        if (output == first.tensor) made = fmt::format("{} '{}' computes it", node.op_type(), printable(node.name()));
      }
    }
    return fmt::format("the matrix would need {}, the first for '{}' ({}): too many for {}",
                       plural(stream.crossings.size(), "product"), printable(first.tensor),
                       first.starts ? made : "other layers also read it", plural(stream.layers().size(), "layer"));
  }
  for (const std::string& name : stream.layers()) {
    const onnx::NodeProto* node = network.node(name);
    if (node == nullptr) continue;
    const std::optional<Tensor> weight = initializer(network.model, node->input(1));
    if (weight && on_grid(weight->floats()))
      return "its weights are multiples of one scale, and the matrix would break that";
  }
  return {};
}

}  // namespace

std::vector<Proposal> rotate_streams(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::vector<WeightedLayer> weighted = weighted_layers(network);
  for (ResidualStream& stream : residual_streams(network)) {
    const std::vector<std::string> layers = stream.layers();
    const bool quantized = std::ranges::any_of(weighted, [&](const WeightedLayer& layer) {
      return std::ranges::find(layers, layer.layer->name) != layers.end();
    });
    if (stream.norms.size() < 2 || layers.size() < 2 || !quantized) continue;
    Proposal proposal;
    proposal.layers = layers;
    proposal.why_not = why_not_rotated(network, stream);
    if (proposal.why_not.empty()) {
      proposal.or_by_output = true;
      proposal.what =
          fmt::format("{} channels of the residual stream multiplied by an orthogonal matrix, folded into {}",
                      stream.width, plural(layers.size(), "layer"));
      if (!stream.crossings.empty()) {
        proposal.what += fmt::format("; {} added", plural(stream.crossings.size(), "product"));
      }
      const auto kept = std::make_shared<const ResidualStream>(std::move(stream));
      proposal.rewrite = [kept](Model& model) {
        const ChannelRotation rotation(kept->width, kept->subtracts_mean());
        rotate_channels(model, *kept, [&](std::span<double> row) { rotation.turn(row); });
      };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
