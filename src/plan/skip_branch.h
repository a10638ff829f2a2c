// Residual Adds: one input comes from a weighted operator for the Add alone, so that an engine makes both one kernel,
// whose codes have the type of the other input, the skip branch.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "model/model.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/target.h"

namespace vernier {

/// An Add in a format with a scale means its skip branch, where it has one, under target tensorrt; both inputs
/// elsewhere.
bool is_residual(const onnx::NodeProto& node, Format format, Target target);

/// --op-types-to-quantize names Add: under target tensorrt the skip branches of residual Adds then have pairs.
bool names_add(const PrecisionOptions& precision);

/// The input of `add` that is its skip branch. Where both come from weighted operators: that of the one which reads a
/// tensor that others read too, as the shortcut of a block does, else the second. nullopt where there is none, where it
/// is a constant, or where no weighted operator reads the sum (directly or behind a Relu), so that there would be no
/// codes to write; `reason` says which.
std::optional<int> skip_branch(const Model& model, const onnx::NodeProto& add, std::string* reason = nullptr);

}  // namespace vernier
