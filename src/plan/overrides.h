// Scales and ranges of single tensors that a user gives, in the place of calibrated ones. The file is JSON in the form
// of ONNX Runtime's TensorQuantOverrides: {"tensor": {...}}, or {"weight": [{...}, ...]} with one entry for each scale.
// An entry holds
//
//   "scale", "zero_point"     as QuantizeLinear takes them; no zero point is 0
//   "rmin", "rmax"            or a range, from which both are made as calibration makes them
//   "symmetric"               with a range: it is widened to be symmetric around zero
#pragma once

#include <string>

#include "plan/plan.h"

namespace vernier {

/// Errors: Input for what is no such file, a value out of range, and a tensor that the plan does not quantize, with the
/// nearest that it does.
void override_tensors(Plan& plan, const std::string& text, const std::string& where);

}  // namespace vernier
