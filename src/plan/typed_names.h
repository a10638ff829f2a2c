// Names in typed files that we wrote: a tensor of the float model that a layer makes in float16 is called
// "<tensor>.float16" there, and its codes and what they stand for have names of their own.
#pragma once

#include <set>
#include <string>

#include "model/model.h"

namespace vernier {

/// Calls each tensor that a node makes under a low name by the name that the float model has for it, unless the file
/// uses that one too (then one is the cast of the other). Two files of one model can then be compared by names.
void restore_tensor_names(Model& model);

/// Tensors that only the types of a file brought in: outputs of Q/DQ nodes, and one of two that are casts of each
/// other.
std::set<std::string> tensors_of_typing(const Model& model);

}  // namespace vernier
