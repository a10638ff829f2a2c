// INT32 biases of a typed file against those of its float model.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/verify/float_twins.h"
#include "jobs/verify/stored_channel.h"
#include "model/model.h"
#include "numerics/grid.h"
#include "vernier/report/defects.h"
#include "vernier/tensor.h"

namespace vernier {

/// What is advised where stored values are not those of the float model.
inline constexpr const char* kQuantizeAgain =
    "quantize the float model again. If the quantizer changed it on purpose (equalization), compare with the float "
    "model that it wrote";

/// The DequantizeLinears of a file by what they make, and their grids by their names.
struct StoredGrids {
  std::map<std::string, const onnx::NodeProto*> dequantizers{};
  std::map<std::string, QuantParams> params{};
};

/// What the channels of weights are off by, because their scales are.
using ScaleFactors = std::map<std::string, std::vector<ScaleFactor>>;  // by the weight's DequantizeLinear

/// "wrong-codes" of the DequantizeLinear `node`. `where`: its constant in words, `place`: the worst of `far` in words.
FoundDefect wrong_codes(const onnx::NodeProto& node, const FarCodes& far, const std::string& where,
                        const Tensor& wanted, const Tensor& stored, const std::string& place);

/// What is wrong with the int32 bias that `node` dequantizes: "clipped-bias", "other-values", "bias-scale" or
/// "wrong-codes", as find_other_values() defines them. `codes` and `stored`: what the file holds, and what it stands
/// for. `wrong`: weights that "weight-scale" names. A bias in an operator on codes has no scale of its own, so that
/// theirs is in it: then `of_weight_scale` is set. With a wrong scale of the input, `common_factor` is.
std::optional<FoundDefect> compare_bias(const Model& file, const StoredGrids& grids, const onnx::NodeProto& node,
                                        const Tensor& codes, const Tensor& stored, const FloatWeight& weight,
                                        const ScaleFactors& wrong);

}  // namespace vernier
