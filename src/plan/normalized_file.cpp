#include "plan/normalized_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"

namespace vernier {

bool is_quantization(const onnx::NodeProto& node, const char* op_type) {
  return node.op_type() == op_type && has(node, Trait::Quantizes);
}

std::string recurrence_note(const std::string& op_type, const std::string& layer) {
  if (!traits_of(op_type).any(Trait::Recurrent)) return {};
  return fmt::format(
      "layer '{}' ({}) is rounded at its inputs and outputs only: its intermediate values are not simulated",
      printable(layer), op_type);
}

Model normalized_file(const Model& typed) {
  Model model = typed;
  const PrepareOptions options;
  const Evaluator evaluate;
  const passes::Context context{options, evaluate, 0};
  passes::inline_functions(model, context);
  passes::constants_to_initializers(model, context);
  index_initializers(model);
  return model;
}

}  // namespace vernier
