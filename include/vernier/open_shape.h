// A shape whose sizes may be open.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// Sizes below zero are any, and may have the names that a file gives them, as in [batch,3].
struct OpenShape {
  OpenShape(Shape fixed = {}, std::vector<std::string> named = {})  // NOLINT(google-explicit-constructor)
      : sizes(std::move(fixed)), names(std::move(named)) {}

  Shape sizes;
  std::vector<std::string> names;  // by dimension, "" without one; empty: none has
};

}  // namespace vernier
