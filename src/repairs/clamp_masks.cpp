// A mask adds a number such as -1e9 to the logits that softmax must not see. Beyond the largest float16 it becomes
// -inf; a row that is masked as a whole then gives NaN, and -inf - (-inf) anywhere does. Inside the format the mask
// still turns into exactly 0, as long as it is lower than every logit by more than 104 (exp underflows in float32).
//   before: softmax(x + m), m in {0, -1e9}     after: softmax(x + m'), m' in {0, -32768}
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/graph_edit.h"
#include "repairs/graph_walk.h"
#include "repairs/repair.h"

namespace vernier {
namespace {

constexpr float kLargestFloat16 = 65504.0F;
constexpr float kMask = -32768.0F;  // half of what float16 holds: logits may be added

/// The softmax behind `node` through what only moves values; empty when anything else reads them.
std::string softmax_behind(const GraphWalk& walk, const onnx::NodeProto& node) {
  std::string name;
  for (const onnx::NodeProto* user : walk.users(node.output(0))) {
    if (user->op_type() != "Softmax") return {};
    name = user->name();
  }
  return name;
}

}  // namespace

std::vector<Proposal> clamp_masks(const Network& network, int) {
  const bool in_float16 = std::ranges::any_of(
      network.plan.layers, [](const PlannedLayer& layer) { return layer.format == Format::Float16; });
  std::vector<Proposal> proposals;
  if (!in_float16) return proposals;
  const GraphWalk walk(network.model);
  for (const std::string& name : initializer_names(network.model)) {
    const Tensor value = *initializer(network.model, name);
    if (value.dtype() != Dtype::Float32 || value.count() == 0) continue;
    const std::span<const float> values = value.floats();
    const auto masked = std::ranges::count_if(values, [](float v) { return v < -kLargestFloat16; });
    if (masked == 0) continue;
    Proposal proposal;
    std::string softmax;
    for (const onnx::NodeProto* user : walk.users(name)) {
      proposal.layers.push_back(user->name());
      const bool masks = user->op_type() == "Add" || user->op_type() == "Where";
      const std::string behind = masks ? softmax_behind(walk, *user) : std::string();
      if (behind.empty()) {
        proposal.why_not = fmt::format("'{}' ({}) reads the constant, and no softmax alone reads what it gives",
                                       user->name(), user->op_type());
      }
      softmax = behind;
    }
    if (proposal.layers.empty()) continue;
    if (std::ranges::any_of(values, [](float v) { return v > kLargestFloat16 || std::isnan(v); })) {
      proposal.why_not = "the constant has values that are no mask";
    }
    if (proposal.why_not.empty()) {
      proposal.what = fmt::format("{} values of '{}' below {:g} become {:g}: '{}' gives 0 for both", masked, name,
                                  -kLargestFloat16, kMask, softmax);
      proposal.rewrite = [name](Model& model) {
        const Tensor old = initializer(model, name).value();
        Tensor clamped(Dtype::Float32, old.shape());
        for (std::size_t i = 0; i < old.floats().size(); ++i) {
          const float v = old.floats()[i];
          clamped.mutable_floats()[i] = v < -kLargestFloat16 ? kMask : v;
        }
        set_initializer(model, *owner_of_initializer(model, name), name, clamped);
      };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
