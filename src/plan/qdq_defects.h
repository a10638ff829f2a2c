// Mistakes in the Q/DQ pairs of a file that can be seen without running it.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

struct QdqDefect {
  std::string kind;  // "missing-quantizer", "other-scale", "wrong-axis", "zero-point-type", "bad-scale", "bias-scale"
  std::string node;  // where it shows
  std::string text;  // what is wrong, with both values
};

/// In graph order. `file`: as normalized_file() gives it.
///
///   missing-quantizer  one input of a Conv, ConvTranspose, Gemm or MatMul comes from a DequantizeLinear, behind nodes
///                      that move values perhaps, another does not; weights alone are no mistake in a file that
///                      quantizes no activation
///   other-scale        a DequantizeLinear reads codes with another scale or zero point than they were made with
///   wrong-axis         scales of a weight run along a dimension that holds no output channels of its reader, or there
///                      are more or fewer of them than channels
///   zero-point-type    a zero point whose type is not that of the codes, or that of a bias is not zero
///   bad-scale          a scale that is zero, negative or not finite
///   bias-scale         an int32 bias whose scale is not input scale times weight scale
std::vector<QdqDefect> find_qdq_defects(const Model& file);

}  // namespace vernier
