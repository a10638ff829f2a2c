// Tensors of one name that are not twins: exporters number their tensors, and two exports number them differently.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/surgery.h"

namespace vernier {

/// Indices of `pairs` that a lock-step cannot compare: each waits for both of its tensors, and these wait for each
/// other. Empty: both graphs compute all pairs in one order. Bodies are not looked into.
std::vector<std::size_t> crossed_matches(const onnx::GraphProto& ref, const onnx::GraphProto& low,
                                         const std::vector<Match>& pairs);

}  // namespace vernier
