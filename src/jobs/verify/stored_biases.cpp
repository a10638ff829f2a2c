#include "jobs/verify/stored_biases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
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

/// Whether the quantized values of a bias, times the scales of its layer's input and weight, are the float ones.
bool fits_product_of_scales(const Model& file, const StoredGrids& grids, const onnx::NodeProto& node,
                            const Tensor& codes, const FloatWeight& weight) {
  const auto params_of = [&](const std::string& tensor) -> const QuantParams* {
    const auto made = grids.dequantizers.find(tensor);
    const auto found = made == grids.dequantizers.end() ? grids.params.end() : grids.params.find(made->second->name());
    return found == grids.params.end() ? nullptr : &found->second;
  };
  const auto count = static_cast<std::size_t>(codes.count());
  for (const onnx::NodeProto& layer : file.proto.graph().node()) {
    if (layer.input_size() < 3 || layer.input(2) != node.output(0)) continue;
    const QuantParams* data = params_of(layer.input(0));
    const QuantParams* kernel = params_of(layer.input(1));
    if (data == nullptr || kernel == nullptr || data->scale.size() != 1 || kernel->block > 0) return false;
    if (kernel->scale.size() != 1 && kernel->scale.size() != count) return false;
    for (std::size_t c = 0; c < count; ++c) {
      std::int32_t code = 0;
      std::memcpy(&code, codes.bytes().data() + c * sizeof code, sizeof code);
      const float step = data->scale.front() * kernel->scale[kernel->scale.size() == 1 ? 0 : c];
      if (std::abs(static_cast<float>(code) * step - weight.values.floats()[c]) > step) return false;
    }
    return true;
  }
  return false;
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
                                        const Tensor& codes, const Tensor& stored, const FloatWeight& weight) {
  const auto scale = initializer(file, node.input(1));
  const std::vector<float> scales = scale ? scales_of(*scale) : std::vector<float>();
  const auto count = static_cast<std::size_t>(stored.count());
  if (scales.empty() || (scales.size() != 1 && scales.size() != count)) return std::nullopt;
  std::size_t clipped = 0;
  std::string first;
  StoredChannel all;
  FarCodes far(kFarSteps);
  float largest = 0;
  for (const float value : weight.values.floats()) largest = std::max(largest, std::abs(value));
  for (std::size_t c = 0; c < count; ++c) {
    const float step = scales[scales.size() == 1 ? 0 : c];
    const float wanted = weight.values.floats()[c];
    const float held = stored.floats()[c];
    all.add(wanted, held, step);
    far.add(c, wanted, held, std::max(step, largest * kBiasShare));
    if (!(std::abs(wanted / step) > 2147483648.0F)) continue;
    if (clipped++ > 0) continue;
    std::int32_t code = 0;
    std::memcpy(&code, codes.bytes().data() + c * sizeof code, sizeof code);
    first = fmt::format(
        "channel {} is {:g} in the float model and {:g} in the file. {:g} is {:.3g} times the scale of {:.3g}, but "
        "int32 ends at 2^31 (stored: {})",
        c, wanted, held, wanted, std::abs(wanted / step), step, code);
  }
  const std::string where = fmt::format("bias '{}' of {}", printable(weight.name), readers_of(file, node.output(0)));
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
  if (all.noticed() && fits_product_of_scales(file, grids, node, codes, weight)) {
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

}  // namespace vernier
