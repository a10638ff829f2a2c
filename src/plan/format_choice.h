// First half of typed lowering: what each node of the model will compute in. Changes nothing.
//
// - A planned layer takes its format if its ONNX schema lets the tensors on its data path be of it.
// - Of a layer in int8, under a target with integer kernels, the result is quantized too, where placement.h says so;
//   what passes its codes on computes between pairs.
// - A layer whose weight alone is quantized computes in the high format, as far as its schema lets it.
// - A follower takes the format that all its data inputs have, else float32. Without data inputs (a Gather of an
//   embedding, a Cast of a mask) it takes the format that all its readers take.
// - Everything else stays as it is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/integer_bias.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/note.h"

namespace vernier {

struct NodeChoice {
  /// float16 or bfloat16: the slots marked below change type. The inputs in `quantized` go through Q/DQ, and come out
  /// in float32, or in `format` where that is float16 or bfloat16.
  Format format = Format::Float32;
  Format planned = Format::Float32;  // the format with a scale whose grids the inputs in `quantized` go through
  std::vector<bool> low_inputs;
  std::vector<bool> low_outputs;
  std::vector<bool> quantized;
  /// Outputs that a Q/DQ pair follows (placement.h), also of nodes that only pass values on.
  std::vector<bool> quantized_outputs;
  std::optional<IntegerBias> bias;  // stored as int32
  bool integer_product = false;     // computes on integers whose scale each run finds
  /// Stays float32 between quantized tensors, where the engine would quantize its weights: a Sum of one input, which no
  /// optimizer looks through, goes in front.
  bool shielded = false;
};

struct FormatChoices {
  std::map<std::string, NodeChoice> nodes;  // by node name; absent: float32
  std::map<std::string, ValueType> types;   // of the model's tensors, as inferred
  std::vector<Note> notes;
  std::set<std::string> refused;  // layers of the plan that stay float32, whatever it says

  const NodeChoice& of(const std::string& node) const;
  bool is_float32(const std::string& tensor) const;
};

/// Errors: Usage when `strict` and a planned layer cannot take its format, naming the layer and the reason; Internal
/// when the opset is too low for the plan's formats (prepare raises it).
FormatChoices choose_formats(const Model& model, const Plan& plan, bool strict);

}  // namespace vernier
