// An epsilon keeps a divisor from zero, or what a logarithm is taken of. float16 turns everything up to 2^-25 into 0,
// the division into 0/0 or 1/0, and the logarithm into -inf.
//   before: x / sqrt(v + 1e-12)     after: x / sqrt(v + 2^-24), the smallest float16
//   before: x / (v + 1e-12)         after: x / (v + 2^-15), because 1 / 2^-16 is beyond the largest
// Not exact: the float32 outputs change by what is measured and stated.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr float kLost = 0x1p-25F;  // ties to even: becomes zero

enum class Protects { Nothing, RootOrLog, Divisor };

/// What the sum of a constant and a tensor goes into.
Protects protected_by(const GraphWalk& walk, const onnx::NodeProto& sum) {
  Protects found = Protects::Nothing;
  for (const auto& [user, tensor] : walk.uses(sum.output(0))) {
    const std::string& op = user->op_type();
    if (op == "Sqrt" || op == "Log") found = std::max(found, Protects::RootOrLog);
    if (op == "Reciprocal") found = Protects::Divisor;
    if (op == "Div" && user->input(1) == tensor) found = Protects::Divisor;
    if (op == "Pow" && user->input(0) == tensor) found = std::max(found, Protects::RootOrLog);
  }
  return found;
}

}  // namespace

std::vector<Proposal> raise_epsilons(const Network& network, int) {
  std::vector<Proposal> proposals;
  const GraphWalk walk(network.model);
  std::set<std::string> low;
  for (const PlannedLayer& layer : network.plan.layers) {
    if (layer.format == Format::Float16) low.insert(layer.name);
  }
  for (const std::string& name : initializer_names(network.model)) {
    const Tensor value = *initializer(network.model, name);
    if (value.dtype() != Dtype::Float32 || value.count() != 1) continue;
    const float epsilon = value.floats()[0];
    if (!(epsilon > 0) || epsilon > kLost) continue;
    Proposal proposal;
    float raised = 0x1p-24F;
    for (const onnx::NodeProto* user : walk.readers(name)) {
      if (!low.contains(user->name())) continue;
      const std::string& op = user->op_type();
      const bool adds =
          op == "Add" || op == "Max" || (op == "Clip" && user->input_size() > 1 && user->input(1) == name);
      const Protects protects = adds ? protected_by(walk, *user) : Protects::Nothing;
      if (protects == Protects::Nothing) {
        proposal.why_not =
            fmt::format("'{}' ({}) uses {:g} for more than a divisor or a logarithm", user->name(), op, epsilon);
      }
      if (protects == Protects::Divisor) raised = 0x1p-15F;
      proposal.layers.push_back(user->name());
    }
    if (proposal.layers.empty()) continue;
    if (proposal.why_not.empty()) {
      proposal.what = fmt::format("'{}' raised from {:g} to {:.4g}", name, epsilon, raised);
      proposal.rewrite = [name, raised](Model& model) {
        const Tensor old = initializer(model, name).value();
        set_initializer(model, *owner_of_initializer(model, name), name, Tensor::of(old.shape(), {&raised, 1}));
      };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
