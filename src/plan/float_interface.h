// Typed files that read or return quantized values, as full-integer files do, next to their float model.
#pragma once

#include <vector>

#include "model/model.h"
#include "vernier/note.h"

namespace vernier {

/// Gives `typed` float32 inputs and outputs where `float_model` has floats and the file has quantized values. A
/// QuantizeLinear with the scale of the DequantizeLinear behind an input quantizes the samples; a DequantizeLinear with
/// the scale of the QuantizeLinear in front of an output gives its values. Operators on quantized values (QLinearConv)
/// count as the pairs that stand for them (pair_form.h). Inputs and outputs without constant scales stay as they are.
/// Returns a note for each input and output that it changed.
/// Errors: Input if an input is dequantized with several scales, or with one that is not constant.
std::vector<Note> give_float_interface(Model& typed, const Model& float_model);

/// Lets `model` read inputs of the types that `wanted` has: a Cast stands in front of each that it has in another one.
void cast_inputs(Model& model, const Model& wanted);

/// `typed` as samples of the float model can be fed to it: both of the above.
Model fed_with_floats(const Model& typed, const Model& float_model);

}  // namespace vernier
