#include "analysis/output_masks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>

#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "numerics/distribution.h"

namespace vernier {
namespace {

constexpr std::size_t kMostTensors = 256;  // behind the last layers with weights
constexpr float kSmallestMask = 8;         // smaller constants are parts of formulas
constexpr float kSmallestFactor = 1000;    // so are smaller factors
constexpr float kFarBelow = 64;            // times the ordinary values: a mask that a format moves is still beyond it

/// Scores are made here, and what lies in front is hidden in them.
bool makes_scores(const onnx::NodeProto& node) {
  return has(node, Traits(Trait::Weighted) | Trait::Recurrent | Trait::ComputesOnCodes | Trait::StoresCodes |
                       Trait::UnitRange | Trait::ReadsShape);
}

void add_constants(const Tensor& tensor, float smallest, std::set<float>& found) {
  if (tensor.dtype() != Dtype::Float32) return;
  RangeStats range;
  accumulate_range(tensor.floats(), range);
  if (range.empty()) return;
  for (const float end : {range.min, range.max}) {
    if (std::abs(end) >= smallest) found.insert(std::abs(end));
  }
}

}  // namespace

MaskSuspect mask_suspect(const Model& model, const std::string& output) {
  const GraphWalk walk(model);
  std::set<std::string> inputs;
  for (const InputInfo& input : model_inputs(model)) inputs.insert(input.name);
  std::vector<std::string> next{output};
  std::set<std::string> seen(next.begin(), next.end());
  std::set<float> constants;
  MaskSuspect suspect;
  for (std::size_t i = 0; i < next.size() && i < kMostTensors; ++i) {
    const onnx::NodeProto* maker = walk.maker(next[i]);
    if (maker == nullptr) {
      suspect.reads_inputs = suspect.reads_inputs || inputs.contains(next[i]);
      continue;
    }
    if (makes_scores(*maker)) continue;
    // 100 * Softmax is a percentage, and 100 no mask.
    const bool scales = is_onnx(*maker, "Mul") || is_onnx(*maker, "Div");
    const bool scales_scores = scales && std::ranges::any_of(maker->input(), [&](const std::string& read) {
                                 const onnx::NodeProto* const before = walk.maker(read);
                                 return before != nullptr && makes_scores(*before);
                               });
    const bool decides = is_onnx(*maker, "Where") || maker->op_type().starts_with("Scatter");
    suspect.varies = suspect.varies || (decides && !is_initializer(model, maker->input(0)));
    for (const std::string& read : maker->input()) {
      if (const std::optional<Tensor> value = initializer(model, read)) {
        if (!scales_scores) add_constants(*value, scales ? kSmallestFactor : kSmallestMask, constants);
        continue;
      }
      if (!read.empty() && seen.insert(read).second) next.push_back(read);
    }
  }
  suspect.constants.assign(constants.begin(), constants.end());
  // What decides chooses between values, of which one is a constant or an input.
  suspect.varies = suspect.reads_inputs ? suspect.varies || !constants.empty() : suspect.varies && !constants.empty();
  return suspect;
}

void MaskSearch::add(const Tensor& values) { seen_.add(values.floats()); }

std::optional<OutputMask> MaskSearch::found() const {
  Distribution values = distribution_of(seen_);
  const std::int64_t all = values.count;
  const std::optional<Mask> mask = take_mask(values, suspect_.constants, /*only_known=*/!suspect_.reads_inputs);
  if (!mask) return std::nullopt;
  // The smallest of the mask may be of either sign: all that was taken out lies above the ordinary values.
  const float least = std::min(std::abs(mask->low), std::abs(mask->high));
  const float between = std::sqrt(mask->ordinary) * std::sqrt(least);
  OutputMask found{mask->low, mask->high, static_cast<double>(mask->count) / static_cast<double>(all)};
  const float exact = std::min(between, kFarBelow * mask->ordinary);
  const float digit = std::pow(10.0F, std::floor(std::log10(exact)) - 1);
  found.limit.size = std::ceil(exact / digit) * digit;
  if (mask->high < 0) found.limit.side = MaskSide::Negative;
  if (mask->low > 0) found.limit.side = MaskSide::Positive;
  return found;
}

}  // namespace vernier
