// Which opset a format needs, by ONNX's schemas.

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string>

#include "model/layers.h"
#include "model/prepare.h"
#include "vernier/format.h"

namespace vernier {
namespace {

// The newest opset that we raise to: the first in which convolutions and pooling take bfloat16, and the newest that the
// engines in use all read.
constexpr int kNewestOpset = 22;

/// The lowest version of an operator that admits `type` where the first input goes; 0 when none does.
int first_version_for(const std::string& op_type, const std::string& type) {
  for (int version = 1; version <= kNewestOpset;) {
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type, version, "");
    if (schema != nullptr && schema->SinceVersion() == version && !schema->inputs().empty()) {
      for (const auto& allowed : schema->inputs()[0].GetTypes()) {
        if (*allowed == type) return version;
      }
    }
    ++version;
  }
  return 0;
}

}  // namespace

int opset_needed(const Model& model, Format format) {
  const int now = default_opset(model.proto);
  switch (format) {
    case Format::Float32:
      return now;
    case Format::Float16:
      // Operators took float16 from the start; 7 brings broadcasting by shape, which casts at borders rely on.
      return std::max(now, 7);
    case Format::Int8:
    case Format::UInt8:
      return std::max(now, 13);  // QuantizeLinear with a scale for each channel
    case Format::Float8E4M3FN:
    case Format::Float8E5M2:
      return std::max(now, 19);
    case Format::Int4:
      return std::max(now, 21);
    case Format::BFloat16:
      break;
  }
  int needed = std::max(now, 13);  // Cast, MatMul, Add and most others
  for (const Layer& layer : find_layers(model)) {
    needed = std::max(needed, first_version_for(layer.op_type, "tensor(bfloat16)"));
  }
  return needed;
}

}  // namespace vernier
