// Grids of what integer kernels add: a mask of -1e9 needs no such range.
#pragma once

#include <functional>
#include <string>

#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

/// An addend that alone takes a sum beyond its grid gives the last code, however far beyond: its own grid ends there.
/// Kernels sum scale * zero point of both addends in float32, where 1e9 leaves nothing of the other's digits (measured:
/// ONNX Runtime 1.31's QLinearAdd, an attention mask: codes off by up to 125).
///   for all quantized Adds y = a + b that read a:  low(a) >= min(low(y) - high(b)) - (high(y) - low(y)), high alike
/// `alone`: no other tensor shares the grid of this one. Left as they are: tensors that anything else reads, grids that
/// would not become half as wide, symmetric ones.
void clip_addends(Plan& plan, const Model& model, const std::function<bool(const std::string& tensor)>& alone);

}  // namespace vernier
