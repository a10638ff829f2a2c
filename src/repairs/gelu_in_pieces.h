// A GELU written as single operators, recognized by what it computes: whatever the order of its products, the scalar
// function from one tensor to another through one Erf or Tanh is compared with GELU. What the rewrites for float16 that
// keep it or replace it look for.
#pragma once

#include <set>
#include <string>

#include "model/graph_walk.h"

namespace vernier {

struct GeluInPieces {
  std::string x;
  std::string curve;               // the node that takes erf or tanh
  std::string last;                // the node that makes the result
  bool tanh = false;               // the approximation: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  std::set<std::string> nodes;     // all of them
  std::set<std::string> argument;  // those that make what the curve reads
};

/// Fills `gelu` from the node that takes Erf or Tanh; the reason why there is none, empty when there is.
std::string read_gelu(const Model& model, const GraphWalk& walk, const onnx::NodeProto& curve, GeluInPieces& gelu);

/// Largest magnitude that the argument's nodes make of values of up to `x`.
double largest_in_argument(const Model& model, const GraphWalk& walk, const GeluInPieces& gelu, double x);

}  // namespace vernier
