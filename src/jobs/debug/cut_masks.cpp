#include "jobs/debug/cut_masks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "analysis/figures.h"
#include "analysis/run_tensors.h"
#include "jobs/debug/other_constants.h"
#include "model/graph_edit.h"
#include "numerics/distribution.h"
#include "numerics/tensor_grid.h"
#include "plan/round_node.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kNoCause = 0.5;  // so much of the noise is there without the cut

bool is_of_mask(float value) { return value < -kNoMask; }

bool cuts_off_mask(const QuantizedTensor& pair, const GridLoss& loss, const FloatValues& values) {
  const auto constant = values.constants.find(pair.output);
  if (constant != values.constants.end() && std::ranges::any_of(constant->second.floats(), is_of_mask)) return true;
  if (loss.count == 0 || pair.quantizer.empty() || !is_of_mask(loss.range.min)) return false;
  for (std::size_t i = 0; i < pair.params.scale.size(); ++i) {
    if (!is_of_mask(ends_of(pair.params, i).first)) return true;
  }
  return false;
}

/// The file's model, in which the values of masks go through `pairs` as they are.
Model with_masks_through(const SimulatedFile& file, const FloatValues& values, const std::set<std::size_t>& pairs) {
  FloatValues masks;
  std::set<std::string> rounded;
  for (const std::size_t i : pairs) {
    const std::string& output = file.quantized[i].output;
    const auto constant = values.constants.find(output);
    if (constant != values.constants.end()) masks.constants.insert(*constant);
    rounded.insert(output);
  }
  Model model = with_float_constants(file, masks, [](std::size_t) { return false; });
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    onnx::NodeProto round = graph.node(i);
    if (round.domain() != kDomain || round.op_type() != "Round" || !rounded.contains(round.output(0))) continue;
    const std::string x = round.input(0), y = round.output(0), limit = y + "/mask";
    set_initializer(model, graph, limit, Tensor::of({}, std::array{-kNoMask}));
    round.set_output(0, y + "/rounded");
    replace_node(
        graph, i,
        {round, node_of("Less", {x, limit}, y + "/hidden"), node_of("Where", {y + "/hidden", x, y + "/rounded"}, y)});
  }
  return model;
}

}  // namespace

std::set<std::size_t> harmless_mask_cuts(const SimulatedFile& file, const FloatValues& values,
                                         const std::vector<GridLoss>& grids, OutputNoise& noise) {
  std::set<std::size_t> cuts, harmless;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (cuts_off_mask(file.quantized[i], grids[i], values)) cuts.insert(i);
  }
  if (cuts.empty()) return {};
  const double without = noise.of(with_masks_through(file, values, cuts));
  if (!std::isfinite(without)) return {};
  for (const std::size_t cut : cuts) {
    std::set<std::size_t> others = cuts;
    others.erase(cut);
    const double with = noise.of(with_masks_through(file, values, others));
    if (without >= kNoCause * with || with <= noise_of_db(kSameDb)) harmless.insert(cut);
  }
  return harmless;
}

void leave_out_masks(const Subject& subject, const SimulatedFile& file, const Model& exact,
                     const std::set<std::size_t>& pairs, std::vector<GridLoss>& grids) {
  std::vector<std::string> tensors;
  std::vector<std::pair<std::size_t, std::size_t>> read;  // pair, place in `tensors`
  for (const std::size_t i : pairs) {
    if (grids[i].count == 0) continue;
    grids[i] = {};
    const std::string& tensor = file.quantized[i].tensor;
    if (file.quantized[i].params.scale.size() != 1 || is_initializer(exact, tensor)) continue;
    const auto place = std::ranges::find(tensors, tensor) - tensors.begin();
    if (std::cmp_equal(place, tensors.size())) tensors.push_back(tensor);
    read.emplace_back(i, static_cast<std::size_t>(place));
  }
  if (read.empty()) return;
  run_tensors(subject, exact, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (const auto& [pair, place] : read) {
      if (got[place].dtype() != Dtype::Float32) continue;
      std::vector<float> seen;
      std::ranges::remove_copy_if(got[place].floats(), std::back_inserter(seen), is_of_mask);
      std::vector<float> rounded(seen.size());
      const QuantParams& params = file.quantized[pair].params;
      round_tensor(params, {static_cast<std::int64_t>(seen.size())}, seen, rounded);
      const GridLoss loss = grid_loss(params, seen, rounded);
      GridLoss& sum = grids[pair];
      sum.energy += loss.energy;
      sum.clip_energy += loss.clip_energy;
      sum.round_energy += loss.round_energy;
      sum.count += loss.count;
      sum.range += loss.range;
    }
    return true;
  });
}

}  // namespace vernier
