// A GELU in pieces rounds five to eight times: the share of small negative values that 1 + erf leaves has few digits
// beside 1, and x^3 is beyond float16 where x is beyond 40. As one operator it is computed in float32 between its
// rounded input and result.
//   before: 0.5 x (1 + erf(x / sqrt(2)))                              after: Gelu(x)
//   before: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))         after: Gelu(x), approximate "tanh"
// The operator is of opset 20. A model that cannot be raised to it keeps its pieces, and clip_cubes keeps x^3 in
// float16.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "repairs/gelu_in_pieces.h"
#include "repairs/repair.h"
#include "vernier/format.h"

namespace vernier {
namespace {

void fuse_gelu(Model& model, const std::string& curve) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  GeluInPieces gelu;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.name() == curve && !read_gelu(model, GraphWalk(model), node, gelu).empty()) return;
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() != gelu.last) continue;
    onnx::NodeProto fused;
    fused.set_op_type("Gelu");
    fused.set_name(gelu.last);
    fused.add_input(gelu.x);
    fused.add_output(graph.node(i).output(0));
    if (gelu.tanh) set_attribute(fused, "approximate", std::string("tanh"));
    replace_node(graph, i, {fused});
    break;
  }
  gelu.nodes.erase(gelu.last);
  remove_nodes(graph, [&](const onnx::NodeProto& each) { return gelu.nodes.contains(each.name()); });
  remove_leftovers(model);
}

}  // namespace

std::vector<Proposal> fuse_gelus(const Network& network, int) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  for (const onnx::NodeProto& node : network.model.proto.graph().node()) {
    if (node.op_type() != "Erf" && node.op_type() != "Tanh") continue;
    const Format format = network.plan.format_of(node.name());
    if (format != Format::Float16 && format != Format::BFloat16) continue;
    GeluInPieces gelu;
    Proposal proposal;
    proposal.why_not = read_gelu(network.model, walk, node, gelu);
    if (gelu.last.empty()) continue;  // a tanh of its own
    proposal.layers = {node.name()};
    if (proposal.why_not.empty()) {
      proposal.layers.assign(gelu.nodes.begin(), gelu.nodes.end());
      proposal.opset = 20;
      if (gelu.tanh) proposal.otherwise = "clip-cube keeps its cube in FP16";
      proposal.by_output = true;
      proposal.what = fmt::format("{} become Gelu '{}'{}", plural(gelu.nodes.size(), "node"), printable(gelu.last),
                                  gelu.tanh ? ", approximated by tanh" : "");
      proposal.rewrite = [curve = node.name()](Model& model) { fuse_gelu(model, curve); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
