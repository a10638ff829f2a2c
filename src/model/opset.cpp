// Which opset a format needs, by ONNX's schemas.

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string>

#include "base/format_definition.h"
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
  int needed = std::max(now, definition_of(format).opset);
  if (format != Format::BFloat16) return needed;
  for (const Layer& layer : find_layers(model)) {
    needed = std::max(needed, first_version_for(layer.op_type, "tensor(bfloat16)"));
  }
  return needed;
}

}  // namespace vernier
