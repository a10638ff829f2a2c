#include "jobs/verify/stored_biases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "plan/constant_codes.h"

namespace vernier {
namespace {

/// Of the largest bias: what exporters that fold other constants into it may change.
constexpr float kBiasShare = 1e-3F;
constexpr double kFarSteps = 8;  // of the 256 of int8

/// Input scale times weight scale of the layer that reads a bias, for each channel, and the weight's DequantizeLinear.
struct ProductOfScales {
  std::string weight;
  std::vector<float> scales;
};

std::optional<ProductOfScales> product_of_scales(const Model& file, const StoredGrids& grids,
                                                 const onnx::NodeProto& bias, std::size_t count) {
  for (const onnx::NodeProto& layer : file.proto.graph().node()) {
    if (layer.input_size() < 3 || layer.input(2) != bias.output(0)) continue;
    const auto data = grids.dequantizers.find(layer.input(0)), kernel = grids.dequantizers.find(layer.input(1));
    if (data == grids.dequantizers.end() || kernel == grids.dequantizers.end()) return std::nullopt;
    const auto step = initializer(file, data->second->input(1));  // a quantizer in front may have another one
    const auto params = grids.params.find(kernel->second->name());
    if (!step || step->count() != 1 || params == grids.params.end() || params->second.block > 0) return std::nullopt;
    const std::vector<float>& scales = params->second.scale;
    if (scales.size() != 1 && scales.size() != count) return std::nullopt;
    ProductOfScales product{params->first, std::vector<float>(count)};
    for (std::size_t c = 0; c < count; ++c) {
      product.scales[c] = scales_of(*step).front() * scales[scales.size() == 1 ? 0 : c];
    }
    return product;
  }
  return std::nullopt;
}

std::int32_t code_at(const Tensor& codes, std::size_t index) {
  std::int32_t code = 0;
  std::memcpy(&code, codes.bytes().data() + index * sizeof code, sizeof code);
  return code;
}

/// A bias, as its file and its float model have it, with a scale for each value.
struct Bias {
  std::vector<float> scales;
  std::span<const float> wanted, held;

  /// Whether its values are right times `factors`.
  bool right_times(const std::vector<ScaleFactor>& factors) const {
    constexpr double kTolerance = 0.01, kSure = 4;
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      const ScaleFactor& of = factors[factors.size() == 1 ? 0 : c];
      const double right = static_cast<double>(wanted[c]) * of.factor;
      const double tolerance = std::abs(right) * (kTolerance + kSure * of.deviation) + static_cast<double>(scales[c]);
      if (!(std::abs(static_cast<double>(held[c]) - right) <= tolerance)) return false;
    }
    return true;
  }
  /// Of the stored values to those of the float model, by least squares.
  double factor() const {
    double energy = 0, product = 0;
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      energy += static_cast<double>(wanted[c]) * static_cast<double>(wanted[c]);
      product += static_cast<double>(wanted[c]) * static_cast<double>(held[c]);
    }
    return energy > 0 ? product / energy : 1;
  }
  /// Whether its quantized values are right at other scales.
  bool fits(const Tensor& codes, const std::vector<float>& others) const {
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      if (std::abs(static_cast<float>(code_at(codes, c)) * others[c] - wanted[c]) > others[c]) return false;
    }
    return true;
  }
  bool is_at(const std::vector<float>& others) const {
    constexpr float kFewRoundings = 1e-5F;
    for (std::size_t c = 0; c < scales.size(); ++c) {
      if (!(std::abs(scales[c] - others[c]) <= kFewRoundings * others[c])) return false;
    }
    return true;
  }
};

/// What is wrong with the values of a bias. `product`: what its scale should be, absent where that is not known.
std::optional<FoundDefect> wrong_bias(const Bias& bias, const std::optional<ProductOfScales>& product,
                                      const onnx::NodeProto& node, const Tensor& codes, const Tensor& stored,
                                      const FloatWeight& weight, const std::string& where) {
  const std::size_t count = bias.held.size();
  std::size_t clipped = 0;
  std::string first;
  StoredChannel all;
  FarCodes far(kFarSteps);
  float largest = 0;
  for (const float value : bias.wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t c = 0; c < count; ++c) {
    const float step = bias.scales[c], wanted = bias.wanted[c], held = bias.held[c];
    all.add(wanted, held, step);
    far.add(c, wanted, held, std::max(step, largest * kBiasShare));
    if (!(std::abs(wanted / step) > 2147483648.0F)) continue;
    if (clipped++ > 0) continue;
    first = fmt::format(
        "channel {} is {:g} in the float model and {:g} in the file. {:g} is {:.3g} times the scale of {:.3g}, but "
        "int32 ends at 2^31 (stored: {})",
        c, wanted, held, wanted, std::abs(wanted / step), step, code_at(codes, c));
  }
  if (clipped > 0) {
    return FoundDefect{"clipped-bias", node.name(),
                       fmt::format("{} of {} values of {} did not fit: {}", clipped, count, where, first),
                       "widen the weight scale of these channels until the bias fits, or keep the bias in float. "
                       "ONNX Runtime's quantizer widens it unless QDQDisableWeightAdjustForInt32Bias is set"};
  }
  if (all.wrong()) {
    return FoundDefect{"other-values", node.name(),
                       fmt::format("{} of {} values of {} are off by more than a step: {:g} in the float model, {:g} "
                                   "in the file",
                                   all.off, all.values, where, all.reference, all.stored),
                       kQuantizeAgain};
  }
  if (all.noticed() && product && bias.fits(codes, product->scales)) {
    return FoundDefect{
        "bias-scale", node.name(),
        fmt::format("{} of {} values of {} are off by more than their scale: {:g} in the float model, {:g} in the "
                    "file. With input scale times weight scale they are right, but they have another scale",
                    all.off, all.values, where, all.reference, all.stored),
        "use input scale times weight scale as the scale of the bias, for each channel"};
  }
  if (far.any()) {
    return wrong_codes(node, far, where, weight.values, stored, fmt::format("channel {}", far.worst_index()));
  }
  if (far.count() > 0) {
    FoundDefect moved{"other-values", node.name(),
                      fmt::format("{} of {} values of {} differ: {:g} in the float model, {:g} in the file",
                                  far.count(), far.values(), where, all.reference, all.stored),
                      kQuantizeAgain};
    moved.moved = true;
    return moved;
  }
  return std::nullopt;
}

}  // namespace

FoundDefect wrong_codes(const onnx::NodeProto& node, const FarCodes& far, const std::string& where,
                        const Tensor& wanted, const Tensor& stored, const std::string& place) {
  return {"wrong-codes", node.name(),
          fmt::format("{} of {} quantized values of {} are wrong, all others are rounded correctly. The "
                      "worst, {}, stands for {:g}, but the float model has {:g}",
                      far.count(), far.values(), where, place, stored.floats()[far.worst_index()],
                      wanted.floats()[far.worst_index()]),
          "quantize the float model again: these values were changed or damaged afterwards"};
}

std::optional<FoundDefect> compare_bias(const Model& file, const StoredGrids& grids, const onnx::NodeProto& node,
                                        const Tensor& codes, const Tensor& stored, const FloatWeight& weight,
                                        const ScaleFactors& wrong) {
  const auto scale = initializer(file, node.input(1));
  std::vector<float> scales = scale ? scales_of(*scale) : std::vector<float>();
  const auto count = static_cast<std::size_t>(stored.count());
  if (scales.empty() || (scales.size() != 1 && scales.size() != count)) return std::nullopt;
  scales.resize(count, scales.front());
  const Bias bias{std::move(scales), weight.values.floats(), stored.floats()};
  const std::optional<ProductOfScales> product = product_of_scales(file, grids, node, count);
  const std::string where = fmt::format("bias '{}' of {}", printable(weight.name), readers_of(file, node.output(0)));
  std::optional<FoundDefect> found = wrong_bias(bias, product, node, codes, stored, weight, where);
  if (!found || !product || !bias.is_at(product->scales)) return found;
  const auto factors = wrong.find(product->weight);
  found->of_weight_scale = factors != wrong.end() && bias.right_times(factors->second);
  found->common_factor = bias.right_times({{bias.factor()}});
  return found;
}

}  // namespace vernier
