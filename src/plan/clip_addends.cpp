#include "plan/clip_addends.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "numerics/round.h"
#include "plan/target.h"
#include "vernier/format.h"

namespace vernier {
namespace {

const QuantParams* grid_of(const Plan& plan, const std::string& tensor) {
  const auto found = plan.tensors.find(tensor);
  return found == plan.tensors.end() || found->second.scale.size() != 1 ? nullptr : &found->second;
}

/// Beyond which `addend` changes nothing of what this Add gives; false: it is none whose three tensors have grids.
bool reach_in(const onnx::NodeProto& node, const std::string& addend, const Plan& plan, GridEnds& reach) {
  const Format format = plan.format_of(node.name());
  if (node.op_type() != "Add" || node.input(0) == node.input(1) ||
      !scaled_scheme(plan.target, format).integer_kernels) {
    return false;
  }
  const QuantParams* sum = grid_of(plan, node.output(0));
  const QuantParams* other = grid_of(plan, node.input(node.input(0) == addend ? 1 : 0));
  if (sum == nullptr || other == nullptr) return false;
  const GridEnds y = grid_ends(*sum);
  const GridEnds b = grid_ends(*other);
  reach.low = std::min(reach.low, y.low - b.high - (y.high - y.low));
  reach.high = std::max(reach.high, y.high - b.low + (y.high - y.low));
  return true;
}

}  // namespace

void clip_addends(Plan& plan, const Model& model, const std::function<bool(const std::string& tensor)>& alone) {
  if (plan.rules.symmetric_activations.value_or(false)) return;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers;  // null: the caller
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) readers[input].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : graph.output()) readers[output.name()].push_back(nullptr);
  });
  for (auto& [tensor, grid] : plan.tensors) {
    if (grid.format != Format::UInt8 || grid.scale.size() != 1 || !alone(tensor)) continue;
    GridEnds reach;
    const auto all = [&, &tensor = tensor](const onnx::NodeProto* reader) {
      return reader != nullptr && reach_in(*reader, tensor, plan, reach);
    };
    if (readers[tensor].empty() || !std::ranges::all_of(readers[tensor], all)) continue;
    const GridEnds ends = grid_ends(grid);
    const double low = std::max(ends.low, reach.low);
    const double high = std::min(ends.high, reach.high);
    if (high - low > (ends.high - ends.low) / 2) continue;
    grid = asymmetric_params(static_cast<float>(low), static_cast<float>(high));
  }
}

}  // namespace vernier
