// Quantizers of a typed file that are one rounding together with what undoes them.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "model/model.h"
#include "numerics/round.h"

namespace vernier {

/// The grid of a QuantizeLinear all of whose `readers` are DequantizeLinear with the same constant parameters; `codes`:
/// the type of what it makes. Absent for others, and for values of a run in blocks.
std::optional<QuantParams> grid_of_pair(const Model& file, const onnx::NodeProto& quantize, ValueType codes,
                                        const std::vector<const onnx::NodeProto*>& readers);

/// The grid of TensorRT's operators that quantize with the block scales of each run, along the last of the `rank`
/// dimensions of their data. Absent for other nodes.
std::optional<QuantParams> grid_in_run(const Model& file, const onnx::NodeProto& node, int rank);

}  // namespace vernier
