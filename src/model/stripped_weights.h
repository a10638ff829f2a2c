// How TensorRT's tools mark an initializer that lost its values (`vernier surgeon weight-strip`).
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier {

/// How its doc_string begins.
inline constexpr const char* kWeightless = "TRT_WEIGHTLESS/";

inline bool is_stripped(const onnx::TensorProto& initializer) {
  return initializer.doc_string().starts_with(kWeightless) && initializer.raw_data().empty();
}

}  // namespace vernier
