#include "jobs/common/typed_file.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/file.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "model/passes/pass.h"
#include "model/prepare.h"
#include "plan/bad_scales.h"
#include "plan/simulate_typed.h"

namespace vernier {
namespace {

/// True when nodes make a scale or zero point from constants alone. `file`: as normalized_file() gives it.
bool computes_grids(const Model& file) {
  std::set<std::string> constants = initializer_names(file);
  std::set<std::string> made;  // of them, by nodes
  bool found = false;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      const bool quantizes = is_quantization(node, "QuantizeLinear") || is_quantization(node, "DequantizeLinear");
      for (int i = 1; quantizes && i < node.input_size(); ++i) found = found || made.contains(node.input(i));
      for (const int i : scale_inputs(node)) found = found || made.contains(node.input(i));
      const bool constant = std::ranges::all_of(
          node.input(), [&](const std::string& input) { return input.empty() || constants.contains(input); });
      if (!constant) continue;
      constants.insert(node.output().begin(), node.output().end());
      made.insert(node.output().begin(), node.output().end());
    }
  });
  return found;
}

}  // namespace

Model as_typed_file(const Model& file) {
  Model folded = normalized_file(file);
  if (!computes_grids(folded)) return file;
  const PrepareOptions options;
  const Evaluator evaluate = evaluator(Runtime::load());
  passes::fold_constants(folded, {options, evaluate, 0, {.shapes = false}});
  return folded;
}

OnnxModel result_of(Model model, const std::filesystem::path& file) {
  if (!file.empty()) return file;
  model.sha256.clear();  // of what it was made from
  return OnnxModel::of_model(std::make_shared<const Model>(std::move(model)), "typed model");
}

Model read_typed_file(const OnnxModel& source) { return as_typed_file(read_model(source)); }

}  // namespace vernier
