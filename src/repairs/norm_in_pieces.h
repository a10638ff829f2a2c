// A norm written as single operators: squares, their mean, an epsilon, a root, a division. What the rewrites for
// float16 that keep it or replace it look for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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

/// The same with what is around it: the mean that is taken off first, the scale and the bias behind it. Over the last
/// dimension.
struct WholeNorm {
  bool subtracts_mean = true;  // false: an RMS norm
  std::string input;
  std::string output;           // of the last node
  std::string scale, bias;      // initializers; empty: none
  std::string scaler, adder;    // nodes that read them
  std::string last;             // the last node
  std::int64_t width = 0;       // of the last dimension; 0: not known
  std::set<std::string> nodes;  // all of them, `last` among them
  NormInPieces pieces;
};

/// x * x, or x to the power of 2.
bool squares(const Model& model, const onnx::NodeProto& node);

/// Fills `norm` from the node that squares; the reason why there is none, empty when there is.
std::string read_norm(const Model& model, const GraphWalk& walk, const onnx::NodeProto& square, NormInPieces& norm);

/// The same of the whole norm, with types of the tensors.
std::string read_whole_norm(const Model& model, const GraphWalk& walk, const std::map<std::string, ValueType>& types,
                            const onnx::NodeProto& square, WholeNorm& norm);

/// Null when there are none or several.
const onnx::NodeProto* only_reader(const GraphWalk& walk, const std::string& tensor);

}  // namespace vernier
