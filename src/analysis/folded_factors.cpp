#include "analysis/folded_factors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "analysis/axis_moves.h"
#include "analysis/moved_constant.h"
#include "analysis/products.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

using Factors = std::vector<double>;  // one for each row of a product

/// What a graph does to the result of one product before anything but constant factors, addends and roundings.
struct Affinity {
  const Product* product = nullptr;
  Factors gain;                          // of the product at the end
  std::map<std::string, Factors> gains;  // by the tensors on the way
  std::optional<MovedConstant> bias{};   // the only one
  Factors bias_gain{};                   // at the end
  bool several_biases = false;
};

Factors times(Factors a, const Factors& b, bool divides = false) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = divides ? a[i] / b[i] : a[i] * b[i];
  return a;
}

bool alike(const Factors& a, const Factors& b) {
  constexpr double kSame = 1e-5;
  return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) <= kSame * std::abs(x); });
}

class Affinities {
 public:
  explicit Affinities(const Model& model) : model_(model), made_(makers_in(model)) {
    for (const onnx::NodeProto& node : model.proto.graph().node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::ValueInfoProto& output : model.proto.graph().output()) returned_.insert(output.name());
    products_ = products_in(model, types_, /*with_factors=*/true);
    for (const Product& product : products_) by_output_[product.node->output(0)] = &product;
  }

  const Product* product_that_makes(const std::string& tensor) const {
    const auto found = by_output_.find(tensor);
    return found == by_output_.end() ? nullptr : found->second;
  }

  Affinity behind(const Product& product) {
    Affinity found{&product, Factors(product.rows, product.alpha), {}, {}, {}, false};
    const onnx::NodeProto& node = *product.node;
    if (node.input_size() > 2 && !node.input(2).empty()) {
      add_bias(found, node.input(2));
      found.bias_gain = Factors(product.rows, product.beta);
    }
    std::string tensor = node.output(0);
    bool moved = false;  // rows lie along another axis than they did
    while (true) {
      found.gains[tensor] = found.gain;
      const auto readers = readers_.find(tensor);
      if (returned_.contains(tensor) || readers == readers_.end() || readers->second.size() != 1) return found;
      const onnx::NodeProto& next = *readers->second.front();
      const bool passes = next.domain() == kDomain || is_onnx(next, "Identity") || is_onnx(next, "Cast");
      const bool moves = reshapes(next) || is_onnx(next, "Transpose");
      if (passes || moves) {
        if (next.input(0) != tensor) return found;
        moved = moved || moves;
      } else if (!apply(next, tensor, moved, found)) {
        return found;
      }
      tensor = next.output(0);
    }
  }

 private:
  /// Whether `next` multiplies with a constant, divides by one, or adds one.
  bool apply(const onnx::NodeProto& next, const std::string& tensor, bool moved, Affinity& found) {
    const bool divides = is_onnx(next, "Div"), adds = is_onnx(next, "Add");
    if ((!divides && !adds && !is_onnx(next, "Mul")) || next.input_size() != 2) return false;
    const bool first = next.input(0) == tensor;
    if (divides && !first) return false;
    const std::string& other = next.input(first ? 1 : 0);
    if (adds) {
      if (found.bias || moved || found.several_biases) {
        found.several_biases = true;
        return is_initializer(model_, other);
      }
      if (!add_bias(found, other)) return false;
      found.bias_gain = Factors(found.product->rows, 1);
      return true;
    }
    const auto factor = factor_of(other, moved, *found.product);
    if (!factor) return false;
    found.gain = times(found.gain, *factor, divides);
    if (!found.bias_gain.empty()) found.bias_gain = times(found.bias_gain, *factor, divides);
    return true;
  }

  bool add_bias(Affinity& found, const std::string& tensor) {
    auto bias = moved_constant(model_, made_, tensor, types_);
    if (!bias || static_cast<std::size_t>(element_count(bias->shape)) != found.product->rows) {
      found.several_biases = true;  // of another form
      return is_initializer(model_, tensor);
    }
    found.bias = *std::move(bias);
    return true;
  }

  /// One value, or one for each row along the axis of the result that they lie on.
  std::optional<Factors> factor_of(const std::string& tensor, bool moved, const Product& product) const {
    const auto constant = initializer(model_, tensor);
    if (!constant || constant->dtype() != Dtype::Float32) return std::nullopt;
    const auto usable = [](float value) { return std::isfinite(value) && value != 0; };
    if (!std::ranges::all_of(constant->floats(), usable)) return std::nullopt;
    if (constant->count() == 1) return Factors(product.rows, static_cast<double>(constant->floats().front()));
    if (moved || !std::cmp_equal(constant->count(), product.rows)) return std::nullopt;
    const Shape& shape = constant->shape();
    const bool convolves = !is_onnx(*product.node, "MatMul") && !is_onnx(*product.node, "Gemm");
    const std::size_t behind = convolves ? product.weight.shape.size() - 2 : 0;  // axes
    if (shape.size() <= behind || !std::cmp_equal(shape[shape.size() - 1 - behind], product.rows)) return std::nullopt;
    return Factors(constant->floats().begin(), constant->floats().end());
  }

  const Model& model_;
  const Makers made_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
  std::set<std::string> returned_;
  std::optional<std::map<std::string, ValueType>> types_;
  std::vector<Product> products_;
  std::map<std::string, const Product*> by_output_;
};

/// The weight of the float model as the file would hold it, times a factor for each row.
std::optional<Tensor> expected(const Model& model, const Product& ref, const Model& file, const Product& low,
                               const Factors& factor) {
  const auto wanted = initializer(model, ref.weight.name), held = initializer(file, low.weight.name);
  if (!wanted || !held || wanted->dtype() != Dtype::Float32 || held->dtype() != Dtype::Float32) return std::nullopt;
  Tensor values(Dtype::Float32, held->shape());
  for (std::size_t row = 0; row < low.rows; ++row) {
    for (std::size_t column = 0; column < low.columns; ++column) {
      values.mutable_floats()[low.place(row, column)] =
          static_cast<float>(static_cast<double>(wanted->floats()[ref.place(row, column)]) * factor[row]);
    }
  }
  return values;
}

/// How many values of `held` are those of `expected`, to a quarter.
std::size_t close_values(const Tensor& held, const Tensor& expected) {
  constexpr float kNear = 0.25F;
  std::size_t count = 0;
  for (std::size_t i = 0; i < held.floats().size(); ++i) {
    const float is = held.floats()[i], would_be = expected.floats()[i];
    if (is != 0 && std::abs(is - would_be) <= kNear * std::abs(would_be)) ++count;
  }
  return count;
}

double distance(const Tensor& held, const Tensor& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < held.floats().size(); ++i) {
    sum += std::abs(static_cast<double>(held.floats()[i]) - static_cast<double>(expected.floats()[i]));
  }
  return sum;
}

/// Whether most of what is held is what is expected with a factor, and not what is without.
bool is_nearer(const Tensor& held, const Tensor& with, const Tensor& without) {
  constexpr double kMost = 0.4;  // of the values that are not zero; by chance a tenth is near
  const std::size_t of_with = close_values(held, with), of_without = close_values(held, without);
  const auto others = std::ranges::count_if(held.floats(), [](float value) { return value != 0; });
  if (of_with == 0 || static_cast<double>(of_with) < kMost * static_cast<double>(others)) return false;
  return of_with > of_without || (of_with == of_without && distance(held, with) < distance(held, without));
}

std::optional<Tensor> expected_bias(const Model& model, const Affinity& ref, const Model& file, const Affinity& low,
                                    bool with_factors) {
  if (!ref.bias || !low.bias || ref.several_biases || low.several_biases) return std::nullopt;
  const auto wanted = initializer(model, ref.bias->name), held = initializer(file, low.bias->name);
  if (!wanted || !held || wanted->dtype() != Dtype::Float32 || held->dtype() != Dtype::Float32) return std::nullopt;
  Tensor read(Dtype::Float32, low.bias->shape);
  for (std::size_t row = 0; row < low.product->rows; ++row) {
    const std::size_t place = ref.bias->places.empty() ? row : ref.bias->places[row];
    const double factor = with_factors ? ref.bias_gain[row] / low.bias_gain[row] : 1;
    read.mutable_floats()[row] = static_cast<float>(static_cast<double>(wanted->floats()[place]) * factor);
  }
  return in_places_of(*low.bias, read, held->shape());
}

}  // namespace

FoldedFactors find_folded_factors(const Subject& subject, const Model& simulated, const LayerMatches& matches) {
  FoldedFactors found;
  Affinities refs(subject.model), lows(simulated);
  for (const auto& [low_output, ref_output] : places_of_products(subject, simulated, matches)) {
    const Product *const ref = refs.product_that_makes(ref_output), *const low = lows.product_that_makes(low_output);
    if (ref == nullptr || low == nullptr) continue;
    if (ref->rows != low->rows || ref->columns != low->columns || ref->group != low->group) continue;
    const Affinity of_ref = refs.behind(*ref), of_low = lows.behind(*low);
    const Factors factor = times(of_ref.gain, of_low.gain, /*divides=*/true);
    const Factors none(low->rows, 1);
    const bool other_bias = of_ref.bias && of_low.bias && !alike(of_ref.bias_gain, of_low.bias_gain);
    // A file with factors of its own stores results at other sizes, which other comparisons undo.
    if (!alike(of_low.gain, none) || (alike(factor, none) && !other_bias)) continue;
    auto with = expected(subject.model, *ref, simulated, *low, factor);
    const auto without = expected(subject.model, *ref, simulated, *low, none);
    if (!with || !without) continue;
    auto bias = expected_bias(subject.model, of_ref, simulated, of_low, /*with_factors=*/true);
    if (alike(factor, none)) {  // of the bias alone
      const auto plain = expected_bias(subject.model, of_ref, simulated, of_low, /*with_factors=*/false);
      if (!bias || !is_nearer(initializer(simulated, of_low.bias->name).value(), *bias, *plain)) continue;
    } else if (!is_nearer(initializer(simulated, low->weight.name).value(), *with, *without)) {
      continue;
    }
    found.products.insert(low->node);
    found.constants[low->weight.name] = {ref->weight.name, *std::move(with)};
    if (bias) found.constants[of_low.bias->name] = {of_ref.bias->name, *std::move(bias)};
    for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
      const auto at_low = of_low.gains.find(matches.pairs[i].low), at_ref = of_ref.gains.find(matches.pairs[i].ref);
      if (at_low == of_low.gains.end() || at_ref == of_ref.gains.end()) continue;
      if (!alike(at_ref->second, times(at_low->second, factor))) found.unlike.push_back(i);
    }
  }
  std::ranges::sort(found.unlike);
  return found;
}

}  // namespace vernier
