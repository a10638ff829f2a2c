// The pair of a file that is meant to limit values, in the place of a Relu or Clip of the float model.
#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

#include "analysis/match_layers.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// The pair among `nodes` of the file that may be meant to limit what a twin of `source` makes: its range is not
/// symmetric, or another pair of the same values has another range. Null: none. `made_by`: of the file.
const QuantizedTensor* pair_with_limits(const SimulatedFile& file, const Makers& made_by, const onnx::NodeProto& source,
                                        const std::vector<const onnx::NodeProto*>& nodes);

}  // namespace vernier
