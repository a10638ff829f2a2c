// The residual stream of some transformers, such as T5, grows beyond float16. What writes it is multiplied by a power
// of two, and the norms that read it divide that out by themselves: their epsilon gets its square.
//   x + h W, norm(x; e)  ->  s x + h (s W), norm(s x; s^2 e)     weights that read x without a norm: W / s
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "numerics/grid.h"
#include "repairs/repair.h"
#include "repairs/residual_stream.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kHeadroom = 4;  // samples may reach farther than those that were seen

class StreamScaling {
 public:
  StreamScaling(Model& model, const ResidualStream& stream, float factor)
      : model_(model), stream_(stream), factor_(factor), names_(model), counts_(count_readers(model)) {}

  void run() {
    for (const StreamConstant& writer : stream_.writers) multiply(writer.node, writer.input, factor_);
    for (const StreamProduct& product : stream_.products) {
      multiply(product.weight.node, product.weight.input, 1 / factor_);
    }
    for (const StreamNorm& norm : stream_.norms) {
      if (norm.epsilon_node.empty()) continue;
      if (norm.epsilon_input >= 0) {
        multiply(norm.epsilon_node, norm.epsilon_input, factor_ * factor_);
      } else {
        onnx::NodeProto& node = node_of(norm.epsilon_node);
        set_attribute(node, "epsilon", attribute_float(node, "epsilon", 1e-5F) * factor_ * factor_);
      }
    }
    for (const StreamCrossing& crossing : stream_.crossings) {
      if (crossing.norm < 0) cross(crossing);
    }
    remove_leftovers(model_);
  }

 private:
  onnx::NodeProto& node_of(const std::string& name) {
    onnx::NodeProto* found = find_node(*model_.proto.mutable_graph(), name);
    if (found == nullptr) throw Error(ErrorKind::Internal, "a node of the residual stream is missing: " + name);
    return *found;
  }

  /// Others that read the constant keep it.
  void multiply(const std::string& name, int input, float factor) {
    onnx::NodeProto& reader = node_of(name);
    const std::string old = reader.input(input);
    const Tensor value = initializer(model_, old).value();
    Tensor made(Dtype::Float32, value.shape());
    std::ranges::transform(value.floats(), made.mutable_floats().begin(), [&](float v) { return v * factor; });
    if (!counts_.contains(old) || counts_.at(old) == 1) {
      set_initializer(model_, *owner_of_initializer(model_, old), old, made);
      return;
    }
    std::string& fresh = copies_[{old, factor}];
    if (fresh.empty()) {
      fresh = names_.unique(old);
      set_initializer(model_, *model_.proto.mutable_graph(), fresh, made);
    }
    reader.set_input(input, fresh);
  }

  /// A Mul between what is as it was and what has the factor.
  void cross(const StreamCrossing& crossing) {
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    const std::string& tensor = crossing.tensor;
    const std::string scaled = names_.unique(tensor + ".scaled");
    for (const std::string& name : crossing.mapped) {
      for (std::string& input : *node_of(name).mutable_input()) {
        if (input == tensor) input = scaled;
      }
    }
    const float number = crossing.starts ? factor_ : 1 / factor_;
    const std::string constant = names_.unique(tensor + ".factor");
    set_initializer(model_, graph, constant, Tensor::of({}, {&number, 1}));
    onnx::NodeProto mul;
    mul.set_op_type("Mul");
    mul.set_name(names_.unique(tensor + ".scale"));
    mul.add_input(crossing.starts ? tensor : scaled);
    mul.add_input(constant);
    mul.add_output(crossing.starts ? scaled : tensor);
    for (int i = 0; i < graph.node_size(); ++i) {
      const auto& made = graph.node(i).output();
      if (std::ranges::find(made, tensor) == made.end()) continue;
      onnx::NodeProto maker = graph.node(i);
      if (!crossing.starts) std::ranges::replace(*maker.mutable_output(), tensor, scaled);
      replace_node(graph, i, {maker, mul});
      return;
    }
    put_first(graph, mul);
  }

  Model& model_;
  const ResidualStream& stream_;
  const float factor_;
  NamePool names_;
  const std::map<std::string, int> counts_;  // of readers, before all changes
  std::map<std::pair<std::string, float>, std::string> copies_;
};

}  // namespace

std::vector<Proposal> scale_streams(const Network& network, int) {
  std::vector<Proposal> proposals;
  const auto reach = [&](const std::string& tensor) {
    const auto range = network.ranges.find(tensor);
    return range == network.ranges.end() ? 0.0 : static_cast<double>(range->second.absmax());
  };
  const bool any = std::ranges::any_of(network.ranges, [](const auto& range) {
    return std::isfinite(range.second.absmax()) && range.second.absmax() > kLargestFloat16;
  });
  if (!any) return proposals;
  const GraphWalk walk(network.model);
  const PlannedFormats formats(network.plan);
  for (ResidualStream& stream : residual_streams(network)) {
    double most = 0;
    Proposal proposal;
    for (const std::string& tensor : stream.tensors) {
      const double own = reach(tensor);
      const onnx::NodeProto* maker = walk.maker(tensor);
      if (own <= kLargestFloat16 || maker == nullptr) continue;
      if (formats.of(maker->name()) != Format::Float16) continue;
      most = std::max(most, own);
      proposal.layers.push_back(maker->name());
    }
    if (proposal.layers.empty() || !std::isfinite(most)) continue;
    proposal.why_not = stream.why_not;
    for (const StreamCrossing& crossing : stream.crossings) {
      if (crossing.norm >= 0 || reach(crossing.tensor) <= kLargestFloat16) continue;
      proposal.why_not =
          fmt::format("another layer also reads '{}', which exceeds the format by itself", printable(crossing.tensor));
    }
    if (proposal.why_not.empty()) {
      const int power = static_cast<int>(std::ceil(std::log2(most * kHeadroom / kLargestFloat16)));
      const auto factor = static_cast<float>(std::exp2(-power));
      proposal.by_output = true;
      proposal.what =
          fmt::format("the residual stream reaches {:.4g} and is stored at 1/{:g} of its size", most, 1 / factor);
      const auto kept = std::make_shared<const ResidualStream>(std::move(stream));
      proposal.rewrite = [kept, factor](Model& model) { StreamScaling(model, *kept, factor).run(); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
