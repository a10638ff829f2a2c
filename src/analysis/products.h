// Products with constant weights, and how alike the weights of two of them are: the same layer of two files may be a
// MatMul, a Gemm or a 1x1 Conv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/moved_constant.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// A product with a constant, which is read as the matrix [rows, columns]: a row for each output.
struct Product {
  const onnx::NodeProto* node = nullptr;
  MovedConstant weight;
  std::size_t rows = 0, columns = 0;
  std::int64_t group = 1;
  bool by_columns = false;              // the constant is read as [columns, rows]
  double alpha = 1, beta = 1;           // of a Gemm
  bool normalized = false;              // a BatchNormalization follows: its factors are not in the weight
  std::optional<MovedConstant> bias{};  // its own, or that of an Add behind it

  std::size_t place(std::size_t row, std::size_t column) const {
    const std::size_t read = by_columns ? column * rows + row : row * columns + column;
    return weight.places.empty() ? read : weight.places[read];
  }
};

/// The products of the main graph whose weights are constants, in its order: Conv, FusedConv, MatMul and Gemm. Valid
/// while `model` is. `types`: of the model, inferred where they are asked for first. `with_factors`: also those of a
/// Gemm with alpha or beta.
std::vector<Product> products_in(const Model& model, std::optional<std::map<std::string, ValueType>>& types,
                                 bool with_factors = false);

/// By the tensor that a product of the file makes: what the product of the same layer makes in the float model. Between
/// matched tensors there is one on both sides.
std::map<std::string, std::string> places_of_products(const Subject& subject, const Model& simulated,
                                                      const LayerMatches& matches);

/// Of unlike weights the likeness lies below 0.3; quantization to four bits leaves 0.95.
inline constexpr double kAlikeWeights = 0.6, kSurelyAlikeWeights = 0.9;

/// A few values of each of a few rows, at places that depend on the size alone.
class WeightSketch {
 public:
  WeightSketch(const Product& product, const Tensor& constant, std::size_t first, std::size_t rows);

  /// The median over rows of how far one is the other times a factor, with a shift: 0 to 1. So a wrong scale, zero
  /// point or sign does not hide it, nor do the factors of a BatchNormalization.
  double likeness(const WeightSketch& other) const;

 private:
  std::vector<float> values_;
  std::size_t width_ = 0;
};

}  // namespace vernier
