#include "jobs/verify/layer_balance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "model/output_channels.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Two layers, one of which reads the other, and the logarithm of the ranges of the first by those of the second.
struct Interface {
  std::string maker, reader;  // their weights
  double log_ratio = 0;
};

int input_axis(const onnx::NodeProto& node, const Shape& weight) {
  if (is_onnx(node, "Conv")) return weight.size() > 1 && weight[1] == 1 ? 0 : 1;
  if (is_onnx(node, "Gemm")) return attribute_int(node, "transB", 0) != 0 ? 1 : 0;
  if (is_onnx(node, "MatMul")) return static_cast<int>(weight.size()) - 2;
  return is_onnx(node, "ConvTranspose") ? 0 : -1;
}

/// Largest magnitude at each place of `axis`; empty: there is no such axis.
std::vector<double> ranges_along(const Tensor& weight, int axis) {
  const Shape& shape = weight.shape();
  if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size()) return {};
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<double> ranges(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]));
  for (std::size_t i = 0; i < weight.floats().size(); ++i) {
    double& range = ranges[i / inner % ranges.size()];
    range = std::max(range, std::abs(static_cast<double>(weight.floats()[i])));
  }
  return ranges;
}

/// The middle of the logarithms of `left` by `right`; nullopt: they are not of the same channels.
std::optional<double> log_ratio(const std::vector<double>& left, const std::vector<double>& right) {
  if (left.size() != right.size()) return std::nullopt;
  std::vector<double> logs;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] > 0 && right[i] > 0) logs.push_back(std::log(left[i] / right[i]));
  }
  if (logs.empty()) return std::nullopt;
  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2);
  std::ranges::nth_element(logs, middle);
  return *middle;
}

class Interfaces {
 public:
  explicit Interfaces(const Model& model) : model_(model), walk_(model) {
    for (const onnx::NodeProto& node : model.proto.graph().node()) {
      const std::optional<Tensor> weight = weight_of(node);
      if (weight) follow(node, ranges_along(*weight, weight_axis(node, weight->shape())), node.output(0));
    }
  }
  const std::vector<Interface>& found() const { return found_; }

 private:
  std::optional<Tensor> weight_of(const onnx::NodeProto& node) const {
    if (!has_weight_axis(node) || node.input_size() < 2) return std::nullopt;
    const std::optional<Tensor> weight = initializer(model_, node.input(1));
    return weight && weight->dtype() == Dtype::Float32 ? weight : std::nullopt;
  }

  /// A bias. What two layers add to each other has other ranges than either.
  bool adds_constant(const onnx::NodeProto& node) const {
    return is_onnx(node, "Add") && (is_initializer(model_, node.input(0)) || is_initializer(model_, node.input(1)));
  }

  void follow(const onnx::NodeProto& maker, const std::vector<double>& ranges, const std::string& tensor) {
    for (const auto& [user, read] : walk_.uses(tensor)) {
      if (is_onnx(*user, {"Relu", "LeakyRelu", "PRelu", "Clip"}) || adds_constant(*user)) {
        follow(maker, ranges, user->output(0));
        continue;
      }
      const std::optional<Tensor> weight = weight_of(*user);
      if (!weight || user->input(0) != read) continue;
      const auto ratio = log_ratio(ranges, ranges_along(*weight, input_axis(*user, weight->shape())));
      if (ratio) found_.push_back({maker.input(1), user->input(1), *ratio});
    }
  }

  const Model& model_;
  const GraphWalk walk_;
  std::vector<Interface> found_;
};

}  // namespace

std::optional<std::size_t> most_balanced(const Model& model, const std::vector<FactorSuspect>& suspects) {
  constexpr double kClearly = 0.2;  // of the factor's logarithm
  const Interfaces interfaces(model);
  struct Unlike {
    double sum = 0, own = 0;  // what is left of all ratios with the suspect's factor, and of its own the most
    std::size_t suspect = 0;
    bool has_own = false;
  };
  std::vector<Unlike> unlike;
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const double log_factor = std::log(suspects[i].factor);
    Unlike& with = unlike.emplace_back();
    with.suspect = i;
    for (const Interface& one : interfaces.found()) {
      const bool makes = one.maker == suspects[i].constant, reads = one.reader == suspects[i].constant;
      const double left = std::abs(one.log_ratio + (makes ? log_factor : 0) - (reads ? log_factor : 0));
      with.sum += left;
      if (!makes && !reads) continue;
      with.has_own = true;
      with.own = std::max(with.own, left);
    }
  }
  std::ranges::sort(unlike, {}, &Unlike::sum);
  if (unlike.empty() || !unlike.front().has_own) return std::nullopt;
  const Unlike& best = unlike.front();
  const double clear = kClearly * std::abs(std::log(suspects[best.suspect].factor));
  if (best.own > clear || (unlike.size() > 1 && unlike[1].sum - best.sum < clear)) return std::nullopt;
  return best.suspect;
}

}  // namespace vernier
