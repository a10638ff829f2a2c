// A plan as a configuration of ModelOpt's PyTorch side, for quantization-aware training: formats and ranges by module.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/torch_modules.h"
#include "vernier/error.h"
#include "vernier/precision.h"

namespace vernier {

struct QatConfig {
  std::string text;  // of qat.py
  std::size_t quantized = 0, kept = 0;
  std::vector<std::string> left_out;  // layers in a low format: "fc: the reason"
};

/// Usage for formats that ModelOpt cannot train, and for a network in which no layer with a weight is a module's;
/// absent: a configuration can be written. Known before anything is measured.
std::optional<Error> refusal_of_qat(const PrecisionOptions& precision, const TorchModules& modules);

/// `plan`: the formats of layers and the grids of their tensors. A module that several layers share has the widest of
/// their formats and the largest of their ranges.
QatConfig qat_config(const Plan& plan, const std::vector<Layer>& layers, const TorchModules& modules);

}  // namespace vernier
