// From what the user asked for (formats, target, exceptions) and what calibration saw (ranges) to a plan (CONTRACT 1,
// 2).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/layers.h"
#include "numerics/metrics.h"
#include "plan/plan.h"
#include "vernier/jobs.h"

namespace vernier {

/// True when the layer can run in `format` under `target`: scaled formats take the operators of the scheme (Conv,
/// ConvTranspose, Gemm, MatMul), float16 and bfloat16 whatever the ONNX schema admits. `reason` says why not.
bool can_take(const Model& model, const Layer& layer, Format format, std::string* reason = nullptr);

struct AssignedFormats {
  Plan plan;                            // formats only; quantization parameters are filled by calibrate_plan
  std::vector<std::string> candidates;  // layers below the high format that a search may raise
  std::vector<std::string> warnings;    // exceptions not honoured ("prefer"), or ignored ("none")
};

/// Every layer in the lowest format it can take, exceptions applied.
/// Errors: Usage for a name that matches no layer (nearest offered), and under "obey" for a layer that cannot take the
/// format asked, saying why.
AssignedFormats assign_formats(const Model& model, const std::vector<Layer>& layers, const PrecisionOptions& precision);

/// Float tensors whose ranges the plan needs.
std::set<std::string> tensors_to_calibrate(const std::vector<Layer>& layers, const Plan& plan);

/// Fills plan.tensors: activations from ranges (symmetric absolute maximum per tensor; --target onnxruntime: asymmetric
/// uint8), weights from their own absolute maximum per output channel. Returns warnings (a range that is empty, or that
/// left non-finite values out).
/// Errors: Input when a tensor has no range.
std::vector<std::string> calibrate_plan(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                        const std::map<std::string, RangeStats>& ranges);

/// One line for people: "int8: Conv, ConvTranspose, Gemm, MatMul; activations symmetric per tensor (absolute maximum)
/// ...".
std::string scheme_text(const PrecisionOptions& precision);

}  // namespace vernier
