// What operators cost in ONNX Runtime's CPU provider, in float32 and on codes: a table that bench/kernel_times.py
// measured on one processor (bench/results/kernel_times.json). Ratios hold on other processors better than times do.
#pragma once

#include <functional>
#include <string>

#include "model/layers.h"
#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Nanoseconds with one thread. Both 0: not measured.
struct KernelTime {
  double in_float = 0;
  double on_codes = 0;
};

/// `shape_of`: of tensors, known for the node's data, weight and result. `part_of_silu`: a Sigmoid or Mul of
/// x sigmoid(x), of which the runtime makes one kernel in float32.
KernelTime kernel_time(const Layer& layer, const onnx::NodeProto& node,
                       const std::function<Shape(const std::string&)>& shape_of, bool part_of_silu);

enum class Border { IntoCodes, IntoFloats };

/// Of a tensor that goes from floats to codes or back: a kernel of its own, and another layout for pictures.
double border_time(Border border, const Shape& shape);

/// Of a MaxPool on codes that floats go into: the runtime moves the QuantizeLinear behind it in front, and without a
/// kernel on codes before it, it has no fast layout. Beside such kernels it costs next to nothing.
double pool_on_codes_time(const Shape& result);

}  // namespace vernier
