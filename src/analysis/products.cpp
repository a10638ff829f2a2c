#include "analysis/products.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "analysis/axis_moves.h"
#include "model/onnx_runtime_operators.h"
#include "model/operator_traits.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

using Types = std::optional<std::map<std::string, ValueType>>;

/// The products of one model whose weights are constants.
class ProductsOf {
 public:
  ProductsOf(const Model& model, Types& types) : model_(model), types_(types), made_(makers_in(model)) {
    for (const onnx::NodeProto& node : model.proto.graph().node()) {
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
  }

  std::vector<Product> all() const {
    std::vector<Product> found;
    for (const onnx::NodeProto& node : model_.proto.graph().node()) {
      if (auto product = product_of(node)) found.push_back(*std::move(product));
    }
    return found;
  }

 private:
  std::optional<Product> product_of(const onnx::NodeProto& node) const {
    const bool gemm = is_onnx(node, "Gemm"), convolves = is_onnx(node, "Conv") || is_onnx_runtime(node, "FusedConv");
    if ((!gemm && !convolves && !is_onnx(node, "MatMul")) || node.input_size() < 2) return std::nullopt;
    auto weight = moved_constant(model_, made_, node.input(1), types_);
    if (!weight || (convolves ? weight->shape.size() < 3 : weight->shape.size() != 2)) return std::nullopt;
    Product product;
    product.node = &node;
    if (gemm) {
      product.alpha = attribute_float(node, "alpha", 1);
      product.beta = attribute_float(node, "beta", 1);
    }
    product.by_columns = !convolves && (!gemm || attribute_int(node, "transB", 0) == 0);
    product.rows = static_cast<std::size_t>(weight->shape[product.by_columns ? 1 : 0]);
    const auto count = static_cast<std::size_t>(element_count(weight->shape));
    if (product.rows == 0 || count == 0) return std::nullopt;
    product.columns = count / product.rows;
    product.group = convolves ? attribute_int(node, "group", 1) : 1;
    product.weight = *std::move(weight);
    add_bias(product);
    return product;
  }

  /// The first node behind a product that does more than round or move its values, if it alone reads them.
  const onnx::NodeProto* behind(std::string tensor) const {
    while (true) {
      const auto readers = readers_.find(tensor);
      if (readers == readers_.end() || readers->second.size() != 1) return nullptr;
      const onnx::NodeProto& reader = *readers->second.front();
      const bool passes = reader.domain() == kDomain || reshapes(reader) || is_onnx(reader, "Identity") ||
                          is_onnx(reader, "Cast") || is_onnx(reader, "Transpose");
      if (!passes || reader.input(0) != tensor) return &reader;
      tensor = reader.output(0);
    }
  }

  /// Its own bias, or that of an Add behind it.
  void add_bias(Product& product) const {
    const onnx::NodeProto& node = *product.node;
    const onnx::NodeProto* next = behind(node.output(0));
    std::vector<std::string> added;
    if (node.input_size() > 2) {
      added = {node.input(2)};
    } else if (next != nullptr && is_onnx(*next, "Add")) {
      added.assign(next->input().begin(), next->input().end());
      next = behind(next->output(0));
    }
    product.normalized = next != nullptr && next->op_type() == "BatchNormalization";
    for (const std::string& tensor : added) {
      auto bias = moved_constant(model_, made_, tensor, types_);
      if (!bias || static_cast<std::size_t>(element_count(bias->shape)) != product.rows) continue;
      product.bias = *std::move(bias);
      return;
    }
  }

  const Model& model_;
  Types& types_;
  const Makers made_;
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers_;
};

double correlation(std::span<const float> a, std::span<const float> b) {
  const auto count = static_cast<double>(a.size());
  double sum_a = 0, sum_b = 0, squares_a = 0, squares_b = 0, products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    sum_a += x;
    sum_b += y;
    squares_a += x * x;
    squares_b += y * y;
    products += x * y;
  }
  const double spread = (squares_a - sum_a * sum_a / count) * (squares_b - sum_b * sum_b / count);
  return spread > 0 ? std::abs(products - sum_a * sum_b / count) / std::sqrt(spread) : 0;
}

}  // namespace

std::map<std::string, std::string> places_of_products(const Subject& subject, const Model& simulated,
                                                      const LayerMatches& matches) {
  const Makers ref_made = makers_in(subject.model), low_made = makers_in(simulated);
  std::set<std::string> refs, lows;
  for (const Match& match : matches.pairs) {
    refs.insert(match.ref);
    lows.insert(match.low);
  }
  const auto only_product = [](const std::vector<const onnx::NodeProto*>& nodes) {
    std::vector<const onnx::NodeProto*> products;
    std::ranges::copy_if(nodes, std::back_inserter(products), [](const onnx::NodeProto* node) {
      return has(*node, Trait::Weighted) && node->input_size() > 1;
    });
    return products.size() == 1 ? products.front() : nullptr;
  };
  std::map<std::string, std::string> places;
  for (const Match& match : matches.pairs) {
    const onnx::NodeProto* ref = only_product(nodes_behind(ref_made, match.ref, refs));
    const onnx::NodeProto* low = only_product(nodes_behind(low_made, match.low, lows));
    if (ref != nullptr && low != nullptr) places.emplace(low->output(0), ref->output(0));
  }
  return places;
}

std::vector<Product> products_in(const Model& model, Types& types, bool with_factors) {
  std::vector<Product> products = ProductsOf(model, types).all();
  const auto has_factor = [](const Product& product) { return product.alpha != 1 || product.beta != 1; };
  if (!with_factors) std::erase_if(products, has_factor);
  return products;
}

WeightSketch::WeightSketch(const Product& product, const Tensor& constant, std::size_t first, std::size_t rows) {
  constexpr std::size_t kMostRows = 32, kMostColumns = 128;
  const std::size_t some = std::min(rows, kMostRows), of_each = std::min(product.columns, kMostColumns);
  for (std::size_t r = 0; r < some; ++r) {
    const std::size_t row = first + r * rows / some;
    for (std::size_t c = 0; c < of_each; ++c) {
      values_.push_back(constant.floats()[product.place(row, c * product.columns / of_each)]);
    }
  }
  // Rows that are too short to tell anything by themselves.
  constexpr std::size_t kShort = 8;
  width_ = of_each < kShort ? values_.size() : of_each;
}

double WeightSketch::likeness(const WeightSketch& other) const {
  if (values_.size() != other.values_.size() || width_ == 0) return 0;
  std::vector<double> of_rows;
  for (std::size_t start = 0; start + width_ <= values_.size(); start += width_) {
    of_rows.push_back(
        correlation(std::span(values_).subspan(start, width_), std::span(other.values_).subspan(start, width_)));
  }
  const auto middle = of_rows.begin() + static_cast<std::ptrdiff_t>(of_rows.size() / 2);
  std::ranges::nth_element(of_rows, middle);
  return *middle;
}

}  // namespace vernier
