#include "plan/lower_typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/checker.h"
#include "model/tensorrt_operators.h"
#include "plan/batched_weights.h"
#include "plan/body_weights.h"
#include "plan/engine_limits.h"
#include "plan/format_choice.h"
#include "plan/narrow_caches.h"
#include "plan/nbits_products.h"
#include "plan/recurrent_casts.h"
#include "plan/shared_transposes.h"
#include "plan/signature.h"
#include "plan/typed_graph.h"
#include "plan/typed_weights.h"
#include "vernier/format.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::int64_t initializer_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      const std::int64_t count = element_count(Shape(tensor.dims().begin(), tensor.dims().end()));
      bytes += (count * dtype_bits(static_cast<Dtype>(tensor.data_type())) + 7) / 8;
    }
  });
  return bytes;
}

std::vector<LargeFloatWeight> large_float_weights(const Model& model, std::int64_t all_bytes) {
  std::map<std::string, LargeFloatWeight> large;
  for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) {
    const auto dtype = static_cast<Dtype>(tensor.data_type());
    if (dtype != Dtype::Float32 && dtype != Dtype::Float16 && dtype != Dtype::BFloat16) continue;
    const std::int64_t bytes = element_count(Shape(tensor.dims().begin(), tensor.dims().end())) * dtype_bits(dtype) / 8;
    if (bytes * 10 >= all_bytes) large[tensor.name()] = {tensor.name(), bytes, std::string(dtype_name(dtype)), {}};
  }
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) {
        const auto found = large.find(input);
        if (found == large.end()) continue;
        std::vector<std::string>& types = found->second.read_by;
        if (std::ranges::find(types, node.op_type()) == types.end()) types.push_back(node.op_type());
      }
    }
  });
  std::vector<LargeFloatWeight> sorted;
  for (auto& [name, weight] : large) sorted.push_back(std::move(weight));
  std::ranges::stable_sort(sorted, std::greater(), &LargeFloatWeight::bytes);
  return sorted;
}

}  // namespace

TypedModel lower_typed(const Model& float_model, const Plan& plan, bool strict, const Progress& progress) {
  const Model prepared = with_repaired_constants(float_model, plan);
  FormatChoices choices = choose_formats(prepared, plan, strict);
  TypedModel typed;
  typed.model = prepared;
  NamePool names(typed.model);
  TypedWeights weights(typed.model, names, plan.target, progress);
  TypedContext context{plan, choices, weights, names, {}};
  lower_graph(*typed.model.proto.mutable_graph(), context);
  if (context.counts.tensorrt_operators) set_opset(typed.model.proto, kTensorRtDomain, 1);
  // Types that are new in these opsets are new in their IR, too.
  const int opset = default_opset(typed.model.proto);
  if (opset > 22) {
    const std::int64_t version = std::max<std::int64_t>(typed.model.proto.ir_version(), ir_version_of_opset(opset));
    typed.model.proto.set_ir_version(version);
  }
  weights.remove_unused();
  index_initializers(typed.model);
  if (plan.rules.kv_cache) context.counts.casts -= narrow_caches(typed.model, prepared, names);
  fit_batched_weights(typed.model, names);
  NBitsProducts nbits;
  if (plan.target == Target::OnnxRuntime) {
    hold_weights_in_bodies(typed.model, names);
    nbits = write_nbits_products(typed.model, names);
  }
  const std::size_t shared = share_transposes(typed.model, names);
  if (plan.target == Target::TensorRt) {
    typed.spelled_limits = spell_out_limits(typed.model, names);
    hold_casts(typed.model, names);
  }
  sign_model(typed.model, plan);
  typed.casts = context.counts.casts;
  // A MatMulNBits holds its weight without a pair.
  const auto held = static_cast<std::int64_t>(nbits.dequantizers);
  typed.quantize_pairs = context.counts.quantize_pairs - held;
  typed.quantized_weights = context.counts.stored_weights - held;
  typed.quantized_biases = context.counts.stored_biases;
  typed.weight_bytes = initializer_bytes(typed.model);
  typed.float_weights = large_float_weights(typed.model, typed.weight_bytes);
  typed.notes = std::move(choices.notes);
  typed.refused = std::move(choices.refused);
  typed.lowered = static_cast<std::size_t>(std::ranges::count_if(plan.layers, [&](const PlannedLayer& layer) {
    return layer.format != Format::Float32 && !typed.refused.contains(layer.name);
  }));
  append(typed.notes, weights.take_notes());
  if (shared > 0) {
    typed.notes.push_back({"transposed-weights-shared", {{"count", shared}}});
  }
  if (nbits.written > 0) typed.notes.push_back({"weights-in-nbits", {{"count", nbits.written}}});
  if (nbits.left > 0) typed.notes.push_back({"weights-expand", {{"count", nbits.left}}});
  if (context.counts.shields > 0) {
    typed.notes.push_back({"float-layers-shielded", {{"count", context.counts.shields}}});
  }
  if (const auto complaint = checker_complaint(typed.model)) {
    // What it refuses in the float model too is not of our making, and engines may well run it.
    if (!checker_complaint(prepared)) check_written_model(typed.model);
    typed.notes.push_back({"types-not-checked", {{"error", first_line(*complaint)}}});
  }
  return typed;
}

}  // namespace vernier
