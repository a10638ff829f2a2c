#include "jobs/verify/constant_twins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/normalized_file.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr double kAlike = 0.8, kUnlike = 0.5;  // correlations

/// The name of a constant without what quantizers append to it.
std::string plain_name(std::string name) {
  static constexpr std::array<std::string_view, 4> kEndings = {"_DequantizeLinear_Output", "_DequantizeLinear",
                                                               "_quantized", "_dequantized"};
  for (bool any = true; any;) {
    any = false;
    for (const std::string_view ending : kEndings) {
      if (!name.ends_with(ending)) continue;
      name.resize(name.size() - ending.size());
      any = true;
    }
  }
  return name;
}

/// How far two constants go up and down together, from -1 to 1.
double correlation(std::span<const float> a, std::span<const float> b) {
  const auto mean = [](std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value);
    return sum / static_cast<double>(values.size());
  };
  const double of_a = mean(a), of_b = mean(b);
  double product = 0, squares_a = 0, squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]) - of_a, y = static_cast<double>(b[i]) - of_b;
    product += x * y;
    squares_a += x * x;
    squares_b += y * y;
  }
  return squares_a > 0 && squares_b > 0 ? product / std::sqrt(squares_a * squares_b) : 0;
}

/// Whether both point into one direction: the same values perhaps times a factor.
bool same_direction(std::span<const float> a, std::span<const float> b) {
  constexpr double kLeast = 0.9;
  double product = 0, squares_a = 0, squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    squares_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    squares_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return product > kLeast * std::sqrt(squares_a * squares_b);
}

/// What layers with a weight read, behind nodes that move it perhaps.
std::set<std::string> read_by_weighted(const Model& model) {
  std::set<std::string> found;
  const auto& nodes = model.proto.graph().node();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const bool moves = node->output_size() == 1 && (has(*node, Trait::Moves) || node->op_type() == "Round") &&
                       found.contains(node->output(0));
    if (has(*node, Trait::Weighted)) found.insert(node->input().begin(), node->input().end());
    if (moves) found.insert(node->input(0));
  }
  return found;
}

}  // namespace

void add_constant_twins(const Model& float_model, const SimulatedFile& simulated, FloatWeights& weights) {
  constexpr std::size_t kFewestToMatch = 16;
  const std::set<std::string> weighted = read_by_weighted(simulated.model);
  std::map<std::string, Tensor> alone;  // constants of the file, without a twin
  for (const QuantizedTensor& pair : simulated.quantized) {
    if (weights.found.contains(pair.output) || weighted.contains(pair.output)) continue;
    auto held = initializer(simulated.model, pair.output);
    if (held && held->dtype() == Dtype::Float32) alone.emplace(pair.output, *std::move(held));
  }
  if (alone.empty()) return;
  const Model plain = normalized_file(float_model);
  std::map<std::string, Tensor> constants;  // of the float model
  for (const onnx::TensorProto& tensor : plain.proto.graph().initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    if (auto value = initializer(plain, tensor.name())) constants.emplace(tensor.name(), *std::move(value));
  }
  std::set<std::string> taken;
  for (const auto& [constant, weight] : weights.found) taken.insert(weight.name);
  for (const auto& [constant, held] : alone) {
    const auto fits = [&held = held](const Tensor& value) { return value.shape() == held.shape(); };
    const auto named = constants.find(plain_name(read_name(constant)));
    const bool few = std::cmp_less(held.count(), kFewestToMatch);
    // Factors of norms are all near 1: they point into one direction, whosever they are.
    if (named != constants.end() && fits(named->second) && same_direction(named->second.floats(), held.floats()) &&
        (few || correlation(named->second.floats(), held.floats()) >= kAlike)) {
      weights.found.emplace(constant, FloatWeight{named->first, named->second});
      continue;
    }
    if (few) continue;
    std::vector<std::pair<double, const std::pair<const std::string, Tensor>*>> alike;
    for (const auto& known : constants) {
      if (!fits(known.second) || taken.contains(known.first)) continue;
      alike.emplace_back(correlation(known.second.floats(), held.floats()), &known);
    }
    std::ranges::sort(alike, std::ranges::greater{}, [](const auto& one) { return one.first; });
    if (alike.empty() || alike[0].first < kAlike || (alike.size() > 1 && alike[1].first > kUnlike)) continue;
    const auto& [name, values] = *alike[0].second;
    if (!same_direction(values.floats(), held.floats())) continue;
    weights.found.emplace(constant, FloatWeight{name, values});
    taken.insert(name);
  }
}

}  // namespace vernier
