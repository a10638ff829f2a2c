#include "jobs/debug/wide_pairs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "analysis/match_layers.h"
#include "analysis/run_tensors.h"
#include "analysis/simulated_graph.h"
#include "jobs/debug/pair_reasons.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "numerics/range_methods.h"
#include "plan/round_node.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Converters give these the scale of all values that they can have.
bool fixes_range(const onnx::NodeProto& node) {
  return has(node, Trait::UnitRange) || is_onnx(node, "Clip") || is_onnx(node, "Tanh");
}

/// Whether an operator behind which values only move fixes the range of what the pair reads.
bool has_fixed_range(const Makers& made_by, const QuantizedTensor& pair) {
  std::string tensor = pair.tensor;
  for (auto made = made_by.find(tensor); made != made_by.end(); made = made_by.find(tensor)) {
    const onnx::NodeProto& node = *made->second;
    if (fixes_range(node)) return true;
    if (!is_transparent(node) && !has(node, Trait::Moves | Trait::Quantizes | Trait::Selects)) return false;
    tensor = node.input(0);
  }
  return false;
}

/// The same scale may stand for several tensors, of which one needs it: operands of a Concat or Add.
bool is_needed_elsewhere(const SimulatedFile& file, const std::vector<QuantizerLoss>& losses, std::size_t pair) {
  const QuantParams& params = file.quantized[pair].params;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].weight || file.quantized[i].params.scale != params.scale) continue;
    if (losses[i].coverage && !has_far_too_large_scale(losses[i])) return true;
  }
  return false;
}

}  // namespace

std::set<std::size_t> unexplained_widths(const Subject& subject, const SimulatedFile& file, const Model& exact,
                                         const std::vector<QuantizerLoss>& losses,
                                         const std::vector<std::size_t>& pairs) {
  constexpr std::size_t kFewestSamples = 4;
  constexpr double kTimesSpread = 1.5;
  const Makers made_by = makers_in(file.model);
  std::map<std::string, std::vector<double>> widths;  // by tensor, of each sample
  std::vector<std::size_t> open;
  for (const std::size_t pair : pairs) {
    const std::string& tensor = file.quantized[pair].tensor;
    if (!has_far_too_large_scale(losses[pair]) || is_initializer(exact, tensor)) continue;
    if (has_fixed_range(made_by, file.quantized[pair]) || is_needed_elsewhere(file, losses, pair)) continue;
    open.push_back(pair);
    widths[tensor];
  }
  if (open.empty() || subject.samples->size() < kFewestSamples) return {};
  std::vector<std::string> tensors;
  for (const auto& [tensor, none] : widths) tensors.push_back(tensor);
  run_tensors(subject, exact, tensors, all_samples(subject), [&](std::size_t, const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      RangeStats range;
      accumulate_range(got[i].floats(), range);
      widths[tensors[i]].push_back(std::max(range.max, 0.0F) - std::min(range.min, 0.0F));
    }
    return true;
  });
  std::set<std::size_t> found;
  for (const std::size_t pair : open) {
    std::vector<double> each = widths.at(file.quantized[pair].tensor);
    std::ranges::sort(each);
    const double spread = each.back() / each[each.size() / 2];
    if (*losses[pair].coverage >= kTimesSpread * spread * spread) found.insert(pair);
  }
  return found;
}

bool has_zero_point(const QuantParams& params) {
  return std::ranges::any_of(params.zero_point, [](std::int32_t zero) { return zero != 0; });
}

Model with_range_of(Model model, const QuantizedTensor& pair, const GridLoss& loss) {
  for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    if (node.domain() != kDomain || node.op_type() != "Round" || node.output(0) != pair.output) continue;
    // A signed grid with a zero point is an unsigned one that is moved.
    const Format format = !has_zero_point(pair.params)        ? pair.params.format
                          : bits_of(pair.params.format) == 16 ? Format::UInt16
                          : bits_of(pair.params.format) == 8  ? Format::UInt8
                                                              : pair.params.format;
    const QuantParams params = activation_params(format, {loss.range.min, loss.range.max});
    const std::string x = node.input(0), y = node.output(0), name = node.name();
    node = round_node(x, y, params);
    node.set_name(name);
  }
  return model;
}

}  // namespace vernier
