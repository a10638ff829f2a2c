// Brings a model into the form that everything behind works on, with names fixed before. Each step is one function from
// model to model and one line of the table in prepare.cpp:
//
//   1. inline functions
//   2. replace removed operators
//   3. refuse unknown ones
//   4. constants become initializers
//   5. fold constants
//   6. inline Ifs whose condition is constant
//   7. a node for the values that each KV cache holds
//   8. fold BatchNormalization into Conv, ConvTranspose and Gemm, where rounding the weight costs no more than before
//   9. raise the opset
//
// Which steps run depends on the formats that the plan uses: with float32 alone nothing that changes a bit is done.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// Runs a model with all graph optimizations off and returns its outputs in graph order. Given by the engine, because
/// this folder may not know one.
using Evaluator = std::function<std::vector<Tensor>(const Model& model, const Sample& inputs)>;

struct PrepareOptions {
  std::set<Format> formats;         // that layers will run in, the high one included
  bool weights_per_channel = true;  // a scale for each output channel; false: one for each weight
  bool fold_batch_norm = true;      // only ever done when formats holds more than float32
  bool openvino_products = false;   // products of matrices are written as OpenVINO's integer kernels get them right
  bool enter_caches = false;        // a node for the values that each KV cache holds
  bool inline_ifs = false;          // analysis only: an If whose condition is the same for all `samples`
  // What inline_ifs looks at, one at a time. All that will ever be run: the prepared model is wrong for others.
  std::size_t samples = 0;
  std::function<Sample(std::size_t)> sample_at = {};
  int min_opset = 0;          // raise at least to this one
  bool for_openvino = false;  // and, where formats hold more than float32, to what its reader reads rightly
};

/// What was done, for people and for the plan file.
struct PrepareNote {
  std::string step;  // "fold_constants"
  Note note;
};

struct Prepared {
  Model model;
  std::vector<PrepareNote> notes;
  bool unchanged = true;  // no step changed the graph's arithmetic
};

/// Errors: Input when a construct cannot be raised to the opset that a format needs, naming node, operator and opsets.
Prepared prepare(const Model& model, const PrepareOptions& options, const Evaluator& evaluate);

/// True when prepare() surely makes the same of the model for both, where both would be shown the same samples.
/// Cost: as opset_needed().
bool prepares_alike(const Model& model, const PrepareOptions& one, const PrepareOptions& other);

/// The lowest default opset, the model's own or above, in which `format` can be written: 13 for int8 and uint8 (a scale
/// for each channel), 19 for float8, 21 for int4. bfloat16: 13, or the opset (at most 22) from which all the model's
/// layers that ever take bfloat16 do; convolutions need 22. float16: 7; operators took it from the start, and the few
/// that do not stay high. Cost: find_layers for bfloat16, else none.
int opset_needed(const Model& model, Format format);

}  // namespace vernier
