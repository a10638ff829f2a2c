#include "jobs/debug/stored_losses.h"

#include <cstdint>

#include "analysis/quantizer_loss.h"
#include "jobs/debug/pair_reasons.h"
#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "plan/nbits_weight.h"
#include "plan/simulate_typed.h"

namespace vernier {

StoredLosses losses_of_stored(const Model& file, const FloatWeights& weights) {
  StoredLosses found;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const auto held = nbits_weight(file, node);
      const auto weight = held ? weights.found.find(node.input(1)) : weights.found.end();
      if (weight == weights.found.end() || !is_integer(held->params.format)) continue;
      const Tensor& wanted = weight->second.values;
      if (wanted.shape() != held->values.shape()) continue;
      StoredLoss stored;
      stored.bits = static_cast<int>(attribute_int(node, "bits", 4));
      QuantizerLoss row = described({weight->second.name, node.input(1), "", node.name(), held->params, 2});
      row.weight = true;
      if (stored.bits > 2) row.used_codes = used_codes(held->params, held->values);
      row = with_loss(row, held->params, grid_loss(held->params, wanted.floats(), held->values.floats()));
      if (const auto coverage = coverage_of_channels(held->params, wanted)) row.coverage = coverage->middle;
      if (!row.sqnr_db) continue;
      stored.loss = row;
      found.emplace(node.input(1), stored);
    }
  });
  return found;
}

}  // namespace vernier
