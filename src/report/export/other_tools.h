// The part of deploy.md for people who quantize with another tool: the same layers excluded there.
#pragma once

#include <string>
#include <vector>

#include "vernier/report/diagnose.h"

namespace vernier {

/// Exclusion lists for ModelOpt, NNCF, and ONNX Runtime's quantizer and float16 converter, in the tools' own syntax.
std::string other_quantizers(const DiagnoseReport& report, const std::vector<std::string>& kept);

}  // namespace vernier
