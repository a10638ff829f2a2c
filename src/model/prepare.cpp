#include "model/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/graph_edit.h"
#include "model/openvino_reader.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

enum class When { Always, Lowering, Raising, LoweringOrRaising };

struct Step {
  const char* name;
  passes::Outcome (*run)(Model&, const passes::Context&);
  When when;
  bool PrepareOptions::*only = nullptr;  // the option that asks for it; null: none does
};

// In order. A new step is one file in passes/ and one line here.
constexpr Step kSteps[] = {
    {"inline_functions", passes::inline_functions, When::Always},
    {"replace_removed_operators", passes::replace_removed_operators, When::LoweringOrRaising},
    {"pad_transposed", passes::pad_transposed, When::LoweringOrRaising},
    {"spell_out_simplified_norms", passes::spell_out_simplified_norms, When::LoweringOrRaising},
    {"spell_out_for_openvino", passes::spell_out_for_openvino, When::LoweringOrRaising, &PrepareOptions::for_openvino},
    {"refuse_unknown_operators", passes::refuse_unknown_operators, When::LoweringOrRaising},
    {"unwrap_optionals", passes::unwrap_optionals, When::Always},
    {"constants_to_initializers", passes::constants_to_initializers, When::Always},
    {"fold_constants", passes::fold_constants, When::Always},
    {"inline_ifs", passes::inline_ifs, When::Always},
    {"enter_caches", passes::enter_caches, When::Always, &PrepareOptions::enter_caches},
    {"fold_batch_norm", passes::fold_batch_norm, When::Lowering, &PrepareOptions::fold_batch_norm},
    {"fold_factors", passes::fold_factors, When::Lowering, &PrepareOptions::openvino_products},
    {"part_products", passes::part_products, When::Lowering, &PrepareOptions::openvino_products},
    {"part_attention", passes::part_attention, When::Lowering, &PrepareOptions::for_openvino},
    {"raise_opset", passes::raise_opset, When::Raising},
    // The version converter writes shapes as nodes where it does not look whether they are known.
    {"fold_constants", passes::fold_constants, When::Raising},
};

bool lowers(const PrepareOptions& options) {
  return std::any_of(options.formats.begin(), options.formats.end(),
                     [](Format format) { return format != Format::Float32; });
}

/// The opset that the formats need whatever the layers are. bfloat16 is not among them: it is asked for on its own.
int opset_for(const Model& model, const PrepareOptions& options) {
  int opset = std::max(default_opset(model.proto), options.min_opset);
  if (options.for_openvino && lowers(options)) opset = std::max(opset, opset_read_by_openvino(model.proto));
  for (const Format format : options.formats) {
    if (format != Format::BFloat16) opset = std::max(opset, opset_needed(model, format));
  }
  return opset;
}

bool has_operator(const onnx::ModelProto& proto, std::string_view op_type) {
  const auto is_it = [&](const onnx::NodeProto& node) { return node.op_type() == op_type; };
  bool found = std::ranges::any_of(proto.functions(), [&](const onnx::FunctionProto& function) {
    return std::ranges::any_of(function.node(), is_it);
  });
  for_each_graph(proto.graph(),
                 [&](const onnx::GraphProto& graph) { found = found || std::ranges::any_of(graph.node(), is_it); });
  return found;
}

}  // namespace

bool prepares_alike(const Model& model, const PrepareOptions& one, const PrepareOptions& other) {
  const auto folds = [](const PrepareOptions& options) { return lowers(options) && options.fold_batch_norm; };
  return lowers(one) == lowers(other) && folds(one) == folds(other) &&
         (!folds(one) || !has_operator(model.proto, "BatchNormalization") ||
          (one.formats == other.formats && one.weights_per_channel == other.weights_per_channel)) &&
         (lowers(one) && one.openvino_products) == (lowers(other) && other.openvino_products) &&
         one.formats.contains(Format::BFloat16) == other.formats.contains(Format::BFloat16) &&
         one.enter_caches == other.enter_caches && opset_for(model, one) == opset_for(model, other) &&
         one.for_openvino == other.for_openvino &&
         (one.inline_ifs == other.inline_ifs || !has_operator(model.proto, "If"));
}

Prepared prepare(const Model& model, const PrepareOptions& options, const Evaluator& evaluate) {
  try {
    verify_structure(model, "the file");
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidModel,
                fmt::format("{}: {}", model.path.empty() ? "model" : model.path.string(), error.what()));
  }
  Prepared prepared{model, {}, true};
  prepared.model.index.reset();
  prepared.model.proto.set_ir_version(portable_ir_version(model.proto));
  const bool lowering = lowers(options);
  const int opset = default_opset(model.proto);
  passes::Context context{options, evaluate, opset};
  for (const Step& step : kSteps) {
    if (step.when == When::Raising || step.when == When::LoweringOrRaising) {
      // Asked anew: the layers decide, and they change on the way here.
      context.target_opset = std::max(opset, options.min_opset);
      if (options.for_openvino && lowering) {
        context.target_opset = std::max(context.target_opset, opset_read_by_openvino(prepared.model.proto));
      }
      for (const Format format : options.formats) {
        context.target_opset = std::max(context.target_opset, opset_needed(prepared.model, format));
      }
    }
    const bool raising = opset > 0 && context.target_opset > opset;
    const bool wanted = step.when == When::Always || (step.when == When::Lowering && lowering) ||
                        (step.when == When::Raising && raising) ||
                        (step.when == When::LoweringOrRaising && (lowering || raising));
    if (!wanted || (step.only != nullptr && !(options.*step.only))) continue;
    const passes::Outcome outcome = step.run(prepared.model, context);
    verify_structure(prepared.model, step.name);
    for (const Note& note : outcome.notes) prepared.notes.push_back({step.name, note});
    if (outcome.changed_arithmetic) prepared.unchanged = false;
  }
  index_initializers(prepared.model);
  return prepared;
}

}  // namespace vernier
