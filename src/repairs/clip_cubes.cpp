// GELU by tanh cubes its values: beyond 40 the cube is no float16. Its tanh is 1 long before.
//   before: tanh(sqrt(2/pi) (x + 0.044715 x^3))     after: the same of c = clip(x, -16, 16)
// Bit for bit equal: from |x| = 8 on the argument is beyond 24, and tanh is +-1 in float32 from 9.02 on. x outside the
// tanh stays what it is. For models where fuse_gelus does not apply.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "repairs/gelu_in_pieces.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr float kClip = 16;

void clip_argument(Model& model, const GeluInPieces& gelu) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);
  onnx::NodeProto clip;
  clip.set_op_type("Clip");
  clip.set_name(names.unique(gelu.curve + ".clip"));
  clip.add_input(gelu.x);
  clip.add_output(names.unique(gelu.x + ".clipped"));
  for (const auto& [suffix, attribute, end] : {std::tuple{".lowest", "min", -kClip}, {".highest", "max", kClip}}) {
    if (default_opset(model.proto) < 11) {
      set_attribute(clip, attribute, end);
      continue;
    }
    const std::string name = names.unique(gelu.curve + suffix);
    set_initializer(model, graph, name, Tensor::of({}, {&end, 1}));
    clip.add_input(name);
  }
  int first = -1;
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    if (!gelu.argument.contains(node.name())) continue;
    for (std::string& input : *node.mutable_input()) {
      if (input != gelu.x) continue;
      input = clip.output(0);
      if (first < 0) first = i;
    }
  }
  const onnx::NodeProto reader = graph.node(first);
  replace_node(graph, first, {clip, reader});
}

}  // namespace

std::vector<Proposal> clip_cubes(const Network& network, int) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    if (node.op_type() != "Tanh" || network.plan.format_of(node.name()) != Format::Float16) continue;
    GeluInPieces gelu;
    Proposal proposal;
    proposal.why_not = read_gelu(network.model, walk, node, gelu);
    const auto range = network.ranges.find(gelu.x);
    if (gelu.last.empty() || range == network.ranges.end()) continue;
    const auto largest = static_cast<double>(range->second.absmax());
    const double inside = largest_in_argument(network.model, walk, gelu, largest);
    if (inside <= kLargestFloat16) continue;
    proposal.layers.assign(gelu.argument.begin(), gelu.argument.end());
    if (proposal.why_not.empty()) {
      proposal.what = fmt::format(
          "values of '{}' up to {:.4g} are clipped to {:g}, where tanh is 1 anyway, instead of cubed to {:.3g}",
          printable(gelu.x), largest, kClip, inside);
      proposal.rewrite = [gelu](Model& model) { clip_argument(model, gelu); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
