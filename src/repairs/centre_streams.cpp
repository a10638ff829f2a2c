// A LayerNorm subtracts the mean of its channels. If that is far larger than what is left, the tensor in front has few
// digits for it. The mean is taken out of the weights that write the tensor, if nothing but such norms reads it.
//   x = table[i] + h W + b,  norm(x)   ->   W - mean of its columns, and the same for b and the table
// Source: S. Ashkboos et al., "SliceGPT", ICLR 2024, where it makes an RMS norm of a LayerNorm.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_walk.h"
#include "repairs/centre_biases.h"
#include "repairs/repair.h"
#include "repairs/residual_stream.h"
#include "vernier/format.h"

namespace vernier {

std::vector<Proposal> centre_streams(const Network& network, int round) {
  std::vector<Proposal> proposals = centre_biases(network, round);
  if (round > 0) return proposals;
  // All values on one side of zero: the mean of some channels is large beside what is left.
  const auto one_sided = [&](const std::string& tensor) {
    const auto range = network.ranges.find(tensor);
    return range != network.ranges.end() && !range->second.empty() && (range->second.min > 0 || range->second.max < 0);
  };
  const GraphWalk walk(network.model);
  const PlannedFormats formats(network.plan);
  for (ResidualStream& stream : residual_streams(network, /*additions=*/0)) {
    Proposal proposal;
    for (const std::string& tensor : stream.tensors) {
      const onnx::NodeProto* maker = walk.maker(tensor);
      if (maker == nullptr || !one_sided(tensor)) continue;
      const Format format = formats.of(maker->name());
      if (format == Format::Float16 || format == Format::BFloat16) proposal.layers.push_back(maker->name());
    }
    if (proposal.layers.empty() || stream.writers.empty()) continue;
    proposal.why_not = stream.why_not;
    for (const StreamCrossing& crossing : stream.crossings) {
      if (crossing.norm >= 0) continue;  // what a norm makes stays as it is
      proposal.why_not =
          fmt::format("{} '{}'", crossing.starts ? "no constant weight computes" : "another layer also reads",
                      printable(crossing.tensor));
    }
    const bool all = std::ranges::all_of(stream.norms, &StreamNorm::subtracts_mean);
    if (!all || !stream.products.empty()) proposal.why_not = "a layer other than a mean-subtracting norm reads it";
    if (proposal.why_not.empty()) {
      proposal.by_output = true;
      proposal.what = fmt::format("the mean of {} channels is subtracted from {}", stream.width,
                                  plural(stream.writers.size(), "constant"));
      const auto kept = std::make_shared<const ResidualStream>(std::move(stream));
      proposal.rewrite = [kept](Model& model) { centre_channels(model, *kept); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
