// Files in operator form, whose layers compute on codes (QLinearConv, MatMulInteger), as files with Q/DQ pairs.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "model/model.h"

namespace vernier {

/// `file`, as normalized_file() gives it, with a float operator between Q/DQ pairs in the place of each operator on
/// codes, where those have one meaning:
///
///   QLinearConv(x, x scale, x zero, w, ..., y scale, y zero) -> Q(Conv(DQ(x), DQ(w))), and the other QLinear operators
///   Mul(Cast(MatMulInteger(x, w, ...)), x scale * w scale)   -> MatMul(DQ(x), DQ(w)), and ConvInteger
///   MatMulIntegerToFloat, DynamicQuantizeMatMul, QGemm       -> the same
///   QAttention                                               -> Attention(DQ(x), DQ(w))
///   DynamicQuantizeLSTM                                      -> LSTM(DQ(x), DQ(w), DQ(r)), whose state stays float
///   GatherBlockQuantized(w, indices, ...)                    -> Gather(DQ(w), indices)
///
/// What moves codes moves values. Other operators on codes that ONNX defines for floats as well keep them, with the
/// values that they stand for behind. Names are those that ONNX Runtime's quantizers made them of: "conv_quant" is
/// "conv" again, "y_quantized" is made of "y". What has none of these meanings, and bodies, stay. Not for running:
/// opsets are as they were.
Model in_pair_form(const Model& file);

/// normalized_file() of any typed file, in pair form where it computes on codes, and with a DequantizeLinear where
/// Casts decode a weight.
Model normalized_pairs(const Model& typed);

/// Whether normalized_pairs() has pairs that the file has not.
bool lacks_pairs(const Model& typed);

/// Whether a node of the main graph computes on codes, or moves them.
bool computes_on_codes(const Model& file);

/// Whether in_pair_form() made this Q/DQ node, for an operator of the file.
bool stands_for_operator(const onnx::NodeProto& node);

/// Whether its scale is the constant factor of a Mul in the file, which takes any number.
bool stands_for_factor(const onnx::NodeProto& node);

/// The name of the float operator in the place of the node `name` on codes.
std::string name_in_pair_form(const std::string& name);

}  // namespace vernier
