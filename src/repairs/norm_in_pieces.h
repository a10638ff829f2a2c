// A norm written as single operators: squares, their mean, an epsilon, a root, a division. What the rewrites for
// float16 that keep it or replace it look for.
#pragma once

#include <string>
#include <vector>

#include "model/graph_walk.h"

namespace vernier {

struct NormInPieces {
  std::string square;                // the node that squares
  std::string x;                     // what it squares
  std::string mean;                  // the node that averages the squares
  std::string epsilon;               // initializer; empty: none is added
  std::string add;                   // node that adds it
  std::string root;                  // node that takes the root
  std::vector<std::string> inverse;  // nodes that take the reciprocal of the root
  std::vector<std::string> scaled;   // nodes that read x as the dividend
};

/// x * x, or x to the power of 2.
bool squares(const Model& model, const onnx::NodeProto& node);

/// Fills `norm` from the node that squares; the reason why there is none, empty when there is.
std::string read_norm(const Model& model, const GraphWalk& walk, const onnx::NodeProto& square, NormInPieces& norm);

/// Null when there are none or several.
const onnx::NodeProto* only_reader(const GraphWalk& walk, const std::string& tensor);

}  // namespace vernier
