#include "jobs/verify/hidden_nonfinite.h"

#include <algorithm>
#include <tuple>

#include "jobs/verify/unsaturated_pairs.h"
#include "plan/normalized_file.h"
#include "vernier/report/defects.h"

namespace vernier {
namespace {

bool has_pairs_that_do_not_saturate(const Model& typed) {
  bool found = false;
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    found |= std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) {
      return is_quantization(node, "QuantizeLinear") && attribute_int(node, "saturate", 1) == 0;
    });
  });
  return found;
}

}  // namespace

std::optional<HiddenNonfinite> hidden_nonfinite(const VerifyReport& report, const Subject& subject, const Model& typed,
                                                const Model& simulated) {
  const bool seen =
      std::ranges::any_of(report.figures.outputs, [](const OutputFigure& output) { return output.nonfinite > 0; });
  if (seen) return std::nullopt;
  HiddenNonfinite hidden;
  for (const LayerRow& row : report.layers) {
    if (row.nan + row.overflowed == 0) continue;
    if (hidden.layers++ == 0) std::tie(hidden.first, hidden.op_type) = std::tie(row.name, row.op_type);
  }
  if (hidden.layers == 0 && has_pairs_that_do_not_saturate(typed)) {
    for (const FoundDefect& defect : find_overflowing_pairs(subject, normalized_file(typed), simulated)) {
      if (hidden.layers++ == 0) std::tie(hidden.first, hidden.op_type) = std::tuple(defect.node, "QuantizeLinear");
    }
  }
  return hidden.layers == 0 ? std::nullopt : std::optional(hidden);
}

}  // namespace vernier
