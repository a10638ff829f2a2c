// TensorRT's operators that find the scales of blocks in each run, and their types: ONNX has no such operator. NVIDIA's
// exporters write them too.
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier {

inline constexpr const char* kTensorRtDomain = "trt";

/// X, the scale of the tensor -> codes in E2M1, block scales in E4M3. Attributes: axis, block_size, scale_type.
inline constexpr const char* kQuantizeNvFp4 = "TRT_FP4DynamicQuantize";
/// X -> codes in E4M3, block scales in E8M0. Attributes: axis, block_size, output_dtype.
inline constexpr const char* kQuantizeMxFp8 = "TRT_MXFP8DynamicQuantize";
/// Codes, block scales in E8M0, or their bytes -> Y. Attributes: axis, block_size, output_dtype (of Y).
inline constexpr const char* kDequantizeMxFp8 = "TRT_MXFP8DequantizeLinear";

bool is_tensorrt(const onnx::NodeProto& node, const char* op_type);

/// Tells ONNX's type inference of them; once for the process.
void register_tensorrt_operators();

}  // namespace vernier
