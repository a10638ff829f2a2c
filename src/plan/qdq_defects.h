// Mistakes in the Q/DQ pairs of a file that can be seen without running it.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/target.h"

namespace vernier {

struct QdqDefect {
  std::string kind;
  std::string node;  // where it shows
  std::string text;  // what is wrong, with both values
  std::string cure{};
  /// Some engine refuses the file for it, or computes nonsense: whatever is measured of such a file is worth nothing.
  bool refused = false;
  bool may_be_meant = false;  // else it is a mistake whoever made it
  /// TensorRT refuses the file for it, which other engines run.
  bool refused_by_tensorrt = false;

  bool refused_on(Target target) const { return refused || (refused_by_tensorrt && target == Target::TensorRt); }
};

/// In graph order. `file`: as normalized_file() gives it.
///
///   missing-quantizer  one input of a Conv, ConvTranspose, Gemm or MatMul comes from a DequantizeLinear, behind nodes
///                      that move values perhaps, another does not; weights alone are no mistake in a file that
///                      quantizes no activation, nor weights in 4 bits or blocks, nor weights that Cast and Mul decode
///   other-scale        a DequantizeLinear reads codes with another scale or zero point than they were made with
///   wrong-axis         scales of a weight run along a dimension that holds no output channels of its reader, or there
///                      are more or fewer of them than channels
///   zero-point-type    a zero point whose type is not that of the codes, or that of a bias is not zero
///   parameter-shape    a zero point of another shape than its scale
///   bad-scale          a scale that is zero, negative, subnormal or not finite
///   negative-scale     of stored values, as ONNX Runtime's 4-bit quantizer writes them
///   wrong-blocks       scales that do not lie on the tensor in its blocks
///   short-block        blocks that do not divide it: the last one is shorter, which ONNX allows and TensorRT refuses
///   scale-type         a scale of another float type than what it quantizes, or than what its reader reads beside it
///   newer-opset        a type or attribute that the operators do not have in the opset of the file
///   bias-scale         an int32 bias whose scale is not input scale times weight scale (of a Gemm times alpha / beta)
///   clipped-bias       an int32 bias with values at the end of their range: what was stored did not fit
std::vector<QdqDefect> find_qdq_defects(const Model& file);

}  // namespace vernier
