// The node that stands for rounding in simulated graphs, and the operator domain of all our operators. The engine
// registers kernels under these names (src/engines/onnxruntime/operators.h).
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

#include "model/model.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier {

inline constexpr const char* kDomain = "vernier";
inline constexpr int kDomainVersion = 1;

/// Round: X (float32), and A (float32), which is not read: X is rounded behind it -> Y (float32), same shape as X.
/// Attributes: format (string), scale (floats), zero_point (ints), axis (int), block (int), lowest_code (int), dynamic
/// (int), slot (int; -1: events are not recorded).
onnx::NodeProto round_node(const std::string& input, const std::string& output, const QuantParams& params,
                           std::int64_t slot = -1);
/// Reads the attributes back.
QuantParams round_params(const onnx::NodeProto& node);
/// infer_types() of a simulated graph: ONNX does not know Round, whose result has the type of what it reads.
std::map<std::string, ValueType> infer_simulated_types(Model simulated);

/// The model with an Identity in the place of each Round.
Model without_rounds(Model simulated);

/// Accumulate: X (float32), the sums of a convolution's products, and B (float32, one value for each index of dimension
/// 1; empty: none) -> Y, what a kernel gives that keeps its sums in `format`, in front of its last rounding:
///   X + noise of all but the last of `roundings` (numerics/tensor_cores.h), and with B that rounded to `format`, plus
///   B
/// `product`: X is that of a matrix, and its last dimension has the bias. One row alone is exact in front of B, and up
/// to 16 rows are summed in parts of 40 roundings at most.
/// Attributes: format (string), roundings (int), seed (int), product (int).
onnx::NodeProto accumulate_node(const std::string& input, const std::string& bias, const std::string& output,
                                Format format, std::int64_t roundings, std::uint32_t seed, bool product = false);
/// Switch: X (float32), and A, as of Round -> Y (float32), same shape as X: the roundings that the run names for
/// `slot`, one after the other.
onnx::NodeProto switch_node(const std::string& input, const std::string& output, std::int64_t slot);
/// PairSums: Y (float32), sums of products of codes, and X (float32), the data they are of, on its grid -> Y as a
/// kernel gives it that adds two products in 16 bits that saturate (numerics/pair_sums.h). saturating_pairs.cpp sets
/// the attributes.
onnx::NodeProto pair_sums_node(const std::string& sums, const std::string& data, const std::string& output);
/// Tf32: X (float32) -> Y (float32), rounded to the mantissa of TF32.
onnx::NodeProto tf32_node(const std::string& input, const std::string& output);

}  // namespace vernier
